"""Text for axes: Plotly reads a little HTML in labels, and a long text needs fewer of them."""

from __future__ import annotations

from collections.abc import Sequence

_LONGEST = 14


def escaped(text: str) -> str:
    """The text as Plotly shows it letter for letter."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def axis_labels(pieces: Sequence[str]) -> list[str]:
    """Pieces short enough for an axis, escaped."""
    return [escaped(p if len(p) <= _LONGEST else p[: _LONGEST - 1] + "…") for p in pieces]


__all__ = ["axis_labels", "escaped"]
