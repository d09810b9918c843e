"""The views of "Fill the mask" on one sentence: each mask alone, all masks together, the visitor's own words."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_lite.analysis import (
    STRATEGIES,
    Candidates,
    Case,
    Filling,
    MaskPredictions,
    Window,
    is_cased,
    require_numbers,
    slots,
    spelling,
    window,
)
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.figures import predictions as figures
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui import charts, compute, fill_tables, numbers, state

_MOST_PICTURES = 6  # more masks than this are chosen from, not all drawn
_MOST_MASKS = 12  # more are filled together only on request: it takes a pass a mask and beam
_MOST_BARS = 20

_CASES: dict[Case, str] = {"any": "Any case", "lower": "lower", "capital": "Capital"}


def in_sight(checkpoint: Checkpoint, whole: Encoding) -> Window:
    """What the model reads of a text: all of it, or what fits around the masked place in question."""
    places = slots(whole)
    asks_words = state.get("ask") == "words"
    room = 0
    if asks_words and places:
        lengths = [len(spelling(checkpoint.tokenizer, word)) for word in _words()]
        room = max(0, max(lengths, default=0) - len(places[_slot(whole)]))
    at = places[_slot(whole)][0] if places else None
    return window(whole, checkpoint.config.max_position_embeddings, at=at, room=room)


def tell_window(whole: Encoding, seen: Window) -> None:
    """Say what is out of sight, where something is; let the visitor look elsewhere."""
    if seen.is_whole:
        return
    first, last = (i for i in (seen.kept[1], seen.kept[-2]))
    masks = len(slots(whole)) - len(slots(seen.encoding))
    st.info(
        f"The text has {seen.n_tokens:,} tokens; this model reads {len(seen.kept):,} at a time, here tokens {first:,} "
        f"to {last:,} around a mask. What is dotted above is not read."
        + (f" {masks} masked places lie there: choose where to read." if masks else "")
    )
    if masks and state.get("ask") != "words":
        _pick_slot(whole, "Read around")


def each(checkpoint: Checkpoint, whole: Encoding, seen: Window) -> None:
    """Every mask alone: its likeliest pieces, and any word that is asked for."""
    encoding = seen.encoding
    pictures, controls = st.columns([3, 2], gap="large")
    with controls:
        st.slider("Predictions per mask", 1, 100, **state.keyed("k"))
        choice = _choice(checkpoint)
        _any_word(checkpoint, encoding)
    found = compute.predictions(checkpoint, encoding, state.get("k"), choice)
    require_numbers(found.probs)
    with pictures:
        _pictures(checkpoint, encoding, found)
    with controls:
        _numbers(fill_tables.prediction_table(checkpoint, found), "predictions")


def together(checkpoint: Checkpoint, whole: Encoding, seen: Window) -> None:
    """All masks filled by four strategies, and the sequences that the beam search found."""
    encoding = seen.encoding
    n = len(encoding.mask_positions)
    pictures, controls = st.columns([3, 2], gap="large")
    with controls:
        st.slider("Beams", 1, 50, help="How many beginnings the beam search follows", **state.keyed("beams"))
        choice = _choice(checkpoint)
    beams: int = state.get("beams")
    if n > _MOST_MASKS:
        with pictures:
            if not st.toggle(f"Fill {n} masks together: about {n * (beams + 3):,} passes", key="fill_many"):
                return
    with pictures:
        found = {name: compute.filling(checkpoint, encoding, name, beams, choice) for name in STRATEGIES}
        st.markdown(_contradiction(checkpoint, encoding, found["independent"], found["beam"]))
        beam = found["beam"]
        shown = [fill_tables.joined(checkpoint, encoding, row) for row in beam.ids[:_MOST_BARS]]
        probs = np.exp(beam.joint_log_probs[:_MOST_BARS]).tolist()
        typed = np.array([encoding.typed_ids[m] for m in encoding.mask_positions])
        original = fill_tables.joined(checkpoint, encoding, typed)
        figure = figures.bars(shown, probs, what="joint probability", original=original, dark=charts.is_dark())
        charts.chart(figure, "sequences")
    with controls:
        st.dataframe(fill_tables.strategy_table(checkpoint, encoding, found), hide_index=True)
        _numbers(fill_tables.sequence_table(checkpoint, encoding, beam), "sequences")


def own_words(checkpoint: Checkpoint, whole: Encoding, seen: Window) -> None:
    """The visitor's own words at one masked place, scored whole."""
    encoding = seen.encoding
    pictures, controls = st.columns([3, 2], gap="large")
    with controls:
        st.text_area(
            "Your words or phrases, with commas between them or one a line",
            max_chars=state.MOST_CHARACTERS,
            height=110,
            **state.keyed("words"),
        )
        _pick_slot(whole, "In place of")
    words = _words()
    with pictures:
        if not words:
            st.info("Write some words, on the right, to put in the place of the mask.")
            return
        place = slots(whole)[_slot(whole)][0]
        slot = [seen.kept[positions[0]] for positions in slots(encoding)].index(place)
        found = compute.candidates(checkpoint, encoding, words, slot)
        _unknown(found)
        order = [i for i in found.order.tolist() if not found.unknown[i]]
        if not order:
            return
        st.markdown(_preferred(found, order))
        top = order[:_MOST_BARS]
        spelled = [[checkpoint.tokenizer.piece(p) for p in found.ids[i] if p >= 0] for i in top]
        losses = [(-found.log_probs[i, : len(own)]).tolist() for i, own in zip(top, spelled, strict=True)]
        charts.chart(figures.costs([found.words[i] for i in top], spelled, losses, dark=charts.is_dark()), "costs")
    with controls:
        _numbers(fill_tables.candidate_table(checkpoint, found), "candidates")


def _choice(checkpoint: Checkpoint) -> compute.Choice:
    """The filters, each a switch."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.toggle("Whole words only", help="No ## pieces where a mask begins a word", **state.keyed("whole"))
        st.toggle("Special tokens", help="Let [UNK], [CLS] and their like compete too", **state.keyed("special"))
    if not is_cased(checkpoint.tokenizer):
        return compute.Choice(state.get("special"), state.get("whole"))
    st.segmented_control(
        "Letters", list(_CASES), format_func=lambda case: _CASES[case], required=True, label_visibility="collapsed",
        **state.keyed("case"),
    )  # fmt: skip
    return compute.Choice(state.get("special"), state.get("whole"), state.get("case"))


def _any_word(checkpoint: Checkpoint, encoding: Encoding) -> None:
    """Rank and probability of a word that is asked for, at every masked place."""
    st.text_input("Ask for any word", placeholder="its rank and probability", **state.keyed("word"))
    word: str = state.get("word").strip()
    if not word:
        return
    places = slots(encoding)
    for slot in range(min(len(places), _MOST_PICTURES)):
        found = compute.candidates(checkpoint, encoding, (word,), slot)
        where = f"Mask {slot + 1}: " if len(places) > 1 else ""
        st.markdown(where + _standing(checkpoint, found))


def _standing(checkpoint: Checkpoint, found: Candidates) -> str:
    word, joint = found.words[0], float(found.joint_log_probs[0])
    if found.unknown[0]:
        return f"the vocabulary cannot spell “{word}”: a part of it is [UNK]."
    prob = numbers.probability(float(np.exp(joint)))
    n = int(found.n_pieces[0])
    if n == 1:
        return f"**{word}** has **rank {found.ranks[0, 0]:,}**, probability **{prob}**."
    spelled = " ".join(f"`{checkpoint.tokenizer.piece(p)}`" for p in found.ids[0].tolist())
    return f"**{word}** is {n} pieces, {spelled}: joint probability **{prob}**, ln p {numbers.nats(joint)}."


def _pictures(checkpoint: Checkpoint, encoding: Encoding, found: MaskPredictions) -> None:
    """A picture per mask, two abreast."""
    masks = list(range(len(found.positions)))
    if len(masks) > _MOST_PICTURES:
        chosen = st.selectbox(
            f"{len(masks)} masks: show", masks, format_func=lambda m: f"mask {m + 1}, {_mask_name(encoding, found, m)}"
        )
        masks = [chosen]
    columns = st.columns(min(len(masks), 2))
    for place, mask in enumerate(masks):
        with columns[place % len(columns)]:
            st.markdown(_summary(checkpoint, found, mask))
            pieces = [checkpoint.tokenizer.piece(int(i)) for i in found.ids[mask]]
            original = int(found.original_ids[mask])
            figure = figures.bars(
                pieces,
                found.probs[mask].tolist(),
                original=checkpoint.tokenizer.piece(original) if original >= 0 else None,
                dark=charts.is_dark(),
            )
            charts.chart(figure, f"bars_{mask}")
            st.caption(
                f"Entropy {found.entropy_nats[mask]:.2f} nats, perplexity {found.perplexity[mask]:,.1f}: as unsure as "
                f"between {found.perplexity[mask]:,.0f} equally likely pieces."
            )


def _mask_name(encoding: Encoding, found: MaskPredictions, mask: int) -> str:
    word = encoding.word_ids[int(found.positions[mask])]
    return f"token {found.positions[mask]}" if word is None else f"“{encoding.word_text(word)}”"


def _summary(checkpoint: Checkpoint, found: MaskPredictions, mask: int) -> str:
    """How the masked word itself fared, and how much of the belief is on show."""
    k, share = found.ids.shape[1], numbers.probability(float(found.covered_probs[mask]))
    told = f"The {k} shown have {share} of the probability together." if k > 1 else f"The one shown has {share}."
    if found.original_ids[mask] < 0:
        return f"**Mask {mask + 1}.** {told}"
    piece = checkpoint.tokenizer.piece(int(found.original_ids[mask]))
    prob = numbers.probability(float(found.original_probs[mask]))
    return f"**{piece}** stood here: **rank {found.original_ranks[mask]:,}**, probability **{prob}**. {told}"


def _contradiction(checkpoint: Checkpoint, encoding: Encoding, alone: Filling, beam: Filling) -> str:
    """Whether filling the masks alone contradicts itself here."""
    said, best = (fill_tables.joined(checkpoint, encoding, filling.ids[0]) for filling in (alone, beam))
    if len(alone.positions) == 1:
        return (
            f"One mask, so nothing can contradict: **{best}** whichever way. Mask a second word, or press **A city** "
            "above."
        )
    if said == best:
        return f"Here the masks agree: alone and together they say **{best}**."
    gain = float(beam.joint_log_probs[0] - alone.joint_log_probs[0])
    a, b = (numbers.nats(float(filling.joint_log_probs[0])) for filling in (alone, beam))
    if gain <= 0:
        return f"Each alone, the masks say **{said}** (joint ln p {a}); the beam ends at **{best}** ({b})."
    return (
        f"Each alone, the masks say **{said}** (joint ln p {a}): guesses that do not know of each other. "
        f"Together, **{best}** ({b}) is **{numbers.times(np.exp(gain))} times** likelier."
    )


def _preferred(found: Candidates, order: list[int]) -> str:
    best = order[0]
    prob = numbers.probability(float(np.exp(found.joint_log_probs[best])))
    if len(order) == 1:
        return f"**{found.words[best]}** has joint probability {prob}."
    times = numbers.times(np.exp(found.joint_log_probs[best] - found.joint_log_probs[order[1]]))
    shown = f" The {_MOST_BARS} likeliest of {len(order):,} are drawn." if len(order) > _MOST_BARS else ""
    return (
        f"**{found.words[best]}** is the likeliest (probability {prob}), {times} times as likely as "
        f"**{found.words[order[1]]}**. Each bar is −ln p, piece by piece: the shorter, the likelier.{shown}"
    )


def _unknown(found: Candidates) -> None:
    if found.unknown.any():
        named = [f"“{found.words[i]}”" for i in np.flatnonzero(found.unknown).tolist()]
        more = f" and {len(named) - 5:,} more" if len(named) > 5 else ""
        st.warning(f"The vocabulary spells {', '.join(named[:5])}{more} with [UNK]; what it cannot spell has no score.")


def _words() -> tuple[str, ...]:
    """The visitor's list, without blanks and repeats."""
    return tuple(dict.fromkeys(word for part in re.split(r"[,\n]", state.get("words")) if (word := part.strip())))


def _slot(whole: Encoding) -> int:
    """The masked place in question, the last one where the setting is beyond."""
    asked: int = state.get("slot")
    return min(asked, len(slots(whole)) - 1)


def _pick_slot(whole: Encoding, label: str) -> None:
    places = slots(whole)
    if len(places) < 2:
        return
    names = [_place_name(whole, positions) for positions in places]
    st.selectbox(
        label, list(range(len(places))), format_func=lambda i: names[i], **state.keyed("slot", showing=_slot(whole))
    )


def _place_name(whole: Encoding, positions: tuple[int, ...]) -> str:
    word = whole.word_ids[positions[0]]
    typed = "" if word is None else f"“{whole.word_text(word)}”, "
    return f"{typed}token {positions[0]}"


def _numbers(frame: pd.DataFrame, name: str) -> None:
    """A table behind a fold, with a download."""
    with st.expander("All numbers"):
        st.dataframe(frame, hide_index=True, height=min(38 + 35 * len(frame), 420))
        st.download_button("Download as CSV", frame.to_csv(index=False), f"{name}.csv", "text/csv")


__all__ = [
    "each",
    "in_sight",
    "own_words",
    "tell_window",
    "together",
]
