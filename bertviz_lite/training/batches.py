"""Cuts a tokenised corpus into batches of single sentences and of full windows, in an order that a seed decides.

Batch i of epoch e is a function of (seed, e, i) alone: a run that was interrupted goes on with the batch that is next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lite.errors import TrainingError
from bertviz_lite.training.store import Part

_N_SPECIAL = 2  # [CLS] and [SEP]
_POOL_BATCHES = 256  # sorted by length among these, sequences of a batch are nearly equal
_SHORTEST = 3  # pieces; a "Yes." teaches nothing


@dataclass(frozen=True)
class BatchRule:
    """How batches are cut.

    Attributes:
        batch_tokens: places in a batch, padding included.
        max_length: tokens of the longest sequence, special tokens included.
        sentence_share: share of the tokens that are read as single sentences; the rest as windows over many.
        weights: by source, how often an epoch reads its text; 1 where not named.
    """

    batch_tokens: int
    max_length: int
    sentence_share: float
    weights: Mapping[str, float]


@dataclass(frozen=True)
class Frame:
    """What stands around a sequence: ids of [CLS], [SEP] and padding."""

    cls_id: int
    sep_id: int
    pad_id: int


@dataclass(frozen=True)
class Batch:
    """Sequences [CLS] … [SEP], padded at the end.

    Attributes:
        ids: (B, T) int64.
        lengths: (B,) tokens of each that are no padding.
    """

    ids: Tensor
    lengths: Tensor


class Epoch:
    """One pass over a part of a corpus, cut into batches."""

    def __init__(self, part: Part, frame: Frame, rule: BatchRule, seed: int, epoch: int) -> None:
        """Draw the order of everything.

        Raises:
            TrainingError: nothing is long enough to learn from.
        """
        self._tokens, self._frame = part.tokens, frame
        rng = np.random.default_rng((seed, epoch))
        starts, lengths = _items(part, rule, rng)
        if not len(starts):
            raise TrainingError("There is no text long enough to learn from, or every source has weight 0.")
        order = rng.permutation(len(starts))
        starts, lengths = starts[order], lengths[order]
        pool = (lengths + _N_SPECIAL).cumsum() // (_POOL_BATCHES * rule.batch_tokens)
        order = np.lexsort((-lengths, pool))
        self._starts, self._lengths = starts[order], lengths[order]
        firsts, ends = _cut(self._lengths + _N_SPECIAL, pool, rule.batch_tokens)
        mixed = np.lexsort((rng.random(len(firsts)), pool[firsts]))  # batches of one length must not come in a row
        self._firsts, self._ends = firsts[mixed], ends[mixed]

    def __len__(self) -> int:
        return len(self._firsts)

    def __getitem__(self, i: int) -> Batch:
        """Batch i of the epoch."""
        chosen = slice(self._firsts[i], self._ends[i])
        lengths = self._lengths[chosen]
        at = np.arange(lengths.max())
        inside = at < lengths[:, None]  # (B, T - 2)
        places = np.where(inside, self._starts[chosen, None] + at, 0)
        frame = self._frame
        ids = np.full((len(lengths), len(at) + _N_SPECIAL), frame.pad_id, np.int64)
        ids[:, 0] = frame.cls_id
        ids[:, 1:-1] = np.where(inside, self._tokens[places], frame.pad_id)
        ids[np.arange(len(lengths)), lengths + 1] = frame.sep_id
        return Batch(torch.from_numpy(ids), torch.from_numpy(lengths + _N_SPECIAL))


def _items(part: Part, rule: BatchRule, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where every sequence of an epoch starts in the tokens, and its length without special tokens."""
    longest = rule.max_length - _N_SPECIAL
    starts, ends = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for source in part.sources:
        weight = rule.weights.get(source.name, 1.0)
        bounds = np.asarray(part.starts[source.first : source.end + 1])
        if source.first == source.end or not weight:
            continue
        shift = rng.integers(longest)  # so that windows are cut elsewhere in the next epoch
        cuts = np.unique(
            np.clip(np.arange(bounds[0] + shift - longest, bounds[-1] + longest, longest), *bounds[[0, -1]])
        )
        kinds = ((bounds, rule.sentence_share), (cuts, 1 - rule.sentence_share))
        for edges, share in kinds:
            first, end = edges[:-1], edges[1:]
            fits = (end - first <= longest) & (end - first >= _SHORTEST)
            kept = _repeated(np.flatnonzero(fits), weight * share, rng)
            starts.append(first[kept])
            ends.append(end[kept])
    return np.concatenate(starts), np.concatenate(ends) - np.concatenate(starts)


def _repeated(items: NDArray[np.int64], times: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Every item `times` times; what is behind the decimal point is drawn."""
    whole, part = divmod(times, 1)
    return np.concatenate([np.repeat(items, int(whole)), items[rng.random(len(items)) < part]])


def _cut(
    lengths: NDArray[np.int64], pool: NDArray[np.int64], batch_tokens: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and end of every batch: the first sequence of it is its longest, and a batch stays in its pool."""
    firsts, ends = [], []
    pool_ends = np.searchsorted(pool, np.arange(pool[-1] + 1), "right")
    first = 0
    while first < len(lengths):
        end = min(first + max(1, batch_tokens // int(lengths[first])), int(pool_ends[pool[first]]))
        firsts.append(first)
        ends.append(end)
        first = end
    return np.array(firsts), np.array(ends)


__all__ = ["Batch", "BatchRule", "Epoch", "Frame"]
