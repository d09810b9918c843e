"""What every token of a text costs the model, in nats, by one of several metrics.

Definitions: Salazar et al. 2020, "Masked Language Model Scoring" (arXiv 1910.14659), for the pseudo-log-likelihood;
Kauf & Ivanova 2023, "A Better Way to Do Masked Language Model Scoring" (arXiv 2305.10588), for its variants by word.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lite._inputs import IGNORED_LABEL, check_labels
from bertviz_lite.analysis._masked_rows import Metric, Row, batches, hidden_rows, rows_for
from bertviz_lite.analysis._rows import Progress, allowed_ids, ranks_of, require_fits
from bertviz_lite.errors import InputError, TextError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Encoding

METRICS: tuple[Metric, ...] = get_args(Metric)

_LOGITS_AT_ONCE = 1 << 23  # 32 MB in float32; three tensors of that size exist at a time


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


def score(
    model: BERTForMaskedLM,
    encoding: Encoding,
    metric: Metric = "pll",
    *,
    exclude: Collection[int] = (),
    progress: Progress | None = None,
) -> TokenScores:
    """Ask the model for every token of a text, as the metric says.

    - `pll`: each token masked in turn, one row of a batch per token. The sum is the negative pseudo-log-likelihood.
    - `word_l2r`: with a token, the later pieces of its word are masked too.
    - `whole_word`: with a token, its whole word is masked; one row per word.
    - `l2r`: with a token, everything to its right is masked.
    - `unmasked`: one pass, nothing masked. Much lower, since the model can see the answers, and no score of a text.

    Args:
        encoding: scored as it was typed: what `Encoding.masked` hid counts like any other token.
        exclude: ids that do not count for ranks and are never the first choice.
        progress: `progress(done, all)` is called between batches, in tokens.

    Raises:
        InputError: there is no such metric.
        TextError: there is no token to score, or the text is longer than the model reads.
    """
    return score_all(model, [encoding], metric, exclude=exclude, progress=progress)[0]


def score_all(
    model: BERTForMaskedLM,
    encodings: Sequence[Encoding],
    metric: Metric = "pll",
    *,
    exclude: Collection[int] = (),
    progress: Progress | None = None,
) -> list[TokenScores]:
    """`score` of several texts, which share their batches: quicker, and the same within 1e-4 nats.

    Args:
        metric, exclude, progress: as in `score`.

    Raises:
        InputError, TextError: as in `score`, for any of the texts.
    """
    if metric not in METRICS:
        raise InputError(f"There is no metric {metric!r}; there are {', '.join(METRICS)}.")
    rows = [
        row
        for text, encoding in enumerate(encodings)
        for row in rows_for(metric, encoding, scored_positions(model, encoding), text)
    ]
    parts: list[list[TokenScores]] = [[] for _ in encodings]
    done, n = 0, sum(len(row.asked) for row in rows)
    for batch in batches(rows, [len(encoding) for encoding in encodings]):
        with torch.inference_mode():
            hidden = hidden_rows(model, encodings, batch)  # (N, D)
        start = 0
        for text, group in groupby(batch, key=lambda row: row.text):
            at = [i for row in group for i in row.asked]
            ids = [encodings[text].typed_ids[i] for i in at]
            parts[text].append(_scores(model, hidden[start : start + len(at)], at, ids, exclude))
            start += len(at)
        done += start
        if progress is not None:
            progress(done, n)
    return [_joined(part) for part in parts]


def pseudo_loss(
    model: BERTForMaskedLM,
    encoding: Encoding,
    *,
    exclude: Collection[int] = (),
    progress: Progress | None = None,
) -> TokenScores:
    """`score` by the metric `pll`."""
    return score(model, encoding, "pll", exclude=exclude, progress=progress)


def unmasked_loss(model: BERTForMaskedLM, encoding: Encoding, *, exclude: Collection[int] = ()) -> TokenScores:
    """`score` by the metric `unmasked`."""
    return score(model, encoding, "unmasked", exclude=exclude)


def labelled_loss(
    model: BERTForMaskedLM, encoding: Encoding, labels: Sequence[int], *, exclude: Collection[int] = ()
) -> TokenScores:
    """The loss of pre-training: one pass over `encoding.ids`, the labels asked for where there is one.

    Its mean is the model's own `loss` for these labels: masked, random and kept tokens count alike.

    Args:
        labels: T ids; -100 where nothing is asked.
        exclude: as in `score`.

    Raises:
        InputError: not one label per token, or a label outside the vocabulary.
        TextError: no position has a label, or the text is longer than the model reads.
    """
    require_fits(model, encoding)
    check_labels(model.config, torch.tensor([encoding.ids]), torch.tensor([labels]))
    at = [i for i, label in enumerate(labels) if label != IGNORED_LABEL]
    if not at:
        raise TextError("No position has a label: select at least one token to be asked for.")
    shown = replace(encoding, typed_ids=encoding.ids, typed_pieces=encoding.pieces)
    with torch.inference_mode():
        hidden = hidden_rows(model, [shown], [Row(0, (), tuple(at))])
    return _scores(model, hidden, at, [labels[i] for i in at], exclude)


def scored_positions(model: BERTForMaskedLM, encoding: Encoding) -> tuple[int, ...]:
    """The positions that a score covers: all but [CLS], [SEP] and masks that were typed.

    Raises:
        TextError: there is none, or the text is longer than the model reads.
    """
    require_fits(model, encoding)
    at = tuple(
        i
        for i, (special, token) in enumerate(zip(encoding.special_mask, encoding.typed_ids, strict=True))
        if not special and token != encoding.mask_id
    )
    if not at:
        raise TextError("There is no token to score: write a sentence with at least one word that is not a mask.")
    return at


@torch.inference_mode()
def _scores(
    model: BERTForMaskedLM, hidden: Tensor, at: Sequence[int], ids: Sequence[int], exclude: Collection[int]
) -> TokenScores:
    """What the head says to hidden rows (N, D), few enough at a time that the logits stay small."""
    size = max(1, _LOGITS_AT_ONCE // model.config.vocab_size)
    allowed = allowed_ids(model.config.vocab_size, exclude)
    parts = zip(*(torch.split(t, size) for t in (hidden, torch.tensor(at), torch.tensor(ids))), strict=True)
    return _joined([_read(model.cls(part).float(), part_at, part_ids, allowed) for part, part_at, part_ids in parts])


def _read(logits: Tensor, at: Tensor, ids: Tensor, allowed: Tensor) -> TokenScores:
    log_probs = logits.log_softmax(-1)  # (N, V)
    best = log_probs.masked_fill(~allowed, -torch.inf).max(-1)
    return TokenScores(
        positions=at.numpy(),
        ids=ids.numpy(),
        loss_nats=-log_probs.gather(-1, ids[:, None])[:, 0].numpy(),
        ranks=ranks_of(logits, ids, allowed).numpy(),
        best_ids=best.indices.numpy(),
        best_probs=best.values.exp().numpy(),
    )


def _joined(parts: Sequence[TokenScores]) -> TokenScores:
    return TokenScores(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(TokenScores)))


__all__ = [
    "METRICS",
    "Metric",
    "TokenScores",
    "labelled_loss",
    "pseudo_loss",
    "score",
    "score_all",
    "scored_positions",
    "unmasked_loss",
]
