"""The calculator of the decoder page: sizes to parameters by part, tied and untied, and what tying really saves."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from bertviz_lite.checkpoints import Checkpoint, ParameterCounts, count_parameters
from bertviz_lite.config import BERTConfig
from bertviz_lite.errors import ConfigError
from bertviz_lite.figures import checkpoint as figures
from bertviz_lite.ui import charts, numbers, state

# Vocabulary, width, layers, heads, intermediate: the sizes that Google published, and the example of the question.
PRESETS = {
    "20,000 × 768, 6 layers": (20_000, 768, 6, 12, 3072),
    "tiny": (30_522, 128, 2, 2, 512),
    "mini": (30_522, 256, 4, 4, 1024),
    "small": (30_522, 512, 4, 8, 2048),
    "medium": (30_522, 512, 8, 8, 2048),
    "base": (30_522, 768, 12, 12, 3072),
    "large": (30_522, 1024, 24, 16, 4096),
}
_FIELDS = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
_LABELS = ("Vocabulary", "Width", "Layers", "Heads", "Intermediate")


def draw(checkpoint: Checkpoint) -> None:
    """Draw the calculator, with the model in use among its presets."""
    st.subheader("How many parameters, and what does the tie save?", anchor=False)
    config = checkpoint.config
    own = tuple(getattr(config, field) for field in _FIELDS)
    with st.container(horizontal=True, key="presets", gap="small"):
        for name, preset in {**PRESETS, f"{checkpoint.report.name} (in use)": own}.items():
            st.button(name, key=f"preset_{name}", on_click=state.put, kwargs={"sizes": preset})
    sizes: tuple[int, ...] = state.get("sizes")
    for place, (column, label, most) in enumerate(zip(st.columns(5), _LABELS, state.MOST_SIZES, strict=True)):
        key = f"size_{place}"
        st.session_state[key] = min(sizes[place], most)
        column.number_input(label, 1, most, key=key, on_change=_take, args=(place, key))
    try:
        tied = BERTConfig(**dict(zip(_FIELDS, state.get("sizes"), strict=True)))
    except ConfigError as error:
        told = str(error)
        for field, label in zip(_FIELDS, _LABELS, strict=True):
            told = told.replace(field, label)
        st.error(told)
        return
    counts, untied = _count(tied), _count(replace(tied, tie_word_embeddings=False))
    left, right = st.columns(2, gap="large")
    for column, name, of in ((left, "Tied", counts), (right, "Untied", untied)):
        with column:
            st.markdown(f"**{name}: {of.total:,}**")
            charts.chart(figures.parameter_bar(of.named(), dark=charts.is_dark()), f"parts_{name}")
    saved = untied.total - counts.total
    st.markdown(
        f"Tying saves {tied.vocab_size:,} × {tied.hidden_size:,} = **{saved:,}** parameters, "
        f"**{saved / untied.total:.1%}** of the untied model; always less than half, since the layers "
        f"({numbers.short(counts.encoder)} here) are not tied. transformers 5 "
        f"counts {tied.vocab_size:,} more for an untied model: a second output bias, which nothing reads."
    )
    frame = pd.DataFrame(
        {"part": counts.named().keys(), "tied": counts.named().values(), "untied": untied.named().values()}
    )
    number = st.column_config.NumberColumn(format="localized")
    st.dataframe(frame, hide_index=True, column_config={"tied": number, "untied": number})


@st.cache_data(max_entries=200, show_spinner=False)
def _count(config: BERTConfig) -> ParameterCounts:
    return count_parameters(config)


def _take(place: int, key: str) -> None:
    sizes = list(state.get("sizes"))
    sizes[place] = st.session_state[key]
    state.put(sizes=tuple(sizes))


__all__ = ["PRESETS", "draw"]
