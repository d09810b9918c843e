"""Maps for a paper: vector SVG and PNG by matplotlib, on white, arranged as in the view of the page.

Heatmap cells, lines and small maps are groups with names of their own, so that a drawing program finds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.path import Path
from numpy.typing import NDArray

from bertviz_lite.analysis import ShownMap, pooled
from bertviz_lite.analysis.units import Floats
from bertviz_lite.errors import InputError
from bertviz_lite.figures import palette
from bertviz_lite.figures._sheet import Sheet, Side, plain
from bertviz_lite.figures.labels import shortened

WIDTH = 492.0  # points, of 72 to the inch: with its margins as wide as the text of a page
MOST_CELLS = 4096  # drawn one by one; a larger heatmap is one picture inside the SVG
FAINTEST = 0.02  # of the map's largest weight: weaker ones are no lines, and the picture says so
MOST_LINES = 4000

_FONT = 8.5
_SMALLEST_FONT = 3.5
_QUIET = "#626b7a"
_NUMBER_WIDTH, _NUMBER_HEIGHT = 16.5, 10.5  # of a cell that has room for its weight
_HEIGHT, _NAMED, _TALLEST = 300.0, 4.4, 600.0  # of a map; it grows until all its tokens have names, or to a page
_LINES_WIDTH = 190.0
_THICKEST = 6.0
_ACROSS = 4  # maps of one layer stand in rows of so many
_FOOT = 34.0  # below the picture, for its scale and what it says

Colours = NDArray[np.uint8]
_TABLE: Colours = np.array(
    [[int(palette.colour("attention", i / 255)[at : at + 2], 16) for at in (1, 3, 5)] for i in range(256)], np.uint8
)


@plain()
def one_map(shown: ShownMap, says: str) -> Sheet:
    """One map: the heatmap, the tokens that look, lines as thick as their weights, the tokens looked at.

    Args:
        shown: its weights (R, C); columns go across.
        says: which map this is, below it.

    Raises:
        InputError: nothing is left to show.
    """
    _require_some(shown)
    rows, columns = shown.weights.shape
    labels = [shortened(label) for label in (*shown.rows.labels, *shown.columns.labels)]
    sheet = Sheet(labels)
    at = _Places.of(sheet, rows, columns, labels)
    most = max(float(shown.weights.max()), 1e-6)
    sheet.size(max(at.width, sheet.width_of(says, 7)), at.top + max(rows, columns) * at.row + _FOOT)
    _heat(sheet, shown.weights / most, shown.weights, at)
    _column_names(sheet, labels[rows:], 0, at.top - 4, at.column, at.font)
    faintest = _lines(sheet, shown.weights / most, at)
    _row_names(sheet, labels[:rows], at.labels_right, at.top, at.row, at.font, "right")
    _row_names(sheet, labels[rows:], at.lines_right + 4, at.top, at.row, at.font, "left")
    sheet.text((at.lines_left + at.lines_right) / 2, at.top - 7, "looks at", 7, colour=_QUIET, across="center")
    if faintest > 0:
        told = f"lines: weights above {most * faintest:.1g}"
        sheet.text(at.lines_right, sheet.height - 22, told, 7, colour=_QUIET, across="right")
    _legend(sheet, f"{most:.2f}" if most >= 0.01 else f"{most:.1g}", says)
    return sheet


@plain()
def some_maps(shown: ShownMap, names: Sequence[str], says: str) -> Sheet:
    """Maps side by side, each on its own scale, with the tokens' names where there is room for them.

    Args:
        shown: its weights (N, R, C).
        names: N, below the maps.
        says: as in `one_map`.

    Raises:
        InputError: nothing is left to show.
    """
    _require_some(shown)
    n_maps, rows, columns = shown.weights.shape
    labels = [shortened(label) for label in (*shown.rows.labels, *shown.columns.labels)]
    sheet = Sheet([*labels, *names])
    across = min(n_maps, _ACROSS)
    cell = min((WIDTH - 80) / across - 10, 170.0) / max(rows, columns)
    font = min(_FONT, cell * 0.9)
    named = font >= _SMALLEST_FONT
    widest = max(sheet.width_of(label, font) for label in labels) if named else 0
    left, top = (widest + 5, widest * 0.87 + 8) if named else (0.0, 2.0)
    pitch, drop = columns * cell + 10, rows * cell + 18
    down = -(-n_maps // across)
    leans = widest * 0.5 if named else 0  # the last column's name, over the edge
    sheet.size(max(left + across * pitch - 10 + leans, sheet.width_of(says, 7)), top + down * drop + _FOOT)
    for i, (weights, name) in enumerate(zip(shown.weights, names, strict=True)):
        x, y = left + i % across * pitch, top + i // across * drop
        sheet.picture(_pixels(weights), x, y, columns * cell, rows * cell, f"map-{i}")
        sheet.text(x + columns * cell / 2, y + rows * cell + 7, name, 7, across="center")
        if named and i < across:
            _column_names(sheet, labels[rows:], x, y - 3, cell, font)
        if named and i % across == 0:
            _row_names(sheet, labels[:rows], x - 3, y, cell, font, "right")
    _legend(sheet, "largest of each map", says)
    return sheet


@plain()
def all_maps(weights: Sequence[Floats], says: str) -> Sheet:
    """All heads at a glance: layers downwards, heads across, numbered from 0; each map on its own scale.

    Args:
        weights: L times (H, R, C), which may be pooled.
        says: as in `one_map`.
    """
    n_layers, n_heads = len(weights), len(weights[0])
    rows, columns = weights[0].shape[1:]
    sheet = Sheet([])
    left, top = 26.0, 24.0
    pitch = min((WIDTH - left) / n_heads, 72.0)
    cell = (pitch - min(4.0, pitch * 0.1)) / max(rows, columns)
    drop = pitch * max(rows / max(rows, columns), 0.4)
    sheet.size(max(left + n_heads * pitch, sheet.width_of(says, 7)), top + n_layers * drop + _FOOT)
    sheet.text(left + n_heads * pitch / 2, 5, "head", 7, colour=_QUIET, across="center")
    sheet.text(4, top + n_layers * drop / 2, "layer", 7, colour=_QUIET, across="center", turn=90)
    size = min(8.0, pitch * 0.5)
    for head in range(n_heads):
        sheet.text(left + head * pitch + columns * cell / 2, top - 7, str(head), size, across="center")
    for layer, maps in enumerate(weights):
        y = top + layer * drop
        sheet.text(left - 5, y + rows * cell / 2, str(layer), size, across="right")
        for head, one in enumerate(maps):
            x = left + head * pitch
            sheet.picture(_pixels(one), x, y, columns * cell, rows * cell, f"map-{layer}-{head}")
    _legend(sheet, "largest of each map", says)
    return sheet


@dataclass(frozen=True)
class _Places:
    """Where the parts of one map stand, in points from the top left.

    Attributes:
        row, column: height and width of a cell.
    """

    row: float
    column: float
    font: float
    top: float
    labels_right: float
    lines_left: float
    lines_right: float
    width: float

    @classmethod
    def of(cls, sheet: Sheet, rows: int, columns: int, labels: Sequence[str]) -> _Places:
        most = max(rows, columns)
        row = min(max(_HEIGHT / most, min(_NAMED, _TALLEST / most)), 15.0)
        font = min(max(row * 0.8, 4.0), _FONT)
        widest = max(sheet.width_of(label, font) for label in labels)
        heat = min((WIDTH - 2 * widest - 30) * 0.58, columns * row * 1.4)
        labels_right = heat + 12 + widest
        lines_left = labels_right + 4
        lines_right = lines_left + min(WIDTH - widest - 4 - lines_left, _LINES_WIDTH)
        top = widest * 0.87 + 12
        return cls(row, heat / columns, font, top, labels_right, lines_left, lines_right, lines_right + widest + 4)


def _require_some(shown: ShownMap) -> None:
    if not shown.weights.size:
        raise InputError("Everything is left out: show [CLS], [SEP] or punctuation again.")


def _pixels(weights: Floats) -> Colours:
    """(R, C) on its own scale -> (P, Q, 3); too large to see, it is pooled by the largest weight."""
    small = pooled(weights)
    coloured: Colours = _TABLE[np.rint(small / max(float(small.max()), 1e-6) * 255).astype(np.uint8)]
    return coloured


def _heat(sheet: Sheet, shares: Floats, weights: Floats, at: _Places) -> None:
    """Cells, and in those with room for it the weight; .00 would hide the others."""
    rows, columns = shares.shape
    levels = np.rint(shares * 255).astype(np.uint8)
    if shares.size > MOST_CELLS:
        sheet.picture(_TABLE[levels], 0, at.top, columns * at.column, rows * at.row, "cells")
        return
    y, x = np.mgrid[0:rows, 0:columns].reshape(2, -1)
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
    boxes = (np.stack([x, y], -1)[:, None] + corners) * (at.column, at.row) + (0, at.top)  # (R·C, 4, 2)
    gap = 0.6 if min(at.column, at.row) >= 4 else 0
    cells = PolyCollection(list(boxes), facecolors=_TABLE[levels.ravel()] / 255, edgecolors="white", linewidths=gap)
    sheet.add(cells, "cells")
    if at.column < _NUMBER_WIDTH or at.row < _NUMBER_HEIGHT:
        return
    for i, j in np.argwhere(weights >= 0.01).tolist():
        ink = palette.text_on("#" + bytes(_TABLE[levels[i, j]]).hex())
        number = f"{weights[i, j]:.2f}".removeprefix("0")
        sheet.text((j + 0.5) * at.column, at.top + (i + 0.5) * at.row, number, 6, colour=ink, across="center")


def _lines(sheet: Sheet, shares: Floats, at: _Places) -> float:
    """Weights as lines, strong ones on top; the share up to which they were too weak, or too many, to be drawn."""
    order = np.argsort(shares, axis=None, kind="stable")
    n_drawn = min(int((shares > FAINTEST).sum()), MOST_LINES)
    left_out, drawn = np.split(order, [len(order) - n_drawn])
    weakest = float(shares.ravel()[left_out].max(initial=0))
    rows, columns = np.unravel_index(drawn, shares.shape)
    share = shares[rows, columns]
    width = at.lines_right - at.lines_left
    x = at.lines_left + np.array([3, width * 0.4, width * 0.6, width - 3])
    y = at.top + (np.stack([rows, rows, columns, columns], -1) + 0.5) * at.row  # (N, 4)
    curve = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    paths = [Path(np.stack([x, of], -1), curve) for of in y]
    colours = np.column_stack([np.tile(_TABLE[205] / 255, (len(drawn), 1)), 0.12 + 0.75 * share])
    thickest = min(max(at.row * 0.42, 1.5), _THICKEST)
    thick = np.maximum(share * thickest, 0.15)
    sheet.add(PathCollection(paths, facecolors="none", edgecolors=colours, linewidths=thick), "lines")
    return max(weakest, FAINTEST) if weakest > 0 else 0.0


def _row_names(
    sheet: Sheet, names: Sequence[str], x: float, top: float, pitch: float, size: float, across: Side
) -> None:
    for i in range(0, len(names), _every(size, pitch)):
        sheet.text(x, top + (i + 0.5) * pitch, names[i], size, across=across)


def _column_names(sheet: Sheet, names: Sequence[str], left: float, y: float, pitch: float, size: float) -> None:
    size = min(size, max(pitch * 0.95, 4.0))
    for i in range(0, len(names), _every(size, pitch)):
        sheet.text(left + (i + 0.5) * pitch, y, names[i], size, across="left", turn=60)


def _every(size: float, pitch: float) -> int:
    """Of names this large, which ones have room."""
    return max(int(np.ceil(size * 1.05 / pitch)), 1)


def _legend(sheet: Sheet, most: str, says: str) -> None:
    y, width = sheet.height - 26, 80.0
    sheet.text(0, y + 4, "0", 7, colour=_QUIET)
    sheet.picture(_TABLE[None, :], 8, y, width, 7, "scale")
    sheet.text(width + 12, y + 4, most, 7, colour=_QUIET)
    sheet.text(0, sheet.height - 8, says, 7, colour=_QUIET)


__all__ = ["FAINTEST", "MOST_CELLS", "MOST_LINES", "WIDTH", "all_maps", "one_map", "some_maps"]
