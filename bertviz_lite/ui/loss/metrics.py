"""The metrics of the Token loss page by name, what each asks, and the numbers of a text under one of them."""

from __future__ import annotations

from typing import Any, cast

import streamlit as st

from bertviz_lite.analysis import METRICS, Metric, Totals
from bertviz_lite.ui import numbers, state

LABELLED = "labelled"
NAMES = {
    "pll": "Each token masked in turn",
    "word_l2r": "… and the rest of its word",
    "whole_word": "… and all of its word",
    "l2r": "… and all to its right",
    "unmasked": "One unmasked pass",
    LABELLED: "What you masked, at once",
}
EXPLAINED = {
    "pll": "**pll**: one pass per token; that token alone is hidden. The sum is the negative pseudo-log-likelihood.",
    "word_l2r": "**word_l2r**: the later pieces of the token's word are hidden with it, so that they cannot give it "
    "away. The fairest score where words have many pieces.",
    "whole_word": "**whole_word**: a token is asked for with its whole word hidden.",
    "l2r": "**l2r**: everything to the right is hidden, as for a model that reads from left to right.",
    "unmasked": "**unmasked**: one pass, nothing hidden: the model sees every answer and mostly copies it. Much lower, "
    "and not a score of the sentence.",
    LABELLED: "**labelled**: the loss of pre-training: the words that you click are hidden all at once and asked "
    "for; the mean over them is the loss.",
}


def pick(*, labelled: bool = False) -> Metric:
    """The metric chosen; `labelled` offers the loss of pre-training too, which only a sentence with masks has."""
    offered: list[str] = [*METRICS, *([LABELLED] if labelled else [])]
    chosen = state.get("measure") if state.get("measure") in offered else METRICS[0]
    st.selectbox(
        "Hidden when a token is asked for",
        offered,
        format_func=lambda name: NAMES[name],
        **state.keyed("measure", showing=chosen),
    )
    st.caption(EXPLAINED[chosen])
    return cast(Metric, chosen)


def in_unit(nats: float) -> float:
    """A loss in the unit that the visitor chose."""
    return nats / numbers.NATS_PER_BIT if state.get("unit") == "bits" else nats


def row(sums: Totals) -> dict[str, float]:
    """The numbers of a text, or of many, by name."""
    unit = state.get("unit")
    return {
        f"sum ({unit})": in_unit(sums.sum_nats),
        f"mean ({unit})": in_unit(sums.mean_nats),
        f"per word ({unit})": in_unit(sums.nats_per_word),
        "perplexity": sums.perplexity,
        "per word": sums.word_perplexity,
        "bits per character": sums.bits_per_character,
    }


def columns() -> dict[str, Any]:
    """How a table shows the numbers of `row`: perplexities grow too large for two decimals."""
    precise, rough = (st.column_config.NumberColumn(format=digits) for digits in ("%.2f", "%.4g"))
    return {name: rough if name in ("perplexity", "per word") else precise for name in row(Totals())}


__all__ = ["EXPLAINED", "LABELLED", "NAMES", "columns", "in_unit", "pick", "row"]
