"""A sentence as a row of chips, one per word, pieces joined: data for views/chips.js.

The same sentence looks the same on every page; what changes is the scale that colours the pieces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bertviz_lite.figures import palette, scripts

HTML = scripts.read("chips.html")
CSS = scripts.read("chips.css")
JS = scripts.read("chips.js")


@dataclass(frozen=True)
class Piece:
    """One token as it is drawn.

    Attributes:
        text: what stands on the chip.
        tip: what hovering tells.
        word: number of its word, None for [CLS] and [SEP]; pieces of one word share a chip.
        masked: whether a mask hides it.
        hidden: the word as it was typed, told to screen readers.
        fixed: a mask that was typed; there is nothing below it to show.
        unseen: part of a text too long for the model, and not read.
    """

    text: str
    tip: str = ""
    word: int | None = None
    masked: bool = False
    hidden: str = ""
    fixed: bool = False
    unseen: bool = False


def chips(
    pieces: list[Piece],
    *,
    scale: palette.Scale | None = None,
    strengths: Mapping[int, float] | None = None,
    clickable: bool = False,
    bounded: bool = False,
    heard: int = 0,
    label: str = "the sentence, one chip a word",
    dark: bool = False,
) -> dict[str, Any]:
    """Data for the view.

    Args:
        pieces: T of them, in reading order.
        scale, strengths: colour the pieces at these positions by a strength from 0 to 1; others stay plain.
        clickable: whether a word can be pressed.
        bounded: whether a long text scrolls in a box of a few lines.
        heard: number of the last press that the page has acted on.
        label: what the row is, for screen readers.
    """
    words: list[dict[str, Any]] = []
    previous: int | None = None
    for position, piece in enumerate(pieces):
        part: dict[str, str] = {"text": piece.text, "tip": piece.tip}
        if scale is not None and strengths is not None and position in strengths:
            background = palette.colour(scale, strengths[position], dark)
            part |= {"background": background, "colour": palette.text_on(background)}
        if piece.word is None or piece.word != previous:
            words.append(
                {
                    "id": piece.word,
                    "pieces": [],
                    "masked": piece.masked,
                    "special": piece.word is None,
                    "hidden": piece.hidden,
                    "fixed": piece.fixed,
                    "unseen": piece.unseen,
                }
            )
        words[-1]["pieces"].append(part)
        previous = piece.word
    return {"words": words, "clickable": clickable, "bounded": bounded, "heard": heard, "label": label, "dark": dark}


__all__ = ["CSS", "HTML", "JS", "Piece", "chips"]
