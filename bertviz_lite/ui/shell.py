"""The frame around every page: settings, navigation, the model in use, and errors as sentences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import streamlit as st

from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.errors import BertvizError
from bertviz_lite.ui import numbers, shelf, state


@dataclass(frozen=True)
class PageLink:
    """A page in the navigation."""

    file: str
    label: str


PAGES = (
    PageLink("app.py", "Fill the mask"),
    PageLink("pages/token_loss.py", "Token loss"),
    PageLink("pages/attention.py", "Attention"),
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
.st-key-links { flex-wrap: nowrap; overflow-x: auto; scrollbar-width: none; }
.st-key-links a { white-space: nowrap; }
.st-key-brand p { font-family: "Source Serif", serif; font-size: 1.15rem; font-weight: 600; white-space: nowrap; }
.st-key-examples { flex-wrap: wrap; row-gap: 0; margin-top: -0.6rem; }
.st-key-examples p { font-size: 0.9rem; }
.st-key-examples button { padding: 0.05rem 0.6rem; min-height: 1.7rem; border-radius: 1rem; }
[data-testid="stMetricValue"] { font-size: 1.5rem; }
@media (max-width: 640px) {
  .st-key-top > :has(.st-key-links), .st-key-top > .st-key-links { order: 3; flex-basis: 100%; }
}
[data-testid="stHeading"] h2 { padding: 0.2rem 0 0; font-size: 1.75rem; }
</style>
"""


@contextmanager
def page(file: str, title: str, lead: str, more: str) -> Iterator[Checkpoint]:
    """Frame a page; yields the model in use. An error of ours ends the page as a sentence.

    Args:
        file: the page's entry in `PAGES`.
        title, lead: the heading, and two sentences on how to read the page.
        more: the rest, behind a "?".
    """
    st.set_page_config(page_title=f"{title} · bertviz_lite", layout="wide", initial_sidebar_state="collapsed")
    st.html(_STYLE)
    state.start(file)
    _top()
    st.header(title, help=more, anchor=False)
    st.markdown(lead)
    if shelf.absent_key():
        st.info(
            "This link was made with a model that its owner had opened. Open the same files on the Checkpoint page to "
            f"see what they saw; until then you see **{shelf.bundled().report.name}**, the bundled model."
        )
    try:
        yield shelf.current()
    except BertvizError as error:
        st.error(str(error))


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
    report = shelf.current().report
    with st.popover(f"{report.name} · {numbers.short(report.parameters.total)}", help="The model in use"):
        models = shelf.models()
        st.radio(
            "Model in use",
            list(models),
            format_func=lambda key: f"{models[key].report.name} · {numbers.short(models[key].report.parameters.total)}",
            **state.keyed("model") if state.get("model") in models else {},
        )
        st.page_link("pages/checkpoint.py", label="Open your own checkpoint", query_params=state.address())


__all__ = ["PAGES", "PageLink", "page"]
