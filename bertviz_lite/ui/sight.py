"""What the model reads of a text, the masked place in question, and the visitor's own words for it."""

from __future__ import annotations

import re
from contextlib import suppress

import streamlit as st

from bertviz_lite.analysis import Window, slots, spelling, window
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.errors import TextError
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui import state


def in_sight(checkpoint: Checkpoint, whole: Encoding) -> Window:
    """What the model reads of a text: all of it, or what fits around the masked place in question."""
    places = slots(whole)
    limit = checkpoint.config.max_position_embeddings
    if not places:
        return window(whole, limit)
    place = places[slot(whole)]
    wider = _longest(checkpoint) - len(place)
    return window(whole, limit, at=place[0], room=min(max(wider, 0), limit // 2))


def tell_window(whole: Encoding, seen: Window) -> None:
    """Say what is out of sight, where something is; let the visitor look elsewhere."""
    if seen.is_whole:
        return
    masks = len(slots(whole)) - len(slots(seen.encoding))
    told, elsewhere = st.columns([3, 1], gap="large", vertical_alignment="center")
    told.info(
        f"The text has {seen.n_tokens:,} tokens. The model reads those from {seen.kept[1]:,} to {seen.kept[-2]:,}, as "
        "many as it can at once; what is faint above is out of its sight"
        + (f", {masks} masked place{'s' * (masks > 1)} among it." if masks else ".")
    )
    if masks and state.get("ask") != "words":  # which asks for the place itself
        with elsewhere:
            pick_slot(whole, "Read around")


def own_words() -> tuple[str, ...]:
    """The visitor's list, without blanks and repeats."""
    return tuple(dict.fromkeys(word for part in re.split(r"[,\n]", state.get("words")) if (word := part.strip())))


def slot(whole: Encoding) -> int:
    """The masked place in question, the last one where the setting is beyond."""
    asked: int = state.get("slot")
    return min(asked, len(slots(whole)) - 1)


def mask_number(whole: Encoding) -> int:
    """Which of the masks the place in question begins with, counted from 0."""
    return whole.mask_positions.index(slots(whole)[slot(whole)][0])


def pick_slot(whole: Encoding, label: str) -> None:
    """Let the visitor choose among several masked places."""
    places = slots(whole)
    if len(places) < 2:
        return
    names = [place_name(whole, positions) for positions in places]
    st.selectbox(
        label, list(range(len(places))), format_func=lambda i: names[i], **state.keyed("slot", showing=slot(whole))
    )


def _longest(checkpoint: Checkpoint) -> int:
    """Pieces of the longest word to put in; what cannot be spelled is told where the words are scored."""
    asked = {"each": (state.get("word"),), "words": own_words()}
    lengths = [0]
    for word in asked.get(state.get("ask"), ()):
        with suppress(TextError):
            lengths.append(len(spelling(checkpoint.tokenizer, word)))
    return max(lengths)


def place_name(whole: Encoding, positions: tuple[int, ...]) -> str:
    """The word that is hidden there, and where."""
    word = whole.word_ids[positions[0]]
    typed = "" if word is None else f"“{whole.word_text(word)}”, "
    return f"{typed}token {positions[0]}"


__all__ = ["in_sight", "mask_number", "own_words", "pick_slot", "place_name", "slot", "tell_window"]
