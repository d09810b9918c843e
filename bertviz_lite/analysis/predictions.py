"""What the model expects where a word is masked."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lite.analysis._rows import allowed_ids, ranks_of, require_fits
from bertviz_lite.errors import InputError, TextError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Encoding

NO_ID = -1


@dataclass(frozen=True)
class MaskPredictions:
    """The k likeliest pieces at each of M masks, each mask on its own.

    Probabilities are shares of the whole vocabulary; ranks count the ids that were not excluded, 1 = best.

    Attributes:
        positions: (M,) token positions of the masks.
        ids, probs: (M, k) best first.
        original_ids: (M,) what stood there before it was masked; -1 where the text itself had a mask.
        original_probs, original_ranks: (M,) of the original; NaN and -1 where there is none.
        entropy_nats: (M,) of the whole distribution, H = -Σ p ln p; ln V if the model knows nothing.
    """

    positions: NDArray[np.int64]
    ids: NDArray[np.int64]
    probs: NDArray[np.float32]
    original_ids: NDArray[np.int64]
    original_probs: NDArray[np.float32]
    original_ranks: NDArray[np.int64]
    entropy_nats: NDArray[np.float32]

    @property
    def covered_probs(self) -> NDArray[np.float32]:
        """(M,) how much probability the k pieces shown have together."""
        total: NDArray[np.float32] = self.probs.sum(-1)
        return total

    @property
    def perplexity(self) -> NDArray[np.float32]:
        """(M,) exp(entropy): the model is as unsure as among so many equally likely pieces."""
        perplexity: NDArray[np.float32] = np.exp(self.entropy_nats)
        return perplexity


@torch.inference_mode()
def top_k(
    model: BERTForMaskedLM,
    encoding: Encoding,
    k: int = 10,
    *,
    exclude: Collection[int] = (),
    exclude_at_start: Collection[int] = (),
) -> MaskPredictions:
    """Predict every masked position in one pass, independently of each other.

    Args:
        k: how many pieces per mask; fewer come back where fewer are allowed.
        exclude: ids never to return, such as the special tokens or rows without a piece.
        exclude_at_start: further ids not to return where a mask begins a word, such as the ## pieces.

    Raises:
        InputError: k is below 1.
        TextError: nothing is masked, or the text is longer than the model reads.
    """
    if k < 1:
        raise InputError(f"k = {k}: at least 1 prediction must be asked for.")
    require_fits(model, encoding)
    masks = encoding.mask_positions
    if not masks:
        raise TextError("Nothing is masked: write [MASK] for the word to predict.")
    positions = torch.tensor([(0, m) for m in masks])  # (M, 2)
    logits = model(**encoding.tensors(), positions=positions).logits.float()  # (M, V)
    log_probs = logits.log_softmax(-1)
    allowed = allowed_at_masks(encoding, logits.shape[-1], exclude, exclude_at_start)  # (M, V)
    best = logits.masked_fill(~allowed, -torch.inf).topk(min(k, int(allowed.sum(-1).min())))

    typed = torch.tensor([encoding.typed_ids[m] for m in masks])  # (M,)
    has_original = typed != encoding.mask_id
    original_probs = log_probs.gather(-1, typed[:, None])[:, 0].exp()
    return MaskPredictions(
        positions=positions[:, 1].numpy(),
        ids=best.indices.numpy(),
        probs=log_probs.gather(-1, best.indices).exp().numpy(),
        original_ids=typed.where(has_original, torch.tensor(NO_ID)).numpy(),
        original_probs=original_probs.where(has_original, torch.tensor(torch.nan)).numpy(),
        original_ranks=ranks_of(logits, typed, allowed).where(has_original, torch.tensor(NO_ID)).numpy(),
        entropy_nats=torch.special.entr(log_probs.exp()).sum(-1).numpy(),
    )


def allowed_at_masks(encoding: Encoding, n: int, exclude: Collection[int], exclude_at_start: Collection[int]) -> Tensor:
    """(M, V) True for the ids that may stand at each mask; fewer where a mask begins a word."""
    words = encoding.word_ids
    starts = torch.tensor([words[m] != words[m - 1] for m in encoding.mask_positions])  # (M,); [CLS] stands before
    inside, starting = allowed_ids(n, exclude), allowed_ids(n, {*exclude, *exclude_at_start})
    return torch.where(starts[:, None], starting, inside)


def slots(encoding: Encoding) -> tuple[tuple[int, ...], ...]:
    """Positions of the masks, those of one word together: a hidden word is one slot, a typed [MASK] another."""
    found: dict[int | None, list[int]] = {}
    for m in encoding.mask_positions:
        found.setdefault(encoding.word_ids[m], []).append(m)
    return tuple(map(tuple, found.values()))


def require_slot(encoding: Encoding, slot: int) -> tuple[int, ...]:
    """The positions of one slot, counted from 0.

    Raises:
        TextError: nothing is masked.
        InputError: there is no such slot.
    """
    found = slots(encoding)
    if not found:
        raise TextError("Nothing is masked: write [MASK] for the word to predict.")
    if not 0 <= slot < len(found):
        raise InputError(f"There is no masked place {slot + 1}: the text has {len(found)}.")
    return found[slot]


__all__ = ["NO_ID", "MaskPredictions", "allowed_at_masks", "require_slot", "slots", "top_k"]
