"""Where commands print to, how they print JSON, and how they tell of a long job."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import Progress

from bertviz_lite.errors import InputError

_PIPE_WIDTH = 200  # into a file or a pipe: wide enough that no name is cut


def console() -> Console:
    """A console as wide as the terminal, or wide where there is none."""
    return Console(width=None if sys.stdout is not None and sys.stdout.isatty() else _PIPE_WIDTH)


def bar(share: float, width: int = 24) -> str:
    """A share of 1 as a bar of up to `width` characters."""
    return ("█" if _is_unicode() else "#") * round(share * width)


def print_json(value: object, *, indent: int | None = 2) -> None:
    """Print JSON that every reader takes: no NaN, and escapes where the output could not hold the characters.

    Args:
        indent: None for one line.
    """
    typer.echo(json.dumps(value, allow_nan=False, ensure_ascii=not _is_unicode(), indent=indent))


def finite(value: float) -> float | None:
    """For JSON, which knows neither NaN nor infinity."""
    return float(value) if math.isfinite(value) else None


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr, gone when done; nothing where stderr is no terminal."""
    screen = Console(stderr=True)
    with Progress(console=screen, transient=True, disable=not screen.is_terminal) as shown:
        task = shown.add_task(label)
        yield lambda done, n: shown.update(task, completed=done, total=n)


def require_free(path: Path, *, overwrite: bool) -> None:
    """Raise an InputError where a file cannot be written there, or another would be lost."""
    try:
        is_folder, has_folder, is_there = path.is_dir(), path.parent.is_dir(), path.exists() or path.is_symlink()
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror or error}).") from error
    if is_folder or not has_folder:
        raise InputError(f"{path} is a folder." if is_folder else f"There is no folder {path.parent}.")
    if is_there and not overwrite:
        raise InputError(f"{path} is there already; nothing was written. Name another file, or add --overwrite.")


def write(path: Path, content: bytes) -> None:
    """Put a file there, whole or not at all.

    Raises:
        InputError: it cannot be written.
    """
    fresh = path.with_name(f".writing-{os.getpid()}")
    try:
        try:
            fresh.write_bytes(content)
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror or error}).") from error


def _is_unicode() -> bool:
    return "utf" in (getattr(sys.stdout, "encoding", None) or "").lower()


__all__ = ["bar", "console", "finite", "print_json", "progress", "require_free", "write"]
