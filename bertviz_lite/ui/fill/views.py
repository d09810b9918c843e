"""Two views of "Fill the mask": each mask alone, and all masks together."""

from __future__ import annotations

from contextlib import suppress
from typing import cast

import numpy as np
import streamlit as st

from bertviz_lite.analysis import (
    STRATEGIES,
    Candidates,
    Case,
    Filling,
    MaskPredictions,
    Window,
    require_numbers,
    slots,
)
from bertviz_lite.bundled import EXAMPLES
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.errors import TextError
from bertviz_lite.figures import predictions as figures
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui import charts, compute, numbers, sight, state
from bertviz_lite.ui.fill import tables as fill_tables
from bertviz_lite.ui.switch import switch
from bertviz_lite.ui.wording import plain

_MOST_PICTURES = 6  # more masks than this are chosen from, not all drawn
_MOST_MASKS = 12  # more are filled together only on request: it takes a pass a mask and beam
_MOST_BARS = 14
_EXAMPLE, _EXAMPLE_BEAMS = "A country", 8
_JOINT = (
    "The joint log-probability of a filling is the sum of ln p of each piece, given the text and the pieces put in "
    "before it. **Independent**: each mask takes its own best, and these are then put in from left to right to be "
    "scored. **Left to right** and **best first** fill one mask after another; **beam search** follows several "
    "beginnings from left to right. Another order gives another sum: the model has no probability of a whole text."
)
_CASES: dict[str, str] = {"any": "Any case", "lower": "lower", "capital": "Capital"}


def each(checkpoint: Checkpoint, whole: Encoding, seen: Window) -> None:
    """Every mask alone: its likeliest pieces, and any word that is asked for."""
    encoding = seen.encoding
    pictures, controls = st.columns([3, 2], gap="large")
    with controls:
        st.slider("Predictions per mask", 1, 100, **state.keyed("k"))
        choice = _choice(checkpoint)
        _any_word(checkpoint, encoding, choice)
    found = compute.predictions(checkpoint, encoding, state.get("k"), choice)
    require_numbers(found.probs)
    with pictures:
        _pictures(checkpoint, encoding, found)
    with controls:
        fill_tables.fold(fill_tables.prediction_table(checkpoint, found), "predictions")


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
        st.markdown(_contradiction(checkpoint, encoding, found["independent"], found["beam"]), help=_JOINT)
        if n == 1:
            _for_example(checkpoint, choice)
        beam = found["beam"]
        shown = [fill_tables.joined(checkpoint, encoding, row) for row in beam.ids[:_MOST_BARS]]
        probs = np.exp(beam.joint_log_probs[:_MOST_BARS]).tolist()
        typed = np.array([encoding.typed_ids[m] for m in encoding.mask_positions])
        original = fill_tables.joined(checkpoint, encoding, typed)
        figure = figures.bars(shown, probs, what="joint probability", original=original, dark=charts.is_dark())
        charts.chart(figure, "sequences")
        if len(beam.ids) > _MOST_BARS:
            st.caption(f"The {_MOST_BARS} likeliest of {len(beam.ids)} are drawn.")
    with controls:
        st.dataframe(fill_tables.strategy_table(checkpoint, encoding, found), hide_index=True)
        st.caption("The same words in another order of filling have another sum; see the ? on the left.")
        fill_tables.fold(fill_tables.sequence_table(checkpoint, encoding, beam), "sequences")


def _choice(checkpoint: Checkpoint) -> compute.Choice:
    """The filters, each a switch."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.toggle("Whole words only", help="No ## pieces where a mask begins a word", **state.keyed("whole"))
        st.toggle("Special tokens", help="Let [UNK], [CLS] and their like compete too", **state.keyed("special"))
    if not checkpoint.tokenizer.is_cased:
        return compute.Choice(state.get("special"), state.get("whole"))
    case = cast(Case, switch("Letters", _CASES, "case"))
    return compute.Choice(state.get("special"), state.get("whole"), case)


def _any_word(checkpoint: Checkpoint, encoding: Encoding, choice: compute.Choice) -> None:
    """Rank and probability of a word that is asked for, at every masked place."""
    st.text_input("Ask for any word", placeholder="its rank and probability", **state.keyed("word"))
    word: str = state.get("word").strip()
    if not word:
        return
    places = slots(encoding)
    try:
        for slot, positions in enumerate(places[:_MOST_PICTURES]):
            found = compute.candidates(checkpoint, encoding, (word,), slot, choice)
            where = f"{plain(sight.place_name(encoding, positions))}: " if len(places) > 1 else ""
            st.markdown(where + _standing(checkpoint, found))
    except TextError as error:  # the word's fault: the pictures stay
        st.warning(plain(error))


def _standing(checkpoint: Checkpoint, found: Candidates) -> str:
    word, joint = found.words[0], float(found.joint_log_probs[0])
    if found.unknown[0]:
        return f"The vocabulary cannot spell “{plain(word)}”: a part of it is [UNK]."
    prob = numbers.probability(float(np.exp(joint)))
    n = int(found.n_pieces[0])
    if n == 1:
        return f"**{plain(word)}** has **rank {found.ranks[0, 0]:,}**, probability **{prob}**."
    spelled = plain(" ".join(checkpoint.tokenizer.piece(p) for p in found.ids[0].tolist()))
    return f"**{plain(word)}** is {n} pieces, {spelled}: joint probability **{prob}**, ln p {numbers.nats(joint)}."


def _pictures(checkpoint: Checkpoint, encoding: Encoding, found: MaskPredictions) -> None:
    """A picture per mask, two abreast."""
    masks = list(range(len(found.positions)))
    if len(masks) > _MOST_PICTURES:
        chosen = st.selectbox(
            f"{len(masks)} masks: show", masks, format_func=lambda m: f"mask {m + 1}, {_mask_name(encoding, found, m)}"
        )
        masks = [chosen]
    for first in range(0, len(masks), 2):  # a row at a time, so that a phone shows them in order
        for column, mask in zip(st.columns(min(len(masks), 2)), masks[first : first + 2], strict=False):
            with column:
                _picture(checkpoint, found, mask)


def _picture(checkpoint: Checkpoint, found: MaskPredictions, mask: int) -> None:
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
    perplexity = float(found.perplexity[mask])
    st.caption(
        f"Entropy {found.entropy_nats[mask]:.2f} nats, perplexity {perplexity:,.1f}: as unsure as between "
        f"{perplexity:,.0f} equally likely pieces."
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
    return f"**{plain(piece)}** stood here: **rank {found.original_ranks[mask]:,}**, probability **{prob}**. {told}"


def _for_example(checkpoint: Checkpoint, choice: compute.Choice) -> None:
    """What two masks can do to each other, on a bundled example."""
    example = next(example for example in EXAMPLES if example.label == _EXAMPLE)
    encoding = checkpoint.tokenizer.encode(example.text).masked(example.masked, checkpoint.tokenizer.mask_token)
    with suppress(TextError):  # another vocabulary may read nothing there
        alone, beam = (
            compute.filling(checkpoint, encoding, name, _EXAMPLE_BEAMS, choice) for name in ("independent", "beam")
        )
        shown = plain(" ".join(encoding.pieces[1:-1]))
        st.info(f"Two masks can, as in **{shown}** ({_EXAMPLE}). {_contradiction(checkpoint, encoding, alone, beam)}")


def _contradiction(checkpoint: Checkpoint, encoding: Encoding, alone: Filling, beam: Filling) -> str:
    """Whether filling the masks alone contradicts itself here."""
    said, best = (plain(fill_tables.joined(checkpoint, encoding, filling.ids[0])) for filling in (alone, beam))
    if len(alone.positions) == 1:
        return f"One mask, so nothing can contradict: **{best}** whichever way. Mask a second word."
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


__all__ = ["each", "together"]
