"""What counting alone would reach: losses that a model is measured against while it learns.

All are told the text as the model reads it, and asked for the same held-out tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bertviz_lite.training.evaluation import HeldOutSet
from bertviz_lite.training.masking import MaskedBatch
from bertviz_lite.training.store import Part

Probs = NDArray[np.float64]


@dataclass(frozen=True)
class Baselines:
    """Mean losses in nats of the selected held-out tokens, of every source alike.

    Attributes:
        even_nats: all pieces equally likely: ln V.
        frequency_nats: each piece as likely as it is frequent in the training text.
        left_nats: the same, given the piece to the left.
        both_nats: the same, given the pieces on both sides, as if each told about the gap on its own.
    """

    even_nats: float
    frequency_nats: float
    left_nats: float
    both_nats: float


class Follows:
    """How likely each piece follows another, by counting, smoothed as in Witten & Bell 1991.

    p(w | c) = (n(c, w) + u(c) p(w)) / (n(c) + u(c)), where u(c) different pieces were seen after c: the less is known
    of what follows, the more the plain frequencies count. After a piece never seen, they are all there is.
    """

    def __init__(self, parts: Mapping[float, NDArray[np.integer]], n_pieces: int) -> None:
        """Count pairs of neighbours in streams of ids, each by its weight."""
        single = np.ones(n_pieces)  # no piece is impossible
        all_keys, all_counts = [], []
        for weight, ids in parts.items():
            single += weight * np.bincount(ids, minlength=n_pieces)
            keys, counts = np.unique(ids[:-1].astype(np.int64) * n_pieces + ids[1:], return_counts=True)
            all_keys.append(keys)
            all_counts.append(weight * counts)
        self.frequencies: Probs = single / single.sum()  # (V,)
        self._keys, place = np.unique(np.concatenate(all_keys), return_inverse=True)
        self._counts = np.bincount(place, np.concatenate(all_counts))

    def given(self, context: int) -> Probs:
        """(V,) the probability of each piece after this one."""
        n = len(self.frequencies)
        first, end = np.searchsorted(self._keys, [context * n, (context + 1) * n])
        if first == end:
            return self.frequencies
        unseen = end - first
        mixed = unseen * self.frequencies
        mixed[self._keys[first:end] - context * n] += self._counts[first:end]
        probs: Probs = mixed / mixed.sum()
        return probs


def baselines(train: Part, weights: Mapping[str, float], held_out: HeldOutSet, n_pieces: int) -> Baselines:
    """Count in the training text, then ask for the held-out tokens.

    Args:
        weights: how often each source is read, 1 where none is given.
        n_pieces: V.
    """
    streams: dict[float, list[NDArray[np.integer]]] = {}
    for source in train.sources:
        ids = train.tokens[train.starts[source.first] : train.starts[source.end]]
        if weight := weights.get(source.name, 1.0):
            streams.setdefault(weight, []).append(np.asarray(ids))
    forward = {weight: np.concatenate(parts) for weight, parts in streams.items()}
    after = Follows(forward, n_pieces)
    before = Follows({weight: ids[::-1] for weight, ids in forward.items()}, n_pieces)
    means = [_losses(examples, after, before).mean(0) for examples in map(_asked, held_out.examples.values())]
    frequency, left, both = np.mean(means, axis=0).tolist()
    return Baselines(float(np.log(n_pieces)), frequency, left, both)


def _asked(batches: list[MaskedBatch]) -> list[tuple[int, int, int]]:
    """Left neighbour, right neighbour and right answer of every selected token."""
    return [
        (int(batch.input_ids[row, at - 1]), int(batch.input_ids[row, at + 1]), int(batch.labels[row, at]))
        for batch in batches
        for row, at in batch.positions.tolist()
    ]


def _losses(asked: list[tuple[int, int, int]], after: Follows, before: Follows) -> Probs:
    """(N, 3) losses in nats by frequency, by the left neighbour and by both."""
    found = np.empty((len(asked), 3))
    for i, (left, right, answer) in enumerate(asked):
        given_left = after.given(left)
        both = given_left * before.given(right) / after.frequencies
        found[i] = after.frequencies[answer], given_left[answer], both[answer] / both.sum()
    return -np.log(found)


__all__ = ["Baselines", "Follows", "baselines"]
