"""Ways to open a model: files, the hub, the server's folder; each ends in a model in use or a sentence on why not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Literal

import streamlit as st

from bertviz_lite.checkpoints import Source, hub
from bertviz_lite.errors import BertvizError
from bertviz_lite.ui import numbers, shelf, state, visit
from bertviz_lite.ui.wording import plain


def opener() -> None:
    """The box for files, and behind a fold the hub."""
    session = st.session_state
    if told := session.pop("just_opened", None):
        st.success(told)
    if told := session.pop("just_refused", None):
        st.error(told)
    files, other = st.columns([3, 2], gap="large")
    with files:
        given = st.file_uploader(
            "Open a checkpoint: one zip or tar, or the files of its folder together",
            accept_multiple_files=True,
            key=f"upload_{session.setdefault('n_uploads', 0)}",
            help="It lives in this server's memory until you close or reload this page; only you can use it.",
        )
        if given and (twice := _first_twice([file.name for file in given])):
            st.error(f"Two of these files are called {plain(twice)}: choose the files of one folder, or one zip of it.")
        elif given:
            _files({file.name: file for file in given})
    with other:
        _server_choice()
        with st.expander("From the Hugging Face hub", expanded=bool(session.get("hub_found"))):
            _hub()


def _files(given: Mapping[str, IO[bytes]]) -> None:
    strangers = [name for name in given if not shelf.may_belong(name)]
    if strangers:
        st.warning(f"Not a file of a checkpoint, and left aside: {plain(', '.join(strangers[:5]))}.")
    given = {name: file for name, file in given.items() if name not in strangers}
    if not given:
        return
    lacking = shelf.lacking_files(given)
    has_weights = not any("weights" in what for what in lacking)
    if lacking:
        many = "s" if len(given) > 1 else ""
        st.info(f"{len(given)} file{many} so far. Still needed: {'; '.join(lacking)}.")
        if has_weights:
            used = shelf.current()
            if st.button(
                f"Take what is missing from {plain(used.report.name)}", help="For weights saved without their config"
            ):
                lent = shelf.lent(given, used)
                note = f"Not uploaded but taken from {used.report.name}: {', '.join(lent)}."
                _open({**lent, **given}, next(iter(given)).rsplit(".", 1)[0], note)
        return
    _open(given, None)


def _open(source: Source, name: str | None, note: str = "") -> None:
    session = st.session_state
    try:
        with st.spinner("Reading the checkpoint …"):
            checkpoint = shelf.open_source(source, name=name, note=note)
    except BertvizError as error:
        session["just_refused"] = f"{plain(error)} The model in use is still **{plain(shelf.current().report.name)}**."
        _empty_box()  # what was refused must not stand in the way of the next try
        st.rerun()
    told = f"**{plain(checkpoint.report.name)}** is open and serves all pages."
    if not checkpoint.predicts:
        told = (
            f"**{plain(checkpoint.report.name)}** is open, but it is an encoder without a head: its attention "
            "and its tensors can be seen, predictions cannot."
        )
    session["just_opened"] = told
    _empty_box()
    session.pop("hub_found", None)
    st.rerun()


def _empty_box() -> None:
    visit.free_uploads()
    st.session_state["n_uploads"] += 1


def _first_twice(names: list[str]) -> str:
    return next((name for name in names if names.count(name) > 1), "")


def _hub() -> None:
    session = st.session_state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Model id", placeholder="google-bert/bert-base-uncased, or …@revision", key="hub_name")
        if st.button("Look it up", disabled=not name):
            try:
                with st.spinner("Asking the hub …"):
                    session["hub_found"] = hub.find(name)
            except BertvizError as error:
                session.pop("hub_found", None)
                st.error(plain(error))
    found: hub.HubCheckpoint | None = session.get("hub_found")
    if found is None:
        st.caption("Nothing is fetched before you have seen the size and pressed the button.")
        return
    size = numbers.short(found.n_bytes) + "B"
    st.markdown(f"**{plain(found.repo)}** at `{found.revision[:12]}`: {len(found.sizes)} files, **{size}**.")
    if st.button(f"Download and open ({size})", type="primary"):
        st.button("Cancel", key="hub_cancel")  # any press ends the running download at its next piece
        bar = st.progress(0.0, "Downloading …")

        def progress(done: int, n: int) -> None:
            bar.progress(done / max(n, 1), f"{numbers.short(done)}B of {numbers.short(n)}B")

        try:
            folder = hub.fetch(found, progress)
        except BertvizError as error:
            st.error(f"{plain(error)} The model in use is still **{plain(shelf.current().report.name)}**.")
            return
        _open(folder, found.repo)


def tie_choice() -> None:
    """Of an untied model: tie it to either matrix, as a model of its own on the shelf."""
    checkpoint = shelf.current()
    if checkpoint.report.tied or not checkpoint.predicts:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Tie it to", width="content")
        for to, named in (("embedding", "the word embedding"), ("decoder", "the decoder")):
            st.button(named, key=f"tie_{to}", on_click=_tie, args=(to,))


def _tie(to: Literal["embedding", "decoder"]) -> None:
    shelf.keep(shelf.current().tied_to(to))


def _server_choice() -> None:
    """The models of the server's folder, where its owner named one."""
    names = shelf.server_models()
    if not names:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("On this server", width="content")
        for key in names:
            st.button(plain(key[1:]), key=f"server_{key}", on_click=state.put, kwargs={"model": key})


__all__ = ["opener", "tie_choice"]
