"""The sentence: its box with examples, and the row of chips that looks the same on every page."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher

import streamlit as st

from bertviz_lite.analysis import require_fits
from bertviz_lite.bundled import EXAMPLES, Example
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.figures import chips, palette
from bertviz_lite.tokenizer import Encoding, Tokenizer
from bertviz_lite.ui import charts, shelf, state

_chips_view = st.components.v2.component("bertviz_lite_chips", html=chips.HTML, css=chips.CSS, js=chips.JS)


def box(checkpoint: Checkpoint) -> Encoding:
    """Draw the box and the examples; return the text as the model in use reads it, masked words hidden.

    Raises:
        TextError: the text is longer than the model reads.
    """
    tokenizer = checkpoint.tokenizer
    st.text_area(
        "Sentence: type, then press Ctrl+Enter or click elsewhere",
        max_chars=state.MOST_CHARACTERS,
        height=68,
        placeholder="Type a sentence, or press an example",
        **{**state.keyed("text"), "on_change": _text_changed},
    )
    with st.container(horizontal=True, key="examples", gap="small", vertical_alignment="center"):
        st.markdown("Examples", width="content")
        for example in EXAMPLES:
            st.button(
                example.label,
                key=f"example_{example.label}",
                help=example.text,
                on_click=_use_example,
                args=(example,),
            )
    text: str = state.get("text")
    if (meant := tokenizer.with_mask_token(text)) != text:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                f"Did you mean the mask token? The model knows it as `{tokenizer.mask_token}`.", width="content"
            )
            st.button(
                f"Replace with {tokenizer.mask_token}", key="write_mask", on_click=_set_text, args=(tokenizer, meant)
            )
    encoding = tokenizer.encode(text).masked(state.get("mask"), tokenizer.mask_token)
    require_fits(checkpoint.model, encoding)
    return encoding


def row(
    encoding: Encoding,
    *,
    scale: palette.Scale | None = None,
    strengths: Mapping[int, float] | None = None,
    tips: Mapping[int, str] | None = None,
    clickable: bool = False,
) -> None:
    """Draw the chips of an encoding.

    Args:
        scale, strengths: colour the tokens at these positions, strength 0 to 1.
        tips: what hovering a position tells beside its piece.
        clickable: whether a click masks a word or shows it again.
    """
    pieces = [_piece(encoding, i, (tips or {}).get(i, "")) for i in range(len(encoding))]
    _chips_view(
        key="chips",
        data=chips.chips(pieces, scale=scale, strengths=strengths, clickable=clickable, dark=charts.is_dark()),
        on_word_change=_toggle_word,
        on_dark_change=lambda: None,
    )


def carried_masks(old: Encoding, new: Encoding, masked: tuple[int, ...]) -> tuple[int, ...]:
    """Numbers of the masked words after an edit: a mask stays on its word while the word itself stays."""
    if not masked:
        return ()  # matching two long texts takes seconds
    matcher = SequenceMatcher(
        a=[old.word_text(w) for w in range(old.n_words)],
        b=[new.word_text(w) for w in range(new.n_words)],
        autojunk=False,
    )
    moved = {block.a + i: block.b + i for block in matcher.get_matching_blocks() for i in range(block.size)}
    return tuple(sorted(moved[w] for w in masked if w in moved))


def _piece(encoding: Encoding, i: int, tip: str) -> chips.Piece:
    word, piece = encoding.word_ids[i], encoding.pieces[i]
    continues = i > 0 and word is not None and word == encoding.word_ids[i - 1]
    typed_mask = encoding.typed_ids[i] == encoding.mask_id
    hidden = "" if word is None else encoding.word_text(word)
    masked = encoding.ids[i] == encoding.mask_id
    told = f"“{hidden}” is masked" if masked and not typed_mask else f"{piece} · id {encoding.ids[i]} · token {i}"
    return chips.Piece(
        text=piece.removeprefix("##") if continues else piece,
        tip="\n".join(filter(None, (told, tip))),
        word=word,
        masked=masked,
        hidden=hidden,
        fixed=typed_mask,
    )


def _toggle_word() -> None:
    word = st.session_state["chips"].word
    if word is not None:
        state.put(mask=tuple(sorted({int(word)} ^ set(state.get("mask")))))


def _text_changed() -> None:
    _set_text(shelf.current().tokenizer, st.session_state["widget_text"])


def _set_text(tokenizer: Tokenizer, text: str) -> None:
    old, new = tokenizer.encode(state.get("text")), tokenizer.encode(text)
    state.put(text=text, mask=carried_masks(old, new, state.get("mask")))


def _use_example(example: Example) -> None:
    state.put(text=example.text, mask=example.masked)


__all__ = ["box", "carried_masks", "row"]
