"""Numbers about single tensors: moments, extremes, histograms; embeddings of any size included."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_CHUNK = 1 << 22  # values taken to float64 at a time: exact sums without a second copy of a large embedding


@dataclass(frozen=True)
class TensorStatistics:
    """A tensor in numbers; all are NaN or infinite where the tensor itself is.

    Attributes:
        std: of the population, not of a sample.
        zeros: how many values are exactly 0.
        norm: Euclidean.
    """

    mean: float
    std: float
    min: float
    max: float
    zeros: int
    norm: float

    def to_dict(self) -> dict[str, float]:
        """All of them by name."""
        return asdict(self)


@dataclass(frozen=True)
class Histogram:
    """How the values of a tensor are spread: n counts between n + 1 edges; NaN and infinity are left out."""

    counts: NDArray[np.int64]
    edges: NDArray[np.float64]


def tensor_statistics(tensor: Tensor) -> TensorStatistics:
    """Summarise a tensor of floating-point numbers of any size; an empty one has mean 0."""
    flat = tensor.detach().reshape(-1)
    if not flat.numel():
        return TensorStatistics(0.0, 0.0, 0.0, 0.0, 0, 0.0)
    total = squares = 0.0
    for chunk in torch.split(flat, _CHUNK):
        exact = chunk.double()
        total += float(exact.sum())
        squares += float(exact.square().sum())
    low, high = (float(extreme) for extreme in flat.aminmax())
    mean = total / flat.numel()
    variance = sum(float((chunk.double() - mean).square().sum()) for chunk in torch.split(flat, _CHUNK)) / flat.numel()
    return TensorStatistics(
        mean=mean,
        std=variance**0.5,
        min=low,
        max=high,
        zeros=int((flat == 0).sum()),
        norm=squares**0.5,
    )


def histogram(tensor: Tensor, bins: int = 80) -> Histogram:
    """Count the finite values of a tensor between its extremes."""
    flat = tensor.detach().reshape(-1)
    flat = flat[flat.isfinite()]
    low, high = (float(extreme) for extreme in flat.aminmax()) if flat.numel() else (0.0, 0.0)
    edges = np.linspace(low, high, bins + 1) if high > low else np.linspace(low - 0.5, low + 0.5, bins + 1)
    counts = np.zeros(bins, dtype=np.int64)
    for chunk in torch.split(flat, _CHUNK):
        counts += np.histogram(chunk.double().numpy(), edges)[0]
    return Histogram(counts, edges)


__all__ = ["Histogram", "TensorStatistics", "histogram", "tensor_statistics"]
