"""What changes from one map to another: two heads, two sentences of as many tokens, or two models on one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_lite.analysis.units import Floats
from bertviz_lite.errors import InputError


@dataclass(frozen=True)
class MapChange:
    """The second map less the first; or many maps, each less its own.

    Attributes:
        labels: T labels: the piece where both have the same, else `first / second`.
        difference: (..., T, T) in probability, -1 to 1; above 0 where the second looks more. Rows sum to 0.
        moved_prob: (..., T) share of each row's attention that went elsewhere: half the sum of |difference|.
    """

    labels: tuple[str, ...]
    difference: Floats
    moved_prob: Floats


def map_change(first: Floats, second: Floats, pieces_first: Sequence[str], pieces_second: Sequence[str]) -> MapChange:
    """Compare two maps of the same size.

    Args:
        first, second: (..., T, T) probabilities, queries by keys; the same shape.
        pieces_first, pieces_second: T labels of each.

    Raises:
        InputError: the two differ in tokens, in layers or in heads, or the labels do not fit.
    """
    if len(pieces_first) != len(pieces_second):
        raise InputError(
            f"The first has {len(pieces_first)} tokens and the second {len(pieces_second)}: their maps do not lie side "
            "by side. Choose two sentences of as many tokens, or two models that split this one into as many."
        )
    if first.shape != second.shape:
        raise InputError(
            f"Maps of shape {first.shape} and {second.shape} cannot be compared: choose as many layers and heads of "
            "both."
        )
    n_tokens = len(pieces_first)
    if first.shape[-2:] != (n_tokens, n_tokens):
        raise InputError(f"{n_tokens} labels do not fit maps of shape {first.shape}.")
    labels = [a if a == b else f"{a} / {b}" for a, b in zip(pieces_first, pieces_second, strict=True)]
    difference: Floats = second - first
    moved: Floats = np.abs(difference).sum(-1) / 2
    return MapChange(tuple(labels), difference, moved)


__all__ = ["MapChange", "map_change"]
