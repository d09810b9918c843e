"""Text for axes: Plotly reads a little HTML in labels, and a long text needs fewer of them."""

from __future__ import annotations

from collections.abc import Sequence

_LONGEST = 14


def escaped(text: str) -> str:
    """The text as Plotly shows it letter for letter."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def shortened(text: str) -> str:
    """The text, or as much of it as an axis has room for, without characters that cannot be seen."""
    seen = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    return seen if len(seen) <= _LONGEST else seen[: _LONGEST - 1] + "…"


def axis_labels(pieces: Sequence[str]) -> list[str]:
    """Pieces short enough for an axis, escaped."""
    return [escaped(shortened(piece)) for piece in pieces]


__all__ = ["axis_labels", "escaped", "shortened"]
