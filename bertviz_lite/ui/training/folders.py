"""The temporary folders of runs: each is locked by the server that made it, so that those of a dead one are known."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from filelock import FileLock, Timeout

from bertviz_lite.errors import TrainingError

_PREFIX, _LOCK = "bertviz-train-", "server.lock"
_NEW_SECONDS = 60.0  # another server may be about to lock it
_held: dict[Path, FileLock] = {}


def new_folder() -> Path:
    """A folder for a run.

    Raises:
        TrainingError: there is no room for it.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        _held[folder] = FileLock(folder / _LOCK, thread_local=False)
        _held[folder].acquire()
    except OSError as error:
        raise no_room(error) from error
    return folder


def remove(folder: Path) -> None:
    """Remove a run's folder, as far as that is possible."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder in _held:
        _held.pop(folder).release()


def sweep() -> None:
    """Remove what servers that were killed have left."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            if time.time() - folder.stat().st_mtime < _NEW_SECONDS or not (folder / _LOCK).is_file():
                continue
            with FileLock(folder / _LOCK, timeout=0):
                shutil.rmtree(folder, ignore_errors=True)
        except (OSError, Timeout):
            continue  # somebody else's, or in use


def no_room(error: OSError) -> TrainingError:
    """The error for a text that cannot be kept."""
    return TrainingError(f"The server cannot keep this text ({error.strerror}); try again later, or with less text.")


__all__ = ["new_folder", "no_room", "remove", "sweep"]
