"""Ends the session of a visitor who has left, so that the models, uploads and downloads of that visit are freed.

Streamlit 1.67 keeps the state of a closed tab until 128 others have pushed it out, for a connection that may come back.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

# A lost connection may come back in this time. After 120 s Streamlit could no longer end the session cleanly.
GRACE_SECONDS = 100.0

_timers: dict[str, threading.Timer] = {}


@dataclass(frozen=True)
class Visit:
    """One browser tab, and what it owns; emptied when the visit ends."""

    session_id: str
    belongings: dict[str, Any]


def watch(belongings: dict[str, Any]) -> None:
    """Notice when this visitor's browser goes away; called in every run."""
    if (context := get_script_run_ctx()) is not None:
        _present(context.session_id, belongings)


def free_uploads() -> None:
    """Give back the memory of this visitor's uploads, which have been read; else it is held until the visit ends."""
    if (context := get_script_run_ctx()) is not None:
        context.uploaded_file_mgr.remove_session_files(context.session_id)


def _left(visit: Visit) -> None:
    timer = threading.Timer(GRACE_SECONDS, _end, (visit,))
    timer.daemon = True
    _timers[visit.session_id] = timer
    timer.start()


def _came_back(session_id: str) -> None:
    if (timer := _timers.pop(session_id, None)) is not None:
        timer.cancel()


def _end(visit: Visit) -> None:
    _timers.pop(visit.session_id, None)
    if not runtime.exists():
        return
    if runtime.get_instance().is_active_session(visit.session_id):
        _left(visit)  # the browser came back but has not asked for a run since: look again later
        return
    # The one call that ends a stored session from another thread; there is no user info here to clear.
    runtime.get_instance().clear_user_info_for_session(visit.session_id)
    visit.belongings.clear()  # Streamlit's loop holds on to the last session it served


# A resource of the session is released the moment the browser goes away.
@st.cache_resource(scope="session", on_release=_left, show_spinner=False)
def _present(session_id: str, _belongings: dict[str, Any]) -> Visit:
    _came_back(session_id)
    return Visit(session_id, _belongings)


__all__ = ["GRACE_SECONDS", "Visit", "free_uploads", "watch"]
