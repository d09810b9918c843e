"""Attention to take away: the view as a file that works offline, and its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import streamlit as st

from bertviz_lite.analysis import (
    AttentionTable,
    HeadStatistics,
    MapChoice,
    attention_csv,
    attention_json,
    attention_maps,
    attention_npz,
    heads_csv,
    heads_json,
    shown_map,
)
from bertviz_lite.analysis.shown_maps import Pairing
from bertviz_lite.analysis.units import Floats
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.figures import attention_view as view
from bertviz_lite.notebook import attention_page
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui import attention_answers as answers
from bertviz_lite.ui import state
from bertviz_lite.ui.gate import gate


def offer_head(checkpoint: Checkpoint, encoding: Encoding, layer: int, head: int) -> None:
    """The head on show as numbers and the view as HTML; nothing is made before it is asked for."""

    def table() -> AttentionTable:
        weights = answers.layer(checkpoint, encoding, layer).weights[head]
        return as_shown(checkpoint, encoding, weights, layer, head)

    def page() -> str:
        with gate().entered():
            return attention_page(checkpoint, encoding, layer, head)

    def all_heads() -> bytes:
        with gate().entered():
            maps = attention_maps(checkpoint.model, encoding).weights
        numbers = (range(maps.shape[0]), range(maps.shape[1]))
        return attention_npz(
            AttentionTable(maps, *numbers, encoding.pieces, encoding.pieces, about(checkpoint, encoding))
        )

    stem = f"attention_layer{layer}_head{head}"
    with st.container(horizontal=True, gap="small", key="take_away", vertical_alignment="center"):
        st.markdown("Take away", width="content")
        _button("HTML", page, "attention.html", "text/html", "the view itself, works offline")
        _button("CSV", lambda: attention_csv(table()), f"{stem}.csv", "text/csv", "this map as shown, a line a weight")
        _button("JSON", lambda: attention_json(table()), f"{stem}.json", "application/json", "this map as shown")
        _button("NPZ", all_heads, "attention.npz", "application/octet-stream", "all heads, exact, for numpy.load")


def offer_map(checkpoint: Checkpoint, encoding: Encoding, weights: Floats, name: str, data: bytes) -> None:
    """A map that is no single head's: its view, `data`, as HTML, and its numbers."""

    def table() -> AttentionTable:
        return as_shown(checkpoint, encoding, weights, name, name)

    stem = name.replace(" ", "_").replace(",", "")
    with st.container(horizontal=True, gap="small", key="take_away", vertical_alignment="center"):
        st.markdown("Take away", width="content")
        _button("HTML", lambda: view.page(None, [data], name), f"{stem}.html", "text/html", "the view, works offline")
        _button("CSV", lambda: attention_csv(table()), f"{stem}.csv", "text/csv", "this map as shown, a line a weight")
        _button("JSON", lambda: attention_json(table()), f"{stem}.json", "application/json", "this map as shown")
        _button("NPZ", lambda: attention_npz(table()), f"{stem}.npz", "application/octet-stream", "exact")


def offer_numbers(statistics: HeadStatistics) -> None:
    """Every head's numbers."""
    with st.container(horizontal=True, gap="small", key="take_away", vertical_alignment="center"):
        st.markdown("Take away", width="content")
        _button("CSV", lambda: heads_csv(statistics), "heads.csv", "text/csv", "a line a head")
        _button("JSON", lambda: heads_json(statistics), "heads.json", "application/json", "a record a head")


def as_shown(
    checkpoint: Checkpoint, encoding: Encoding, weights: Floats, layer: int | str, head: int | str
) -> AttentionTable:
    """One map with what is chosen in the view: words, kinds left out, pairs, rescaling."""
    pairs: str = state.get("pairs")
    choice = MapChoice(
        unit="words" if state.get("by") == "words" else "tokens",
        without=state.get("hide"),
        pairing=None if pairs == "all" or encoding.pair is None else cast(Pairing, pairs),
        renormalised=state.get("rescale"),
    )
    shown = shown_map(weights, encoding, choice)
    left_out = {"left_out": ", ".join(choice.without)} if choice.without else {}
    told = {"unit": choice.unit, "rows": "rescaled to 1" if choice.renormalised else "as they are", **left_out}
    if choice.pairing is not None:
        told["pairs"] = choice.pairing
    names: tuple[Sequence[int | str], Sequence[int | str]] = ([layer], [head])
    return AttentionTable(
        shown.weights[None, None], *names, shown.rows.labels, shown.columns.labels, about(checkpoint, encoding) | told
    )


def about(checkpoint: Checkpoint, encoding: Encoding) -> dict[str, str]:
    """What a reader of a file should know."""
    told = {"model": checkpoint.report.name, "text": encoding.text, "numbered": "layers and heads from 0"}
    return told if encoding.pair is None else told | {"pair": encoding.pair}


def _button(label: str, data: object, name: str, mime: str, says: str) -> None:
    st.download_button(label, data, name, mime, help=says, key=f"take_{label}", on_click="ignore")  # type: ignore[arg-type]


__all__ = ["about", "as_shown", "offer_head", "offer_map", "offer_numbers"]
