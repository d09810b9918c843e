"""The upload box: files to a model on the visitor's shelf, or a sentence on what is wrong or still lacking."""

from __future__ import annotations

import streamlit as st

from bertviz_lite.errors import BertvizError
from bertviz_lite.ui import shelf


def opener() -> None:
    """The upload box; files that open at once serve all pages."""
    session = st.session_state
    given = st.file_uploader(
        "Open a checkpoint: one zip, or the files of its folder together",
        accept_multiple_files=True,
        key=f"upload_{session.setdefault('n_uploads', 0)}",
    )
    if not given:
        if opened := session.pop("just_opened", None):
            st.success(f"**{opened}** is open and serves all pages.")
        return
    lacking = shelf.lacking_files([file.name for file in given])
    if lacking:
        st.info(f"{len(given)} file{'s' * (len(given) > 1)} so far. Still needed: {'; '.join(lacking)}.")
        return
    try:
        with st.spinner("Reading the checkpoint …"):
            session["just_opened"] = shelf.open_files({file.name: file for file in given}).report.name
    except BertvizError as error:
        st.error(f"{error} The model in use is still **{shelf.current().report.name}**.")
        return
    session["n_uploads"] += 1  # a fresh box: the old one's files are freed
    st.rerun()


__all__ = ["opener"]
