"""Writes files so that a run killed at any moment leaves the old content or the new one, never a half."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from safetensors import SafetensorError

from bertviz_lite.errors import CheckpointError, TrainingError


def replace_with(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make a file or folder beside `path`, then put it in the place of `path`.

    Raises:
        TrainingError: it cannot be written, on a full disk for example; what was at `path` is still there.
    """
    fresh = path.with_name(f".{path.name}.new")
    try:
        remove(fresh)
        path.parent.mkdir(parents=True, exist_ok=True)
        write(fresh)
        for file in [fresh] if fresh.is_file() else fresh.rglob("*"):
            _to_disk(file)
        if path.is_dir():
            remove(path)
        fresh.replace(path)
    except (OSError, SafetensorError, CheckpointError) as error:
        told = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise TrainingError(f"{path} cannot be written ({told}); what was saved before is kept.") from error
    finally:
        remove(fresh)


def write_text(path: Path, text: str) -> None:
    """Put a text in the place of a file, whole or not at all.

    Raises:
        TrainingError: as in `replace_with`.
    """
    replace_with(path, lambda fresh: fresh.write_text(text, encoding="utf-8"))


def _to_disk(path: Path) -> None:
    if path.is_file():
        with path.open("rb") as file:
            os.fsync(file.fileno())


def remove(path: Path) -> None:
    """Remove a file or a folder, if there is one."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


__all__ = ["remove", "replace_with", "write_text"]
