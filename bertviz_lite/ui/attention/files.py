"""Attention to take away: the view as a file that works offline, and its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import pandas as pd
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
    shown_table,
)
from bertviz_lite.analysis.shown_maps import Pairing
from bertviz_lite.analysis.units import Floats
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.figures import attention_view as view
from bertviz_lite.figures.attention import document
from bertviz_lite.figures.palette import Figure
from bertviz_lite.notebook import attention_page
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui.attention import answers
from bertviz_lite.ui.gate import gate

_BYTES = "application/octet-stream"
_CHART = "the chart, works offline; its camera saves SVG"


def offer_head(checkpoint: Checkpoint, encoding: Encoding, layer: int, head: int, chosen: view.ViewState) -> None:
    """The head on show as numbers and the view as HTML; nothing is made before it is asked for."""

    def table() -> AttentionTable:
        weights = answers.layer(checkpoint, encoding, layer).weights[head]
        return _table(checkpoint, encoding, weights[None, None], chosen, [layer], [head])

    def page() -> str:
        with gate().entered():
            return attention_page(checkpoint, encoding, layer, head, chosen)

    def all_heads() -> bytes:
        with gate().entered():
            maps = attention_maps(checkpoint.model, encoding).weights
        numbers = (range(maps.shape[0]), range(maps.shape[1]))
        return attention_npz(_table(checkpoint, encoding, maps, view.ViewState(), *numbers))

    stem = f"attention_layer{layer}_head{head}"
    with _row():
        _button("HTML", page, "attention.html", "text/html", "the view itself, works offline")
        _numbers(table, stem)
        _button("NPZ", all_heads, "attention.npz", _BYTES, "all heads, exact, for numpy.load")


def offer_map(
    checkpoint: Checkpoint,
    encoding: Encoding,
    weights: Floats,
    name: str,
    chosen: view.ViewState,
    data: Callable[[], bytes],
) -> None:
    """A map that is no single head's: its view, of `data`, as HTML, and its numbers."""

    def table() -> AttentionTable:
        return _table(checkpoint, encoding, weights[None, None], chosen, [name], [name])

    stem = name.replace(" ", "_").replace(",", "")
    with _row():
        _button("HTML", lambda: view.page(None, [data()], name), f"{stem}.html", "text/html", "the view, works offline")
        _numbers(table, stem)
        _button("NPZ", lambda: attention_npz(table()), f"{stem}.npz", _BYTES, "this map as shown, exact")


def offer_numbers(statistics: HeadStatistics, picture: Figure | None) -> None:
    """Every head's numbers, and their chart."""
    with _row():
        if picture is not None:
            _button("HTML", lambda: document(picture, "heads"), "heads.html", "text/html", _CHART)
        _button("CSV", lambda: heads_csv(statistics), "heads.csv", "text/csv", "a line a head")
        _button("JSON", lambda: heads_json(statistics), "heads.json", "application/json", "a record a head")


def offer_chart(frame: pd.DataFrame, picture: Figure, name: str) -> None:
    """A chart, and its numbers."""
    with _row():
        _button("HTML", lambda: document(picture, name), f"{name}.html", "text/html", _CHART)
        _button("CSV", lambda: frame.to_csv(index=False), f"{name}.csv", "text/csv", "a line a token")


def _table(
    checkpoint: Checkpoint,
    encoding: Encoding,
    maps: Floats,
    chosen: view.ViewState,
    layers: Sequence[int | str],
    heads: Sequence[int | str],
) -> AttentionTable:
    """Maps (L, H, T, T) with what is chosen in the view: words, kinds left out, pairs, rescaling."""
    choice = MapChoice(
        unit="words" if chosen.by == "words" else "tokens",
        without=chosen.without,
        pairing=None if chosen.pairs == "all" else cast(Pairing, chosen.pairs),
        renormalised=chosen.rescale,
    )
    return shown_table(maps, encoding, choice, layers=layers, heads=heads, model=checkpoint.report.name)


def _numbers(table: Callable[[], AttentionTable], stem: str) -> None:
    _button("CSV", lambda: attention_csv(table()), f"{stem}.csv", "text/csv", "this map as shown, a line a weight")
    _button("JSON", lambda: attention_json(table()), f"{stem}.json", "application/json", "this map as shown")


@contextmanager
def _row() -> Iterator[None]:
    with st.container(horizontal=True, gap="small", key="take_away", vertical_alignment="center"):
        st.markdown("Take away", width="content")
        yield


def _button(label: str, data: object, name: str, mime: str, says: str) -> None:
    st.download_button(label, data, name, mime, help=says, key=f"take_{label}", on_click="ignore")  # type: ignore[arg-type]


__all__ = ["offer_chart", "offer_head", "offer_map", "offer_numbers"]
