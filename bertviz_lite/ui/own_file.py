"""A visitor's own files: read at once and kept for the visit, or told why not; the box is emptied for the next."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from bertviz_lite.errors import BertvizError
from bertviz_lite.ui import visit
from bertviz_lite.ui.wording import plain


def box_key(name: str) -> str:
    """The key of the box for files that are kept under this name; a new one after each file, which empties it."""
    return f"{name}_{st.session_state.setdefault(_count(name), 0)}"


def keep(name: str, given: object, read: Callable[[], object]) -> None:
    """Keep in the session what was given to the box, read; or say why it cannot be read.

    Args:
        given: what the box holds.
        read: asked only where it holds something; raises BertvizError.
    """
    session, refused = st.session_state, f"{name}_refused"
    if given:
        try:
            session[name] = read()
        except BertvizError as error:
            session[refused] = str(error)
        visit.free_uploads()
        session[_count(name)] += 1
        st.rerun()
    if told := session.pop(refused, None):
        st.error(plain(told))


def close_button(name: str, shown: str) -> None:
    """A button that forgets the files kept under this name; the second of two quick clicks finds nothing to forget."""
    st.button(f"Close {plain(shown)}", key=f"close_{name}", on_click=st.session_state.pop, args=(name, None))


def _count(name: str) -> str:
    return f"n_{name}"


__all__ = ["box_key", "close_button", "keep"]
