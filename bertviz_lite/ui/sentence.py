"""The sentence: its box with examples, and the row of chips that looks the same on every page."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

import streamlit as st

from bertviz_lite.analysis import require_fits
from bertviz_lite.bundled import EXAMPLES, Example
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.figures import chips, palette
from bertviz_lite.tokenizer import Encoding, Tokenizer
from bertviz_lite.ui import charts, shelf, state

_LABEL = "Sentence: type, then press Ctrl+Enter or click elsewhere"

_chips_view = st.components.v2.component("bertviz_lite_chips", html=chips.HTML, css=chips.CSS, js=chips.JS)


def box(
    checkpoint: Checkpoint,
    *,
    may_be_longer: bool = False,
    pair: bool = False,
    examples: Sequence[Example] = EXAMPLES,
) -> Encoding:
    """Draw the box and the examples; return the text as the model in use reads it, masked words hidden.

    Args:
        may_be_longer: the page itself cuts a text that is longer than the model reads.
        pair: beside it stands a box for a second sentence, which the model reads after the first where there is one.
        examples: what stands on the buttons.

    Raises:
        TextError: the text is longer than the model reads.
    """
    if pair:
        left, right = st.columns([3, 2])
        with left:
            _area(_LABEL, "text", "mask")
        with right:
            _area("Second sentence, if the model shall read two", "text_b", "mask", "Optional", pair="text")
    else:
        _area(_LABEL, "text", "mask")
    with st.container(horizontal=True, key="examples", gap="small", vertical_alignment="center"):
        st.markdown("Examples", width="content")
        for example in examples:
            st.button(
                example.label,
                key=f"example_{example.label}",
                help=example.text,
                on_click=_use_example,
                args=(example,),
            )
    encoding = _encoded(checkpoint.tokenizer, "text", "mask", "text_b" if pair else None)
    if not may_be_longer:
        require_fits(checkpoint.model, encoding)
    return encoding


def begin_with(example: Example) -> None:
    """Put a page's own example where the visitor has chosen no sentence yet; once a visit, before `box`."""
    begun = st.session_state.get("begun", False)
    st.session_state["begun"] = True
    if not begun and "text" not in state.address():
        _use_example(example)
        state.write_address()


def plain_box(checkpoint: Checkpoint, label: str, text: str, mask: str) -> Encoding:
    """Draw a box alone, for one of two sentences; return its text as `box` does.

    Args:
        text, mask: the settings that hold the sentence and its masked words.

    Raises:
        TextError: the text is longer than the model reads.
    """
    _area(label, text, mask)
    encoding = _encoded(checkpoint.tokenizer, text, mask)
    require_fits(checkpoint.model, encoding)
    return encoding


def row(
    encoding: Encoding,
    *,
    scale: palette.Scale | None = None,
    strengths: Mapping[int, float] | None = None,
    tips: Mapping[int, str] | None = None,
    clickable: bool = False,
    mask: str = "mask",
    unseen: Collection[int] = (),
    key: str | None = None,
) -> None:
    """Draw the chips of an encoding; a long text scrolls where its colours are not themselves the picture.

    Args:
        scale, strengths: colour the tokens at these positions, strength 0 to 1.
        tips: what hovering a position tells beside its piece.
        clickable: whether a click masks a word or shows it again.
        mask: the setting that holds the masked words.
        unseen: positions that the model does not read, where the text is too long for it.
        key: tells rows on one page apart, where `mask` does not.
    """
    pieces = [replace(_piece(encoding, i, (tips or {}).get(i, "")), unseen=i in unseen) for i in range(len(encoding))]
    key = key or ("chips" if mask == "mask" else f"chips_{mask}")
    _chips_view(
        key=key,
        data=chips.chips(
            pieces,
            scale=scale,
            strengths=strengths,
            clickable=clickable,
            bounded=strengths is None,
            heard=st.session_state.get(f"heard_{key}", 0),
            dark=charts.is_dark(),
        ),
        on_presses_change=lambda: _toggle_words(st.session_state[key].presses or (), mask, f"heard_{key}"),
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
    whole = not continues and (i + 1 == len(encoding) or encoding.word_ids[i + 1] != word)
    if whole and not masked and hidden and piece.lower() != hidden.lower():
        told = f"“{hidden}” is read as {told}"  # an unknown word, say
    return chips.Piece(
        text=piece.removeprefix("##") if continues else piece,
        tip="\n".join(filter(None, (told, tip))),
        word=word,
        masked=masked,
        hidden=hidden,
        fixed=typed_mask,
    )


def _area(
    label: str, text: str, mask: str, placeholder: str = "Type a sentence, or press an example", pair: str | None = None
) -> None:
    """A box for a setting; `pair` is the setting before it where the model reads it as the second of two."""
    keyed = state.keyed(text)
    st.text_area(
        label,
        max_chars=state.MOST_CHARACTERS,
        height=68,
        placeholder=placeholder,
        key=keyed["key"],
        on_change=lambda: _set_text(shelf.current().tokenizer, st.session_state[keyed["key"]], text, mask, pair),
    )


def _encoded(tokenizer: Tokenizer, text: str, mask: str, pair: str | None = None) -> Encoding:
    """The text of a setting, its masked words hidden; other spellings of the mask are offered to be put right."""
    for one, first in ((text, None), (pair, text)):
        if one is not None:
            _offer_mask(tokenizer, one, mask, first)
    second = _second(state.get(pair)) if pair else None
    return tokenizer.encode(state.get(text), second).masked(state.get(mask), tokenizer.mask_token)


def _second(typed: str) -> str | None:
    """The second of a pair; white space alone is none."""
    return typed if typed.strip() else None


def _offer_mask(tokenizer: Tokenizer, text: str, mask: str, first: str | None) -> None:
    typed: str = state.get(text)
    if (meant := tokenizer.with_mask_token(typed)) == typed:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"Did you mean the mask token? The model knows it as `{tokenizer.mask_token}`.", width="content")
        st.button(
            f"Replace with {tokenizer.mask_token}",
            key="write_mask" if text == "text" else f"write_mask_{text}",
            on_click=_set_text,
            args=(tokenizer, meant, text, mask, first),
        )


def _toggle_words(presses: Iterable[Mapping[str, int]], mask: str, heard: str) -> None:
    """Act on the presses that are new; chips.js names each until it has seen that it was heard."""
    for press in presses:
        if press["n"] > st.session_state.get(heard, 0):
            st.session_state[heard] = press["n"]
            state.put(**{mask: tuple(sorted({int(press["word"])} ^ set(state.get(mask))))})


def _set_text(tokenizer: Tokenizer, typed: str, text: str, mask: str, first: str | None = None) -> None:
    """Change a sentence, or the second of a pair; masks stay on their words."""
    if first is None:
        old, new = tokenizer.encode(state.get(text)), tokenizer.encode(typed)
    else:
        old, new = (tokenizer.encode(state.get(first), _second(second)) for second in (state.get(text), typed))
    state.put(**{text: typed, mask: carried_masks(old, new, state.get(mask)), "pin": (None, None)})


def _use_example(example: Example) -> None:
    state.put(text=example.text, mask=example.masked, text_b="", pin=(None, None))


__all__ = ["begin_with", "box", "carried_masks", "plain_box", "row"]
