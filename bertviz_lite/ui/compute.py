"""What pages ask of the model, through the gate, each answer kept while memory for answers lasts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
import streamlit as st
from cachetools import LRUCache
from numpy.typing import NDArray

from bertviz_lite.analysis import (
    AttentionMaps,
    MaskPredictions,
    Neighbours,
    Stages,
    TokenScores,
    attention_maps,
    neighbours,
    pseudo_loss,
    row_norms,
    top_k,
    unmasked_loss,
)
from bertviz_lite.analysis import stages as follow_stages
from bertviz_lite.checkpoints import Checkpoint, Comparison, TensorStatistics, compare, tensor_statistics
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui.gate import gate

Answer = TypeVar("Answer")

_ANSWER_BYTES = 256 << 20  # over all visitors; the least recently used go first


def predictions(checkpoint: Checkpoint, encoding: Encoding, k: int, special: bool) -> MaskPredictions:
    """The k likeliest pieces at every mask; `special` lets special tokens in."""
    exclude = _excluded(checkpoint, special)
    return _kept(
        ("predictions", checkpoint.report.digest, encoding, k, special),
        partial(top_k, checkpoint.model, encoding, k, exclude=exclude),
    )


def scores(checkpoint: Checkpoint, encoding: Encoding, measure: str) -> TokenScores:
    """The loss of every token; a progress bar shows while positions are masked in turn."""
    exclude = _excluded(checkpoint, special=False)
    # What is masked on other pages is scored as it was typed: one text, one answer.
    plain = encoding.masked(())
    if measure == "unmasked":
        ask = partial(unmasked_loss, checkpoint.model, plain, exclude=exclude)
    else:
        ask = partial(_pseudo_loss_with_progress, checkpoint, plain, exclude)
    return _kept(("scores", checkpoint.report.digest, plain, measure), ask)


def attention(checkpoint: Checkpoint, encoding: Encoding) -> AttentionMaps:
    """All maps of all heads."""
    return _kept(
        ("attention", checkpoint.report.digest, encoding),
        partial(attention_maps, checkpoint.model, encoding),
    )


def stages(checkpoint: Checkpoint, encoding: Encoding, position: int) -> Stages:
    """The text at every stage, one position's prediction followed."""
    return _kept(
        ("stages", checkpoint.report.digest, encoding, position),
        partial(follow_stages, checkpoint.model, encoding, position),
    )


def statistics(checkpoint: Checkpoint) -> dict[str, TensorStatistics]:
    """Numbers about every tensor, by name."""
    return _kept(
        ("statistics", checkpoint.report.digest),
        lambda: {name: tensor_statistics(tensor) for name, tensor in checkpoint.tensors().items()},
    )


def norms(checkpoint: Checkpoint) -> NDArray[np.float32]:
    """(V,) length of every row of the word embedding."""
    return _kept(("norms", checkpoint.report.digest), partial(row_norms, checkpoint.model))


def near(checkpoint: Checkpoint, token_id: int) -> Neighbours:
    """The nearest rows of the word embedding."""
    return _kept(("near", checkpoint.report.digest, token_id), partial(neighbours, checkpoint.model, token_id, 15))


def comparison(a: Checkpoint, b: Checkpoint) -> Comparison:
    """Two checkpoints, tensor by tensor."""
    return _kept(("comparison", a.report.digest, b.report.digest, a.report.name, b.report.name), partial(compare, a, b))


def _pseudo_loss_with_progress(checkpoint: Checkpoint, encoding: Encoding, exclude: frozenset[int]) -> TokenScores:
    bar = st.empty()

    def progress(done: int, n: int) -> None:
        gate().give_way()
        if done < n:
            bar.progress(done / n, f"Masking each position in turn: {done} of {n}")

    try:
        return pseudo_loss(checkpoint.model, encoding, exclude=exclude, progress=progress)
    finally:
        bar.empty()


def _excluded(checkpoint: Checkpoint, special: bool) -> frozenset[int]:
    return checkpoint.excluded_ids if special else checkpoint.excluded_ids | checkpoint.tokenizer.special_ids


@st.cache_resource(show_spinner=False)
def _answers() -> tuple[LRUCache[Hashable, Any], threading.Lock]:
    return LRUCache(_ANSWER_BYTES, getsizeof=_size), threading.Lock()


def _kept(key: Hashable, ask: Callable[[], Answer]) -> Answer:
    answers, lock = _answers()
    with lock:
        if key in answers:
            return cast(Answer, answers[key])
    with gate().entered():
        answer = ask()
    with lock:
        if _size(answer) <= answers.maxsize:
            answers[key] = answer
    return answer


def _size(answer: object) -> int:
    """Bytes of an array or of the arrays in a dataclass, and something for the rest."""
    if isinstance(answer, np.ndarray):
        return answer.nbytes
    arrays = [getattr(answer, f.name) for f in fields(answer)] if is_dataclass(answer) else []
    return 1024 + sum(a.nbytes for a in arrays if isinstance(a, np.ndarray))


__all__ = ["attention", "comparison", "near", "norms", "predictions", "scores", "stages", "statistics"]
