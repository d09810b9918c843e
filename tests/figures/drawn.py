"""An SVG as a person sees it: its cells, lines, small maps and texts, read back from the file."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"


@dataclass(frozen=True)
class Shape:
    """A path: its corners in order, and how it is painted."""

    corners: tuple[tuple[float, float], ...]
    style: dict[str, str]

    @property
    def middle(self) -> tuple[float, float]:
        xs, ys = zip(*self.corners, strict=True)
        return (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2


@dataclass(frozen=True)
class Text:
    """One line of text and where it begins, ends or has its middle."""

    text: str
    x: float
    y: float


@dataclass(frozen=True)
class Picture:
    """A picture inside: its pixels and the box that it fills."""

    pixels: NDArray[np.uint8]
    x: float
    y: float
    width: float
    height: float


class Drawn:
    """What an SVG holds."""

    def __init__(self, svg: bytes) -> None:
        self.root = ElementTree.fromstring(svg)  # noqa: S314 - our own file

    @property
    def title(self) -> str:
        return self.root.findtext(f"{_SVG}title") or ""

    @property
    def width(self) -> float:
        return float(self.root.attrib["width"].removesuffix("pt"))

    @property
    def height(self) -> float:
        return float(self.root.attrib["height"].removesuffix("pt"))

    def group(self, name: str) -> list[Shape]:
        (group,) = [found for found in self.root.iter(f"{_SVG}g") if found.get("id") == name]
        return [Shape(_corners(path.attrib["d"]), _style(path.attrib["style"])) for path in group.iter(f"{_SVG}path")]

    @cached_property
    def texts(self) -> list[Text]:
        return [
            Text(found.text or "", float(found.attrib["x"]), float(found.attrib["y"]))
            for found in self.root.iter(f"{_SVG}text")
        ]

    def places(self, text: str) -> list[Text]:
        return [found for found in self.texts if found.text == text]

    @cached_property
    def pictures(self) -> dict[str, Picture]:
        return {found.attrib["id"]: _picture(found) for found in self.root.iter(f"{_SVG}image")}


def channels(colour: str) -> tuple[int, int, int]:
    """#rrggbb as three numbers."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _corners(path: str) -> tuple[tuple[float, float], ...]:
    numbers = [float(number) for number in re.findall(r"-?[\d.]+(?:e-?\d+)?", path)]
    return tuple(pair for i, pair in enumerate(pairwise(numbers)) if i % 2 == 0)


def _style(text: str) -> dict[str, str]:
    return {name.strip(): value.strip() for name, _, value in (part.partition(":") for part in text.split(";"))}


def _picture(found: ElementTree.Element) -> Picture:
    data = found.attrib[_LINK].partition(",")[2]
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB"))
    a, b, c, d, x, y = (float(n) for n in re.findall(r"-?[\d.]+(?:e-?\d+)?", found.attrib["transform"]))
    assert b == c == 0
    assert a > 0, "not mirrored"
    assert d > 0, "not upside down"
    assert pixels.shape[:2] == (int(found.attrib["height"]), int(found.attrib["width"]))
    return Picture(pixels, x, y, a * pixels.shape[1], d * pixels.shape[0])


__all__ = ["Drawn", "Picture", "Shape", "Text", "channels"]
