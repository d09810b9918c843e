"""Where every head attends."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from bertviz_lite.analysis import AttentionMaps, HeadStatistics, MapChoice, head_statistics, leaders, shown_map
from bertviz_lite.analysis.units import token_units
from bertviz_lite.figures import attention as figures
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui import charts, compute, sentence, shell, state

LEAD = (
    "Each row is a token that looks, each column a token it looks at; a row's values sum to 1. Pick a layer and a "
    "head, or press a square in the grid of all heads."
)
MORE = (
    "Layers and heads are numbered from 0. Maps are taken after the softmax. Means of maps are maps too. Hidden "
    "special tokens are left out of the picture and nothing is rescaled: rows then sum to less than 1, often much "
    "less, since many heads rest on [CLS] or [SEP] when they have nothing to say. On attention as an explanation: "
    "Jain & Wallace 2019; Wiegreffe & Pinter 2019."
)


@dataclass(frozen=True)
class Statistic:
    """One number per head: its name and where it stands."""

    name: str
    of: Callable[[HeadStatistics], NDArray[np.float32]]


STATISTICS = {
    "previous": Statistic("attention on the previous token", attrgetter("previous_prob")),
    "next": Statistic("attention on the next token", attrgetter("next_prob")),
    "self": Statistic("attention on the token itself", attrgetter("self_prob")),
    "cls": Statistic("attention on [CLS]", attrgetter("cls_prob")),
    "sep": Statistic("attention on [SEP]", attrgetter("sep_prob")),
    "entropy": Statistic("entropy (nats)", attrgetter("entropy_nats")),
    "distance": Statistic("mean distance (tokens)", attrgetter("distance_tokens")),
}
N_LEADERS = 4


def main() -> None:
    """Read the inputs, take the maps, draw."""
    with shell.page("pages/attention.py", "Attention", LEAD, MORE, needs_head=False) as checkpoint:
        encoding = sentence.box(checkpoint)
        sentence.row(encoding, clickable=True)
        if not encoding.n_words:
            st.info("Type a sentence above, or press an example, to see where its tokens look.")
            return
        maps = compute.attention(checkpoint, encoding)
        values = STATISTICS[state.get("shows")].of(head_statistics(maps.weights, token_units(encoding)))
        layer, head = settled(maps, values)
        left, right = st.columns([3, 2], gap="large")
        with left:
            one_map(maps, encoding, layer, head)
        with right:
            all_heads(values, layer, head)


def settled(maps: AttentionMaps, values: NDArray[np.float32]) -> tuple[int | None, int | None]:
    """Layer and head on show, None for a mean; the leading head until the visitor chooses, the last where too high."""
    first = dict(zip(("layer", "head"), leaders(values, 1)[0], strict=True))
    sizes = {"layer": maps.n_layers, "head": maps.n_heads}
    picked = {
        name: None if asked == state.MEAN else first[name] if asked == state.CHOSEN else min(asked, sizes[name] - 1)
        for name in sizes
        for asked in [state.get(name)]
    }
    return picked["layer"], picked["head"]


def one_map(maps: AttentionMaps, encoding: Encoding, layer: int | None, head: int | None) -> None:
    """The picked head's map with its pickers."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name, n, at in (("layer", maps.n_layers, layer), ("head", maps.n_heads, head)):
            showing = state.MEAN if at is None else at
            options = {state.MEAN: f"mean of all {name}s", **{i: f"{name} {i}" for i in range(n)}}
            st.selectbox(
                name.capitalize(), list(options), format_func=options.get, **state.keyed(name, showing=showing)
            )
        st.toggle("Hide [CLS] and [SEP]", **state.keyed("hide"))
    hidden = ("cls", "sep") if state.get("hide") else ()
    shown = shown_map(maps.pick(layer, head), encoding, MapChoice(without=hidden))
    if hidden:
        gone = shown.gone_prob.mean()
        st.caption(f"[CLS] and [SEP] are left out; on average {gone:.0%} of a token's attention goes there.")
    charts.chart(figures.heatmap(shown.weights, shown.rows.labels, dark=charts.is_dark()), "map")
    st.caption("Attention is not an explanation: it shows where a head reads, not what the model makes of it.")


def all_heads(values: NDArray[np.float32], layer: int | None, head: int | None) -> None:
    """One number per head, and the heads where it is largest; pressing one opens it."""
    names = {key: statistic.name for key, statistic in STATISTICS.items()}
    st.selectbox("Every head's …", list(names), format_func=names.get, **state.keyed("shows"))
    picked = None if layer is None or head is None else (layer, head)
    grid = figures.head_grid(values, names[state.get("shows")], picked=picked, dark=charts.is_dark())
    charts.chart(grid, "grid", on_point=lambda x, y: state.put(layer=int(y), head=int(x)))
    st.caption(f"Press a square to open its head. The {N_LEADERS} highest:")
    with st.container(horizontal=True, gap="small", key="leaders"):
        for at, of in leaders(values, N_LEADERS):
            st.button(
                f"layer {at}, head {of}: {values[at, of]:.2f}",
                key=f"open_{at}_{of}",
                on_click=state.put,
                kwargs={"layer": at, "head": of},
            )


main()
