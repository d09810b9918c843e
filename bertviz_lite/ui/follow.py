"""Pickers of one token and one word to follow through the network; the page chooses until the visitor does."""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui import state
from bertviz_lite.ui.wording import plain


def pick_position(encoding: Encoding) -> int:
    """The token that is followed: the visitor's choice, else the first mask, else the first word."""
    asked = state.get("at")
    first = encoding.mask_positions[0] if encoding.mask_positions else min(1, len(encoding) - 1)
    position = first if asked == state.CHOSEN or asked >= len(encoding) else asked
    names = {i: f"{piece} (token {i})" for i, piece in enumerate(encoding.pieces)}
    st.selectbox("Follow", list(names), format_func=lambda i: names[i], **state.keyed("at", showing=position))
    return position


def pick_word(checkpoint: Checkpoint, encoding: Encoding, position: int, logits: NDArray[np.float32]) -> int:
    """The word whose logit is worked out: the visitor's choice, else what stood there, else the first choice."""
    tokenizer = checkpoint.tokenizer
    best = [i for i in logits.argsort()[::-1].tolist() if i not in checkpoint.excluded_ids][:50]
    typed = encoding.typed_ids[position]
    default = typed if typed != encoding.mask_id else best[0]
    asked = tokenizer.id(state.get("piece"))
    chosen = default if asked is None or asked >= len(logits) else asked
    options = [tokenizer.pieces[i] for i in dict.fromkeys([chosen, default, *best]) if i not in checkpoint.excluded_ids]
    st.selectbox(
        "Word whose logit is worked out below",
        options,
        accept_new_options=True,
        help="Any piece of the vocabulary can be typed",
        **state.keyed("piece", showing=tokenizer.piece(chosen)),
    )
    if state.get("piece") and asked is None:
        st.warning(f"The vocabulary has no piece “{plain(state.get('piece'))}”; a longer word is spelled with several.")
    return chosen


__all__ = ["pick_position", "pick_word"]
