"""Plotly figures on a page: full width, in the project's look, without a tool bar."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from bertviz_lite.figures.palette import Figure


def is_dark() -> bool:
    """Whether the visitor's theme is dark."""
    return st.context.theme.type == "dark"


def chart(figure: Figure, key: str, on_point: Callable[[float, float], None] | None = None) -> None:
    """Draw a figure; `on_point` is called with x and y of a point that is pressed.

    Streamlit's own theme is off, since it would replace the colours that have a meaning here.
    """

    def pressed() -> None:
        points = st.session_state[key].selection.points
        if points and on_point is not None:
            on_point(points[0]["x"], points[0]["y"])

    st.plotly_chart(
        figure,
        key=key,
        theme=None,
        config={"displayModeBar": False},
        on_select="ignore" if on_point is None else pressed,
        selection_mode="points",
    )


__all__ = ["chart", "is_dark"]
