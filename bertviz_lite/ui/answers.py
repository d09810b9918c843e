"""Long questions to a model: let in by the gate, shown with a bar, their answers kept while memory for them lasts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, cast

import numpy as np
import streamlit as st
from cachetools import LRUCache

from bertviz_lite.analysis import Progress
from bertviz_lite.ui.gate import gate

Answer = TypeVar("Answer")

_ANSWER_BYTES = 256 << 20  # over all visitors; the least recently used go first


def kept(key: Hashable, ask: Callable[[], Answer]) -> Answer:
    """The answer to a question that was asked before, else asked now."""
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


@contextmanager
def progress(label: str) -> Iterator[Progress]:
    """A bar for a long job, which lets others in between its batches."""
    bar = st.empty()

    def told(done: int, n: int) -> None:
        gate().give_way()
        if done < n:
            bar.progress(done / n, f"{label}: {done:,} of {n:,}")

    try:
        yield told
    finally:
        bar.empty()


@st.cache_resource(show_spinner=False)
def _answers() -> tuple[LRUCache[Hashable, Any], threading.Lock]:
    return LRUCache(_ANSWER_BYTES, getsizeof=_size), threading.Lock()


def _size(answer: object) -> int:
    """Bytes of bytes, of an array or of the arrays in a dataclass, however deep, and something for the rest."""
    if isinstance(answer, bytes):
        return len(answer)
    if isinstance(answer, np.ndarray):
        return answer.nbytes
    parts = [getattr(answer, f.name) for f in fields(answer)] if is_dataclass(answer) else []
    return 1024 + sum(_size(part) for part in parts if isinstance(part, np.ndarray) or is_dataclass(part))


__all__ = ["kept", "progress"]
