"""All heads at a glance in few bytes: every map pooled down to at most P x P and quantised to one byte a value.

One pass, layer by layer: of 512 tokens no more than one layer's maps are ever held.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bertviz_lite.analysis._rows import Progress, require_fits
from bertviz_lite.analysis.attention import each_layer
from bertviz_lite.analysis.heads import HeadStatistics, head_statistics
from bertviz_lite.analysis.units import Floats, token_units
from bertviz_lite.errors import InputError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Encoding

Pool = Literal["max", "mean"]

LARGEST_MAP = 128  # 12 x 12 x 128 x 128 bytes = 2.36 MB


@dataclass(frozen=True)
class Overview:
    """All maps of a text, pooled to P x P cells; P = T where that is few enough.

    Attributes:
        levels: (L, H, P, P) bytes, queries by keys: a cell is `levels / 255 * peak_prob`, to within half a level.
        peak_prob: (L, H) the largest cell of each map, which is level 255 there.
        starts: (P,) the first token of each cell's rows, and columns; the next cell's first ends it, or T.
        n_tokens: T.
        pool: whether a cell is the largest of its weights, or their mean.
    """

    levels: NDArray[np.uint8]
    peak_prob: Floats
    starts: NDArray[np.int64]
    n_tokens: int
    pool: Pool

    @property
    def is_pooled(self) -> bool:
        """Whether a cell stands for more than one pair of tokens."""
        return len(self.starts) < self.n_tokens

    @property
    def probs(self) -> Floats:
        """(L, H, P, P) the cells, to within `peak_prob` / 510."""
        cells: Floats = (self.levels / 255 * self.peak_prob[..., None, None]).astype(np.float32)
        return cells


@dataclass(frozen=True)
class Survey:
    """All heads of a text: how their maps look, and their numbers.

    Attributes:
        overview: the small maps.
        statistics: (L, H) numbers of the maps themselves, nothing pooled.
    """

    overview: Overview
    statistics: HeadStatistics


def survey(
    model: BERTForMaskedLM,
    encoding: Encoding,
    *,
    largest: int = LARGEST_MAP,
    pool: Pool = "max",
    progress: Progress | None = None,
) -> Survey:
    """Look over all heads in a single pass that keeps no map.

    Args:
        largest, pool: as in `overview`.
        progress: `progress(done, all)` is called after each layer.

    Raises:
        TextError: the text is longer than the model reads.
        InputError: as in `overview`; also where a token or a segment is none of the model's.
        CheckpointError: the model answers with NaN.
    """
    require_fits(model, encoding)
    n_layers, n_heads, units = model.config.num_hidden_layers, model.config.num_attention_heads, token_units(encoding)
    starts = _starts(len(units), largest)
    # Made before the first layer: small results that outlive large ones would keep the room of those from being reused.
    levels = np.empty((n_layers, n_heads, len(starts), len(starts)), np.uint8)
    peak_prob = np.empty((n_layers, n_heads), np.float32)
    numbers = {field.name: np.empty((n_layers, n_heads), np.float32) for field in fields(HeadStatistics)}
    for layer, maps in enumerate(each_layer(model, encoding)):
        seen = overview(maps[None], largest=largest, pool=pool)
        levels[layer], peak_prob[layer] = seen.levels[0], seen.peak_prob[0]
        found = head_statistics(maps[None], units)
        for name, values in numbers.items():
            values[layer] = getattr(found, name)[0]
        if progress is not None:
            progress(layer + 1, n_layers)
    return Survey(Overview(levels, peak_prob, starts, len(units), pool), HeadStatistics(**numbers))


def overview(weights: Floats, *, largest: int = LARGEST_MAP, pool: Pool = "max") -> Overview:
    """Pool maps and quantise them, each on its own scale: a head that looks everywhere would else be all black.

    Tokens are dealt out to P = min(T, largest) cells whose sizes differ by at most one.

    Args:
        weights: (L, H, T, T).
        largest: the most cells a side.
        pool: a cell is the largest (`max`, so that no peak is lost) or the mean (`mean`) of its weights.

    Raises:
        InputError: `largest` is below 1, or there is no such way to pool.
    """
    if pool not in ("max", "mean"):
        raise InputError(f"Maps cannot be pooled by {pool!r}; choose max or mean.")
    starts = _starts(weights.shape[-1], largest)
    cells = _pooled(weights, starts, pool)  # (L, H, P, P)
    peak = cells.max((-1, -2))  # (L, H), above 0: every row of a map holds something
    levels = np.rint(cells / peak[..., None, None] * 255).astype(np.uint8)
    return Overview(levels, peak, starts, weights.shape[-1], pool)


def pooled(weights: Floats, *, largest: int = LARGEST_MAP) -> Floats:
    """Maps pooled to at most `largest` cells a side, each the largest of its weights; small ones as they are.

    Args:
        weights: (..., R, C), not empty; R and C may differ where one sentence looks at the other.

    Returns:
        (..., P, Q).

    Raises:
        InputError: `largest` is below 1.
    """
    rows, columns = (_starts(n, largest) for n in weights.shape[-2:])
    peaks: Floats = np.maximum.reduceat(np.maximum.reduceat(weights, columns, -1), rows, -2)
    return peaks


def _starts(n_tokens: int, largest: int) -> NDArray[np.int64]:
    """(P,) the first token of each cell; sizes differ by at most one."""
    if largest < 1:
        raise InputError(f"largest = {largest}: a map has at least one cell a side.")
    n_cells = min(n_tokens, largest)
    return np.arange(n_cells) * n_tokens // n_cells


def _pooled(weights: Floats, starts: NDArray[np.int64], pool: Pool) -> Floats:
    """(..., T, T) -> (..., P, P)."""
    if pool == "max":
        return pooled(weights, largest=len(starts))
    sizes = np.diff(starts, append=weights.shape[-1])  # (P,)
    sums = np.add.reduceat(np.add.reduceat(weights, starts, -1, np.float64), starts, -2)
    means: Floats = (sums / np.outer(sizes, sizes)).astype(np.float32)
    return means


__all__ = ["LARGEST_MAP", "Overview", "Pool", "Survey", "overview", "pooled", "survey"]
