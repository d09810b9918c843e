"""A sheet to draw on by matplotlib, measured in points from its top left corner, that becomes an SVG or a PNG.

The same numbers give the same bytes: no date, no random names, and no settings of the person's own matplotlib.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Literal

import numpy as np
from matplotlib import font_manager, style
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bertviz_lite.figures import palette

_POINTS = 72  # to the inch
_PNG_DPI = 300
_MARGIN = 6.0  # points of white around all
_FIRST_FONT = "DejaVu Sans"  # comes with matplotlib, so that a picture is the same on any machine
_BOXES = "Last Resort"  # matplotlib's own, of boxes for all characters there are; it comes last by itself

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # no file may hold these

Kind = Literal["svg", "png"]
Side = Literal["left", "center", "right"]


@contextmanager
def plain() -> Iterator[None]:
    """Draw with matplotlib's own settings; characters that no font has become boxes, without a warning."""
    settings = {"svg.fonttype": "none", "svg.hashsalt": "bertviz_lite", "font.sans-serif": [_FIRST_FONT]}
    with style.context(settings, after_reset=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


class Sheet:
    """Draw on it inside `plain`; everything is in points from its top left, y downwards."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Begin a sheet.

        Args:
            texts: what will be written: a font of this machine is taken for letters that the first font lacks.
        """
        self._figure = Figure()
        self._axes = self._figure.add_axes((0, 0, 1, 1))
        self._axes.set_axis_off()
        self._families = [*_families(frozenset("".join(texts))), "sans-serif"]
        self._measure = RendererAgg(1, 1, _POINTS)  # type: ignore[no-untyped-call]
        self.height = 0.0

    def size(self, width: float, height: float) -> None:
        """Say how large it is, a margin aside."""
        self.height = height
        self._figure.set_size_inches((width + 2 * _MARGIN) / _POINTS, (height + 2 * _MARGIN) / _POINTS)
        self._axes.set(xlim=(-_MARGIN, width + _MARGIN), ylim=(height + _MARGIN, -_MARGIN))

    def width_of(self, text: str, size: float) -> float:
        """Of a text in one line."""
        font = font_manager.FontProperties(family=self._families, size=size)
        size_of = self._measure.get_text_width_height_descent
        return float(size_of(text, font, ismath=False)[0])  # type: ignore[no-untyped-call]

    def text(
        self, x: float, y: float, text: str, size: float, *, colour: str = "", across: Side = "left", turn: float = 0
    ) -> None:
        """Write one line, its middle at y.

        Args:
            across: which end of it is at x.
            turn: degrees, upwards.
        """
        self._axes.text(
            x,
            y,
            _NO_XML.sub("\ufffd", text),
            size=size,
            color=colour or palette.ink(),
            family=self._families,
            ha=across,
            va="center_baseline" if turn == 0 else "center",
            rotation=turn,
            rotation_mode="anchor",
            parse_math=False,
        )

    def add(self, collection: Collection, name: str) -> None:
        """Put shapes on it, as a group of this name."""
        collection.set_gid(name)
        collection.set_clip_on(False)
        self._axes.add_collection(collection, autolim=False)

    def picture(self, pixels: NDArray[np.uint8], x: float, y: float, width: float, height: float, name: str) -> None:
        """Put a picture on it, (P, Q, 3), its pixels not blurred."""
        box = (x, x + width, y + height, y)
        drawn = self._axes.imshow(pixels, extent=box, interpolation="none", aspect="auto", clip_on=False)
        drawn.set_gid(name)

    def svg(self, title: str) -> bytes:
        """A vector file whose text is text."""
        return self._saved("svg", {"Title": _NO_XML.sub("\ufffd", title), "Date": None})

    def png(self, title: str) -> bytes:
        """A picture of 300 dots to the inch."""
        return self._saved("png", {"Title": title})

    @plain()
    def _saved(self, kind: Kind, about: dict[str, str | None]) -> bytes:
        file = io.BytesIO()
        self._figure.savefig(file, format=kind, dpi=_PNG_DPI if kind == "png" else _POINTS, metadata=about)
        return file.getvalue()


@cache
def _families(letters: frozenset[str]) -> tuple[str, ...]:
    """The first font, and others of this machine for the letters that it lacks."""
    lacking = {ord(letter) for letter in letters} - _known(font_manager.findfont(_FIRST_FONT))
    families = [_FIRST_FONT]
    for font in font_manager.fontManager.ttflist:
        if not lacking:
            break
        upright = font.style == "normal" and font.weight == 400 and not font.name.startswith(_BOXES)
        if upright and (found := lacking & _known(font.fname)):
            families.append(font.name)
            lacking -= found
    return tuple(families)


@cache
def _known(path: str) -> frozenset[int]:
    """Characters that a font file has."""
    try:
        return frozenset(font_manager.get_font(path).get_charmap())
    except (OSError, RuntimeError):  # removed since the list was made, or of a kind that cannot be read
        return frozenset()


__all__ = ["Kind", "Sheet", "Side", "plain"]
