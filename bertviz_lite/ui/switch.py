"""A row of names of which one is chosen: the views of a page, the order of a table."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from bertviz_lite.ui import state


def switch(label: str, names: Mapping[str, str], setting: str) -> str:
    """Draw the row and return the value chosen.

    Args:
        label: what is chosen, for screen readers.
        names: what stands on the row, by value of the setting.
    """
    st.segmented_control(
        label,
        list(names),
        format_func=lambda value: names[value],
        label_visibility="collapsed",
        required=True,
        **state.keyed(setting),
    )
    chosen: str = state.get(setting)
    return chosen


__all__ = ["switch"]
