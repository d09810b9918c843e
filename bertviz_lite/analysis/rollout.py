"""How much of each token's start is left in each token, if attention were all that moved it: attention rollout.

Abnar & Zuidema 2020, "Quantifying Attention Flow in Transformers", arXiv 2005.00928, section 3.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from bertviz_lite.analysis.units import Floats
from bertviz_lite.errors import InputError

Doubles = NDArray[np.float64]


def rollout(layers: Iterable[Floats]) -> Floats:
    """Follow attention from every layer down to the embeddings: with A the mean over heads, A' is half A and half I
    (the residual connection), each row over its sum, and the rollout of a layer is its A' times that of the one below.

    Args:
        layers: (L, H, T, T), or (H, T, T) a layer at a time, as from `each_layer`.

    Returns:
        (L, T, T) tokens after each layer by tokens at the start; rows sum to 1.

    Raises:
        InputError: there is no layer.
    """
    rolled: list[Floats] = []
    below: Doubles | None = None
    for maps in layers:
        below = with_residual(maps) if below is None else with_residual(maps) @ below
        rolled.append(below.astype(np.float32))
    if not rolled:
        raise InputError("There is no layer to follow attention through.")
    return np.stack(rolled)


def with_residual(maps: Floats) -> Doubles:
    """(T, T) half the mean of a layer's maps (H, T, T), half the token itself, each row over its sum."""
    mixed = 0.5 * maps.mean(0, dtype=np.float64) + 0.5 * np.eye(maps.shape[-1])
    rows: Doubles = mixed / mixed.sum(-1, keepdims=True)
    return rows


__all__ = ["rollout", "with_residual"]
