"""The view of the Token loss page on a minimal pair: which sentence the model prefers, and which words decide."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from bertviz_lite.analysis import Aligned, Metric, PairScores, require_numbers
from bertviz_lite.bundled import MINIMAL_PAIRS, MinimalPair
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.errors import TextError
from bertviz_lite.figures import scoring as figures
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui import charts, compute, numbers, state
from bertviz_lite.ui.loss import metrics
from bertviz_lite.ui.loss import sentence as loss_view

_OWN = "your own"


def draw(checkpoint: Checkpoint) -> None:
    """Two sentences, the verdict, the words that decide; then the presets all at once."""
    rule = _presets()
    left, right = st.columns(2, gap="large")
    with left:
        st.text_input("First sentence", **state.keyed("pair_a"))
    with right:
        st.text_input("Second sentence", **state.keyed("pair_b"))
    a, b = (checkpoint.tokenizer.encode(state.get(name)) for name in ("pair_a", "pair_b"))
    picture, controls = st.columns([3, 1], gap="large")
    with controls:
        if rule:
            st.markdown(f"*{rule}*")
        metric = metrics.pick()
        st.radio("Unit", ["nats", "bits"], horizontal=True, **state.keyed("unit"))
    with picture:
        if not (a.text.strip() and b.text.strip()):
            raise TextError("Write two sentences, or choose a contrast.")
        found = compute.pair(checkpoint, a, b, metric)
        require_numbers(found.a.loss_nats)
        require_numbers(found.b.loss_nats)
        st.markdown(verdict(found))
        most = figures.top([*found.a.loss_nats.tolist(), *found.b.loss_nats.tolist()])  # one scale for both
        loss_view.plain_row(checkpoint, a, found.a, most, "chips")
        loss_view.plain_row(checkpoint, b, found.b, most, "chips_b")
        _bars(a, b, found)
    _all_presets(checkpoint, metric)


def verdict(found: PairScores) -> str:
    """Which sentence is preferred, by how much, and what decides."""
    unit, difference = state.get("unit"), found.difference_nats
    first, second = (f"{metrics.in_unit(scores.sum_nats):.2f}" for scores in (found.a, found.b))
    if abs(difference) < 1e-3:
        return f"The model prefers neither: both cost **{first}** {unit}."
    named = "first" if difference > 0 else "second"
    times = numbers.times(math.exp(min(abs(difference), 700.0)))
    uneven = len(found.a.ids) != len(found.b.ids)
    caution = " One has more tokens, and every token costs: compare with care." if uneven else ""
    return (
        f"The model prefers the **{named}** sentence: it costs {first if difference > 0 else second} {unit}, the other "
        f"{second if difference > 0 else first}. By this score it is **{times} times** as likely." + caution
    )


def _presets() -> str:
    """The contrasts that ship; the rule of the one on show, nothing of one's own."""
    own = (state.get("pair_a"), state.get("pair_b"))
    rules = {pair.label: pair.rule for pair in MINIMAL_PAIRS if (pair.good, pair.bad) == own}
    chosen = next(iter(rules), _OWN)
    labels = [*(pair.label for pair in MINIMAL_PAIRS), *([_OWN] if chosen == _OWN else [])]
    st.session_state["contrast"] = chosen
    st.pills("A contrast", labels, key="contrast", on_change=_use, required=True, label_visibility="collapsed")
    return rules.get(chosen, "")


def _use() -> None:
    for pair in MINIMAL_PAIRS:
        if pair.label == st.session_state["contrast"]:
            state.put(pair_a=pair.good, pair_b=pair.bad)


def _bars(a: Encoding, b: Encoding, found: PairScores) -> None:
    unit = state.get("unit")
    st.markdown(f"Loss in the second less loss in the first ({unit}): **above 0 a word speaks for the first**")
    labels = [_label(a, b, part) for part in found.parts]
    tips = [
        f"{metrics.in_unit(part.loss_a_nats):.2f} {unit} in the first; {metrics.in_unit(part.loss_b_nats):.2f} "
        f"{unit} in the second"
        for part in found.parts
    ]
    differences = [metrics.in_unit(part.difference_nats) for part in found.parts]
    charts.chart(figures.differences(labels, differences, tips, unit=unit, dark=charts.is_dark()), "pair_bars")


def _label(a: Encoding, b: Encoding, part: Aligned) -> str:
    first, second = (
        " ".join(e.word_text(word) for word in words) for e, words in ((a, part.words_a), (b, part.words_b))
    )
    return first if part.same else f"{first or '–'} / {second or '–'}"


def _all_presets(checkpoint: Checkpoint, metric: Metric) -> None:
    """How the model does on every contrast that ships."""
    found = [(pair, _scored(checkpoint, pair, metric)) for pair in MINIMAL_PAIRS]
    right = sum(scores.difference_nats > 0 for _, scores in found)
    st.markdown(f"**All contrasts**: the model prefers the good sentence in **{right} of {len(found)}**.")
    unit = f"difference ({state.get('unit')})"
    frame = pd.DataFrame(
        [
            {
                "contrast": pair.label,
                unit: metrics.in_unit(scores.difference_nats),
                "prefers": "good" if scores.difference_nats > 0 else "bad",
                "good": pair.good,
                "bad": pair.bad,
            }
            for pair, scores in found
        ]
    )
    st.dataframe(
        frame, hide_index=True, height="content", column_config={unit: st.column_config.NumberColumn(format="%.2f")}
    )


def _scored(checkpoint: Checkpoint, pair: MinimalPair, metric: Metric) -> PairScores:
    good, bad = (checkpoint.tokenizer.encode(text) for text in (pair.good, pair.bad))
    return compute.pair(checkpoint, good, bad, metric)


__all__ = ["draw", "verdict"]
