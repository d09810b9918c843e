"""How much of each token's start is left in each token, if attention were all that moved it: attention rollout.

Abnar & Zuidema 2020, "Quantifying Attention Flow in Transformers", arXiv 2005.00928, section 3.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bertviz_lite.analysis.units import Floats
from bertviz_lite.errors import InputError


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
    below: np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None = None
    for maps in layers:
        mixed = 0.5 * maps.mean(0, dtype=np.float64) + 0.5 * np.eye(maps.shape[-1])  # (T, T)
        mixed /= mixed.sum(-1, keepdims=True)
        below = mixed if below is None else mixed @ below
        rolled.append(below.astype(np.float32))
    if not rolled:
        raise InputError("There is no layer to follow attention through.")
    return np.stack(rolled)


__all__ = ["rollout"]
