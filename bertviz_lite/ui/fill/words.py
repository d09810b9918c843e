"""A view of "Fill the mask": the visitor's own words at one masked place, each scored whole."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_lite.analysis import Candidates, Window, slots
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.figures import predictions as figures
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui import charts, compute, numbers, sight, state
from bertviz_lite.ui.fill import tables as fill_tables
from bertviz_lite.ui.wording import plain

_MOST_BARS = 14
_WHOLE = (
    "The place is widened to as many masks as the word has pieces. The score is the joint log-probability from left to "
    "right: the sum of ln p of each piece, the earlier pieces put in and the later ones masked. The number of masks "
    "tells the model how long the word is, so words of one length compare best."
)


def draw(checkpoint: Checkpoint, whole: Encoding, seen: Window) -> None:
    """The visitor's own words at one masked place, scored whole."""
    pictures, controls = st.columns([3, 2], gap="large")
    with controls:
        st.text_area(
            "Your words or phrases, with commas between them or one a line",
            max_chars=state.MOST_CHARACTERS,
            height=110,
            **state.keyed("words"),
        )
        sight.pick_slot(whole, "In place of")
    words = sight.own_words()
    with pictures:
        if not words:
            st.info("Write some words, on the right, to put in the place of the mask.")
            return
        slot = seen.slot_at(slots(whole)[sight.slot(whole)][0])
        found = compute.candidates(checkpoint, seen.encoding, words, slot, compute.Choice())
        order = [i for i in found.order.tolist() if not found.unknown[i]]
        with controls:
            _unknown(found)
        if not order:
            return
        st.markdown(_preferred(found, order), help=_WHOLE)
        top = order[:_MOST_BARS]
        spelled = [[checkpoint.tokenizer.piece(p) for p in found.ids[i] if p >= 0] for i in top]
        losses = [(-found.log_probs[i, : len(own)]).tolist() for i, own in zip(top, spelled, strict=True)]
        charts.chart(figures.costs([found.words[i] for i in top], spelled, losses, dark=charts.is_dark()), "costs")
    with controls:
        fill_tables.fold(fill_tables.candidate_table(checkpoint, found), "candidates")


def _preferred(found: Candidates, order: list[int]) -> str:
    best, *others = order
    likeliest = plain(found.words[best])
    prob = numbers.probability(float(np.exp(found.joint_log_probs[best])))
    if not others:
        return f"**{likeliest}** has joint probability {prob}."
    times = numbers.times(np.exp(found.joint_log_probs[best] - found.joint_log_probs[others[0]]))
    shown = f" The {_MOST_BARS} likeliest of {len(order):,} are drawn." if len(order) > _MOST_BARS else ""
    return (
        f"**{likeliest}** is the likeliest (probability {prob}), {times} times as likely as "
        f"**{plain(found.words[others[0]])}**. Each bar is −ln p, piece by piece: the shorter, the likelier.{shown}"
    )


def _unknown(found: Candidates) -> None:
    if found.unknown.any():
        named = [f"“{plain(found.words[i])}”" for i in np.flatnonzero(found.unknown).tolist()]
        more = f" and {len(named) - 5:,} more" if len(named) > 5 else ""
        st.warning(f"The vocabulary spells {', '.join(named[:5])}{more} with [UNK]; what it cannot spell has no score.")


__all__ = ["draw"]
