"""Bounds on what opening a hostile file may cost: memory at the process's peak, seconds of its processor time."""

from __future__ import annotations

import ctypes
import gc
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

HAS_PEAK = Path("/proc/self/clear_refs").exists()  # the peak of a process can be set back on Linux alone
_MOST_MB = 200
_SECONDS = 3.0


class TookTooLong(BaseException):
    """Past every `except Exception`, so that no handler takes it for a damaged file."""


class GrewTooMuchError(AssertionError):
    """The process grew past the bound."""


@contextmanager
def in_time(seconds: float = _SECONDS) -> Iterator[None]:
    """End the block after some seconds of processor time, which a busy machine does not shorten."""
    previous = signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.2)  # again and again: something may swallow the first
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


@contextmanager
def in_memory(most_mb: float = _MOST_MB) -> Iterator[None]:
    """Fail at the end if the process grew meanwhile by more than `most_mb` at its peak."""
    before = _reset_peak_mb()
    yield
    grown = _status_mb("VmHWM") - before
    if grown > most_mb:
        raise GrewTooMuchError(f"the process grew by {grown:.0f} MB")


def _too_long(_signal: int, frame: FrameType | None) -> None:
    if frame is None or frame.f_code.co_name != "gc_callback":  # hypothesis's, where an exception is only printed
        raise TookTooLong


def _reset_peak_mb() -> float:
    """Set the peak to what is in use now, after giving back what was freed (Linux; see proc(5), clear_refs)."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return _status_mb("VmRSS")


def _status_mb(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field + ":")) / 1024
