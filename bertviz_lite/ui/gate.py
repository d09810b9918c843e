"""One place decides how many passes run at once: first come, first served, each with its share of the cores."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
import torch


class Gate:
    """Lets `places` passes in at once; those who wait are let in by order of arrival."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._queue: deque[object] = deque()
        self._changed = threading.Condition()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Hold a place for the time of a `with` block."""
        self._enter()
        try:
            yield
        finally:
            self._leave()

    def give_way(self) -> None:
        """Inside `entered`, let whoever waits go first; a long job calls this between its batches."""
        with self._changed:
            if not self._queue:
                return
        self._leave()
        self._enter()

    def _enter(self) -> None:
        ticket = object()
        with self._changed:
            self._queue.append(ticket)
            try:
                self._changed.wait_for(lambda: self._free > 0 and self._queue[0] is ticket)
            finally:
                self._queue.remove(ticket)
            self._free -= 1
            self._changed.notify_all()

    def _leave(self) -> None:
        with self._changed:
            self._free += 1
            self._changed.notify_all()


@st.cache_resource(show_spinner=False)
def gate() -> Gate:
    """The server's gate: as many passes as cores up to 2, the cores shared among them."""
    cores = n_cores()
    places = min(2, cores)
    torch.set_num_threads(max(1, cores // places))
    return Gate(places)


def n_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


__all__ = ["Gate", "gate", "n_cores"]
