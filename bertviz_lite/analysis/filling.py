"""Several masks filled together: independently, left to right, best first, or by beam search.

A masked language model gives no probability of a whole text. What stands for it here is the joint log-probability
of an order of filling: Σ ln p of each piece, given the text and the pieces that were put in before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lite.analysis._rows import Progress, log_probs_by_batch, require_fits
from bertviz_lite.analysis.predictions import allowed_at_masks
from bertviz_lite.errors import InputError, TextError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Encoding

Strategy = Literal["independent", "left_to_right", "best_first", "beam"]


@dataclass(frozen=True)
class Filling:
    """S ways to fill M masks, best first; S is 1 but for the beam search.

    Attributes:
        positions: (M,) token positions of the masks.
        ids: (S, M) what is put in.
        step_log_probs: (S, M) ln p of each piece, given the text and the pieces that were put in before it.
        orders: (S, M) masks in the order in which they were filled, counted from 0.
        joint_log_probs: (S,) Σ step_log_probs.
    """

    positions: NDArray[np.int64]
    ids: NDArray[np.int64]
    step_log_probs: NDArray[np.float64]
    orders: NDArray[np.int64]

    @property
    def joint_log_probs(self) -> NDArray[np.float64]:
        """(S,) ln of the joint probability, in nats."""
        joint: NDArray[np.float64] = self.step_log_probs.sum(-1)
        return joint


@torch.inference_mode()
def fill(
    model: BERTForMaskedLM,
    encoding: Encoding,
    strategy: Strategy = "beam",
    *,
    beams: int = 5,
    exclude: Collection[int] = (),
    exclude_at_start: Collection[int] = (),
    progress: Progress | None = None,
) -> Filling:
    """Fill all masks of a text.

    - `independent`: every mask takes its own likeliest piece and hears nothing of the others. The joint
      log-probability is that of these pieces put in from left to right.
    - `left_to_right`: each mask takes its likeliest piece, given the pieces put in before it.
    - `best_first`: the mask that the model is surest of is filled first.
    - `beam`: from left to right, but the `beams` likeliest beginnings are followed to the end.

    `progress(done, all)` is called between batches; it counts rows.

    Args:
        exclude, exclude_at_start: ids never to put in, as in `top_k`.

    Raises:
        InputError: no such strategy, fewer than one beam, or nothing left that may be put in.
        TextError: nothing is masked, or the text is longer than the model reads.
        CheckpointError: the model answers with NaN.
    """
    if strategy not in _WAYS:
        raise InputError(f"There is no strategy {strategy!r}: take one of {', '.join(_WAYS)}.")
    if beams < 1:
        raise InputError(f"beams = {beams}: at least 1 must be followed.")
    require_fits(model, encoding)
    if not encoding.mask_positions:
        raise TextError("Nothing is masked: write [MASK] for the words to predict.")
    allowed = allowed_at_masks(encoding, model.config.vocab_size, exclude, exclude_at_start)
    if not allowed.any(-1).all():
        raise InputError("Every piece of the vocabulary is excluded at one of the masks: nothing can be put in.")
    return _WAYS[strategy](_Job(model, encoding, allowed, progress), beams)


class _Job:
    """One text to fill: its masks, what may stand there, and whom to tell how many rows have been asked."""

    def __init__(self, model: BERTForMaskedLM, encoding: Encoding, allowed: Tensor, progress: Progress | None) -> None:
        self.model = model
        self.allowed = allowed  # (M, V)
        self.masks = torch.tensor(encoding.mask_positions)  # (M,)
        self.ids = torch.tensor(encoding.ids)  # (T,)
        self.segments = torch.tensor(encoding.segment_ids)  # (T,)
        self.n_rows = 1  # to ask, told anew by each strategy
        self._n_asked = 0
        self._progress = progress

    def at(self, rows: Tensor, masks: Tensor) -> Tensor:
        """(N, V) ln p at one mask of each row, -inf where a piece may not stand.

        Args:
            rows: (N, T) ids, or (1, T) to ask one row for all masks in a single pass.
            masks: (N,) counted from 0.
        """
        found = torch.cat(list(log_probs_by_batch(self.model, rows, self.segments, self.masks[masks], self._count)))
        return found.masked_fill(~self.allowed[masks], -torch.inf)

    def filling(self, ids: Tensor, steps: Tensor, orders: Tensor) -> Filling:
        """The answer from (S, M) each."""
        return Filling(self.masks.numpy(), ids.numpy(), steps.double().numpy(), orders.numpy())

    def _count(self, n: int) -> None:
        self._n_asked += n
        if self._progress is not None:
            self._progress(min(self._n_asked, self.n_rows), self.n_rows)


def _independent(job: _Job, _: int) -> Filling:
    masks = torch.arange(len(job.masks))
    job.n_rows = 1 + len(masks)
    ids = job.at(job.ids[None], masks).argmax(-1)  # (M,)
    rows = job.ids.repeat(len(masks), 1)  # (M, T); row m has the pieces before mask m put in
    for m in range(1, len(masks)):
        rows[m:, job.masks[m - 1]] = ids[m - 1]
    steps = job.at(rows, masks).gather(-1, ids[:, None])  # (M, 1)
    return job.filling(ids[None], steps.T, masks[None])


def _left_to_right(job: _Job, _: int) -> Filling:
    return _beam(job, 1)


def _best_first(job: _Job, _: int) -> Filling:
    row, left, order = job.ids.clone(), list(range(len(job.masks))), []
    job.n_rows = len(left)
    ids, steps = torch.zeros(len(left), dtype=torch.long), torch.zeros(len(left))
    while left:
        found = job.at(row[None], torch.tensor(left))  # (m, V)
        place, piece = divmod(int(found.argmax()), found.shape[-1])
        mask = left.pop(place)
        ids[mask], steps[mask] = piece, found[place, piece]
        row[job.masks[mask]] = piece
        order.append(mask)
    return job.filling(ids[None], steps[None], torch.tensor([order]))


def _beam(job: _Job, beams: int) -> Filling:
    job.n_rows = 1 + beams * (len(job.masks) - 1)
    rows, steps = job.ids[None], torch.zeros(1, 0, dtype=torch.double)  # (S, T) and (S, m)
    for m, place in enumerate(job.masks):
        found = job.at(rows, torch.full((len(rows),), m)).double()  # (S, V)
        joint = (steps.sum(-1, keepdim=True) + found).flatten()  # (S · V,)
        best = joint.topk(min(beams, len(rows) * int(job.allowed[m].sum()))).indices
        parents, pieces = best // found.shape[-1], best % found.shape[-1]
        rows = rows[parents]
        rows[:, place] = pieces
        steps = torch.cat([steps[parents], found.flatten()[best][:, None]], 1)
    orders = torch.arange(len(job.masks)).repeat(len(rows), 1)
    return job.filling(rows[:, job.masks], steps, orders)


_WAYS: Mapping[Strategy, Callable[[_Job, int], Filling]] = {
    "independent": _independent,
    "left_to_right": _left_to_right,
    "best_first": _best_first,
    "beam": _beam,
}
STRATEGIES: tuple[Strategy, ...] = tuple(_WAYS)

__all__ = ["STRATEGIES", "Filling", "Strategy", "fill"]
