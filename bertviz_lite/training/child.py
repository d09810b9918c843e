"""The process that trains for somebody else, a page for example: `python -m bertviz_lite.training.child FOLDER`.

It reads its recipe from FOLDER, trains into FOLDER/model, stops when it is told to on its standard input, and when
that ends, because whoever started it is gone, it stops too and leaves nothing behind.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import threading
import time
from pathlib import Path

import torch

from bertviz_lite.errors import BertvizError
from bertviz_lite.training.loop import Hooks, pretrain, resume
from bertviz_lite.training.recipe import Recipe

ORDER, MODEL = "order.json", "model"  # in FOLDER: the recipe, and where the run goes
STOP_ORDER = b"stop\n"
_NICE = 5
_PATIENCE_SECONDS = 20.0  # for the step that is under way when nobody waits for it any more
_REFUSED = 2


def main() -> int:
    """Train, or go on training, as the arguments say; what cannot be done is a sentence on standard output."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--minutes", type=float)
    asked = parser.parse_args()
    if hasattr(os, "nice"):
        os.nice(_NICE)  # pages answer first
    torch.set_num_threads(asked.threads)
    orders = _Orders(asked.folder)
    hooks = Hooks(stop=orders.stop.is_set)
    try:
        if asked.resume:
            resume(asked.folder / MODEL, minutes=asked.minutes, hooks=hooks)
        else:
            recipe = Recipe.from_json((asked.folder / ORDER).read_text(encoding="utf-8"))
            pretrain(recipe, asked.folder / MODEL, hooks=hooks)
    except (BertvizError, OSError) as error:
        sys.stdout.write(str(error))
        return _REFUSED
    finally:
        if orders.orphaned.is_set():
            shutil.rmtree(asked.folder, ignore_errors=True)
    return 0


class _Orders:
    """What comes in on standard input, heard by a thread of its own."""

    def __init__(self, folder: Path) -> None:
        self.stop, self.orphaned, self._folder = threading.Event(), threading.Event(), folder
        threading.Thread(target=self._hear, daemon=True).start()

    def _hear(self) -> None:
        # Not sys.stdin.read: its lock, held by a daemon thread, makes Python end with an error.
        while os.read(sys.stdin.fileno(), 64):
            self.stop.set()
        self.orphaned.set()
        self.stop.set()
        time.sleep(_PATIENCE_SECONDS)
        shutil.rmtree(self._folder, ignore_errors=True)
        os._exit(1)


if __name__ == "__main__":
    sys.exit(main())

__all__ = ["MODEL", "ORDER", "STOP_ORDER", "main"]
