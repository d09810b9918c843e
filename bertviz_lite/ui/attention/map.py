"""The attention view on a page: all heads, one map, what is chosen in it, and files to take away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from bertviz_lite.analysis import HeadStatistics, first_look
from bertviz_lite.analysis.units import Floats
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.figures import attention_view as view
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui import shell, state
from bertviz_lite.ui.answers import kept
from bertviz_lite.ui.attention import answers
from bertviz_lite.ui.attention import files as attention_files

_LINK = "attention"  # the overview and the map of the page find each other by it

_whole = st.components.v2.component("bertviz_lite_attention", html=view.HTML, css=view.CSS, js=view.JS)
_part = st.components.v2.component("bertviz_lite_attention_part", html=view.HTML, css=view.CSS, js=view.PART_JS)


@st.fragment
def heads(checkpoint: Checkpoint, encoding: Encoding) -> None:
    """All heads beside the one that is open; opening another redraws this part of the page only."""
    with shell.errors_as_sentences():
        _heads(checkpoint, encoding)
    if st.session_state.pop("masked_in_map", False):
        st.rerun(scope="app")  # the sentence above, and all that is made of it, has changed
    state.write_address()


def _heads(checkpoint: Checkpoint, encoding: Encoding) -> None:
    views = st.container()  # above the survey's bar, which shows once: were they to move up, they would be built anew
    survey = answers.survey(checkpoint, encoding)
    layer, head = opened(checkpoint, survey.statistics)
    left, right = views.columns([2, 3], gap="large")
    with left:
        packed = ("all heads", checkpoint.report.digest, encoding)
        _whole(key="all_heads", data=kept(packed, lambda: view.overview_data(survey, link=_LINK)))
    with right:
        found, n_layers = answers.layer(checkpoint, encoding, layer), checkpoint.config.num_hidden_layers
        chosen = shown_state(encoding)
        data = partial(view.head_data, encoding, found, head, n_layers=n_layers, state=chosen, link=_LINK)
        _draw(_part, "one_head", lambda heard: data(heard=heard))
        attention_files.offer_head(checkpoint, encoding, layer, head, chosen)


def one(
    checkpoint: Checkpoint, encoding: Encoding, weights: Floats, title: str, labels: Sequence[str] | None = None
) -> None:
    """A map that is no single head's, and its files.

    Args:
        weights: (T, T) probabilities.
        labels: T names in place of the pieces; `weights` are then one map less another.
    """
    signed = labels is not None
    chosen = shown_state(encoding)
    if signed:
        chosen = replace(chosen, rescale=False)  # the rows of a difference sum to 0
    data = partial(view.map_data, encoding, weights, title, state=chosen, link=title, labels=labels, signed=signed)
    _draw(_whole, "one_map", lambda heard: data(heard=heard))
    attention_files.offer_map(checkpoint, encoding, weights, title, chosen, data)


def opened(checkpoint: Checkpoint, statistics: HeadStatistics) -> answers.Head:
    """Layer and head on show: what was chosen, the last where too high; else the head that is worth a first look at
    the first text, which then stays open whatever is typed.
    """
    first = st.session_state.setdefault(f"first_head_{checkpoint.report.digest}", first_look(statistics))
    sizes = (checkpoint.config.num_hidden_layers, checkpoint.config.num_attention_heads)
    return state.number("layer", sizes[0], first[0]), state.number("head", sizes[1], first[1])


def shown_state(encoding: Encoding) -> view.ViewState:
    """What is chosen in the view, as far as it fits the text."""
    pin = state.get("pin")
    return view.ViewState(
        by=state.get("by"),
        without=state.get("hide"),
        pairs="all" if encoding.pair is None else state.get("pairs"),
        rescale=state.get("rescale"),
        large=state.get("large"),
        readable=state.get("readable"),
        pin=(None, None) if any((at or 0) >= len(encoding) for at in pin) else pin,
    )


def _draw(component: Any, key: str, data: Callable[[int], bytes]) -> None:  # noqa: ANN401 - it has no type
    """Mount a map; `data` are asked for with the number of the last choice that was heard in it."""
    component(
        key=key,
        data=data(st.session_state.get(_heard(key), 0)),
        on_view_change=lambda: _chosen(key, st.session_state[key].view),
        on_mask_change=lambda: _mask(st.session_state[key].mask),
    )


def _heard(key: str) -> str:
    return f"heard_{key}"


def _chosen(key: str, told: object) -> None:
    """Keep what was chosen in the browser. Each choice has a number, so that none is taken for the one before."""
    if not isinstance(told, Mapping):
        return
    st.session_state[_heard(key)] = told.get("n", 0)
    names = {"by": "by", "hide": "without", "pairs": "pairs", "rescale": "rescale", "large": "large", "pin": "pin"}
    names |= {"readable": "readable", "layer": "layer", "head": "head"}
    state.put_told({name: told[field] for name, field in names.items() if told.get(field) is not None})


def _mask(word: int | None) -> None:
    if word is not None:
        state.put(mask=tuple(sorted({int(word)} ^ set(state.get("mask")))))
        st.session_state["masked_in_map"] = True


__all__ = ["heads", "one", "opened", "shown_state"]
