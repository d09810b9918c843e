"""The frame around every page: settings, navigation, the model in use, and errors as sentences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import streamlit as st

from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.errors import BertvizError
from bertviz_lite.ui import shelf, state, visit
from bertviz_lite.ui.training import end as training_end
from bertviz_lite.ui.wording import plain, short

_CHIP = 30  # characters of the model's name that the row of links has room for


@dataclass(frozen=True)
class PageLink:
    """A page in the navigation."""

    file: str
    label: str


PAGES = (
    PageLink("app.py", "Fill the mask"),
    PageLink("pages/token_loss.py", "Token loss"),
    PageLink("pages/attention.py", "Attention"),
    PageLink("pages/masking.py", "How it was trained"),
    PageLink("pages/learning.py", "Watch it learn"),
    PageLink("pages/training.py", "Train"),
    PageLink("pages/compare.py", "Compare"),
    PageLink("pages/decoder.py", "Why a decoder?"),
    PageLink("pages/checkpoint.py", "Checkpoint"),
)

# Streamlit has no setting for these; only its documented keys and test ids are named.
_STYLE = """
<style>
[data-testid="stMainBlockContainer"] { padding: 0.8rem clamp(1rem, 4vw, 4rem) 3rem; max-width: 1400px; margin: 0 auto; }
[data-testid="stHeader"] { display: none; }
.st-key-top { border-bottom: 1px solid rgba(128, 128, 128, 0.25); padding-bottom: 0.35rem; }
.st-key-links { row-gap: 0; }
.st-key-links a { white-space: nowrap; }
.st-key-brand p { font-family: "Source Serif", serif; font-size: 1.15rem; font-weight: 600; white-space: nowrap; }
.st-key-examples, .st-key-pairs { flex-wrap: wrap; row-gap: 0; }
.st-key-examples { margin-top: -0.6rem; }
.st-key-examples p, .st-key-pairs p { font-size: 0.9rem; }
.st-key-examples button, .st-key-pairs button { padding: 0.05rem 0.6rem; min-height: 1.7rem; border-radius: 1rem; }
.st-key-live [data-stale] { opacity: 1 !important; }
[data-testid="stMetricValue"] { font-size: 1.5rem; }
@media (max-width: 640px) {
  .st-key-top > :has(.st-key-links), .st-key-top > .st-key-links { order: 3; flex-basis: 100%; }
  .st-key-links { column-gap: 0; }
  .st-key-moment > * > [data-testid="stHorizontalBlock"],
  .st-key-plan > * > [data-testid="stHorizontalBlock"] { flex-direction: column-reverse; }
}
[data-testid="stHeading"] h2 { padding: 0.2rem 0 0; font-size: 1.75rem; }
</style>
"""


@contextmanager
def page(file: str, title: str, lead: str, more: str, *, needs_head: bool = True) -> Iterator[Checkpoint]:
    """Frame a page; yields the model in use. An error of ours ends the page as a sentence.

    Args:
        file: the page's entry in `PAGES`.
        title, lead: the heading, and two sentences on how to read the page.
        more: the rest, behind a "?".
        needs_head: whether the page has nothing to show of an encoder alone.
    """
    st.set_page_config(page_title=f"{title} · bertviz_lite", layout="wide", initial_sidebar_state="collapsed")
    st.html(_STYLE)
    state.start(file)
    visit.watch(shelf.opened())
    training_end.put_back()
    _top()
    st.header(title, help=more, anchor=False)
    st.markdown(lead)
    if told := shelf.trouble():
        st.info(told)
    checkpoint = shelf.current()
    if needs_head and not checkpoint.predicts:
        st.info(
            f"**{plain(checkpoint.report.name)}** is an encoder without a masked-language-model head: it has "
            "attention, but nothing to predict with. See its attention, choose another model above, or train a head "
            "for it: `python -m bertviz_lite pretrain TEXTS --init FOLDER --out DIR` starts from it."
        )
        st.stop()
    with errors_as_sentences():
        yield checkpoint


@contextmanager
def errors_as_sentences() -> Iterator[None]:
    """Show an error of ours where it happened; a part that Streamlit redraws by itself needs this of its own."""
    try:
        yield
    except BertvizError as error:
        st.error(plain(error))


def _top() -> None:
    """One row: name, links, model in use."""
    query = state.address()
    with st.container(horizontal=True, key="top", vertical_alignment="center", gap="medium"):
        with st.container(key="brand", width="content"):
            st.markdown("bertviz_lite")
        with st.container(horizontal=True, key="links", gap="small", width="stretch"):
            for link in PAGES:
                st.page_link(link.file, label=link.label, query_params=query)
        _model_chip()


def _model_chip() -> None:
    """The model in use, always in sight; opens the choice."""
    in_use, choices = shelf.label(shelf.current()), shelf.choices()
    with st.popover(plain(short(in_use, _CHIP)), help=f"The model in use: {plain(in_use)}"):
        st.radio(
            "Model in use",
            list(choices),
            format_func=lambda key: plain(choices[key]),
            **state.keyed("model", anew=True) if state.get("model") in choices else {},
        )
        if shelf.is_own(key := state.get("model")):
            st.button("Close this model", key="close_model", on_click=shelf.close, args=(key,))
        st.page_link("pages/checkpoint.py", label="Open your own checkpoint", query_params=state.address())


__all__ = ["PAGES", "PageLink", "errors_as_sentences", "page"]
