"""What every token of a text costs the model, in nats.

Definitions: Salazar et al. 2020, "Masked Language Model Scoring" (arXiv 1910.14659), for the pseudo-loss.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lite.analysis._rows import allowed_ids, ranks_of, require_fits
from bertviz_lite.errors import TextError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Encoding

_TOKENS_A_BATCH = 2048

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class TokenScores:
    """One number per scored token; [CLS], [SEP] and masks that were typed are never scored.

    Attributes:
        positions: (N,) token positions in the encoding.
        ids: (N,) the tokens that stand there.
        loss_nats: (N,) -ln of the probability of that token.
        ranks: (N,) its rank among the ids that were not excluded; 1 = the model's first choice.
        best_ids, best_probs: (N,) the model's first choice and its probability.
    """

    positions: NDArray[np.int64]
    ids: NDArray[np.int64]
    loss_nats: NDArray[np.float32]
    ranks: NDArray[np.int64]
    best_ids: NDArray[np.int64]
    best_probs: NDArray[np.float32]

    @property
    def probs(self) -> NDArray[np.float32]:
        """(N,) probability of each token, exp(-loss)."""
        probs: NDArray[np.float32] = np.exp(-self.loss_nats)
        return probs

    @property
    def sum_nats(self) -> float:
        """Σ loss; the negative pseudo-log-likelihood where each position was masked in turn."""
        return float(self.loss_nats.sum(dtype=np.float64))

    @property
    def mean_nats(self) -> float:
        """Σ loss / N."""
        return self.sum_nats / len(self.loss_nats)

    @property
    def perplexity(self) -> float:
        """exp(mean loss); the pseudo-perplexity where each position was masked in turn."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.mean_nats))


@torch.inference_mode()
def pseudo_loss(
    model: BERTForMaskedLM,
    encoding: Encoding,
    *,
    exclude: Collection[int] = (),
    progress: Progress | None = None,
) -> TokenScores:
    """Mask each position in turn and ask for the token that stood there.

    Costs one row of a batch per token. `progress(done, all)` is called between batches.

    Args:
        exclude: ids that do not count for ranks and are never the first choice.

    Raises:
        TextError: there is no token to score, or the text is longer than the model reads.
    """
    at = _scored_positions(model, encoding)  # (N,)
    ids = torch.tensor(encoding.typed_ids)  # (T,)
    segments = torch.tensor(encoding.segment_ids)
    parts: list[TokenScores] = []
    rows_a_batch = max(1, _TOKENS_A_BATCH // len(encoding))
    for chunk in torch.split(at, rows_a_batch):
        rows = torch.arange(len(chunk))
        inputs = ids.repeat(len(chunk), 1)  # (n, T)
        inputs[rows, chunk] = encoding.mask_id
        logits = model(
            inputs,
            torch.ones_like(inputs),
            segments.expand_as(inputs),
            positions=torch.stack([rows, chunk], 1),
        ).logits  # (n, V)
        parts.append(_scores(logits, chunk, ids[chunk], exclude))
        if progress is not None:
            progress(sum(len(p.ids) for p in parts), len(at))
    return TokenScores(*(np.concatenate([getattr(p, name) for p in parts]) for name in TokenScores.__annotations__))


@torch.inference_mode()
def unmasked_loss(model: BERTForMaskedLM, encoding: Encoding, *, exclude: Collection[int] = ()) -> TokenScores:
    """Show the model the whole text, nothing masked, and ask for every token at once.

    A different quantity from the pseudo-loss and much lower: the model can see the answers. No score of a sentence.

    Args:
        exclude: as in `pseudo_loss`.

    Raises:
        TextError: there is no token to score, or the text is longer than the model reads.
    """
    at = _scored_positions(model, encoding)
    ids = torch.tensor(encoding.typed_ids)
    logits = model(
        ids[None],
        torch.ones_like(ids)[None],
        torch.tensor(encoding.segment_ids)[None],
        positions=torch.stack([torch.zeros_like(at), at], 1),
    ).logits  # (N, V)
    return _scores(logits, at, ids[at], exclude)


def _scored_positions(model: BERTForMaskedLM, encoding: Encoding) -> Tensor:
    require_fits(model, encoding)
    at = [
        i
        for i, (special, token) in enumerate(zip(encoding.special_mask, encoding.typed_ids, strict=True))
        if not special and token != encoding.mask_id
    ]
    if not at:
        raise TextError("There is no token to score: write a sentence with at least one word that is not a mask.")
    return torch.tensor(at)


def _scores(logits: Tensor, positions: Tensor, ids: Tensor, exclude: Collection[int]) -> TokenScores:
    logits = logits.float()
    log_probs = logits.log_softmax(-1)  # (N, V)
    allowed = allowed_ids(logits.shape[-1], exclude)
    best = log_probs.masked_fill(~allowed, -torch.inf).max(-1)
    return TokenScores(
        positions=positions.numpy(),
        ids=ids.numpy(),
        loss_nats=-log_probs.gather(-1, ids[:, None])[:, 0].numpy(),
        ranks=ranks_of(logits, ids, allowed).numpy(),
        best_ids=best.indices.numpy(),
        best_probs=best.values.exp().numpy(),
    )


__all__ = ["TokenScores", "pseudo_loss", "unmasked_loss"]
