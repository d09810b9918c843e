"""What ships with the package: the model (english-mini/), and sentences to start from (examples.json)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files

__all__ = ["EXAMPLES", "Example"]


@dataclass(frozen=True)
class Example:
    """A sentence worth asking about.

    Attributes:
        label: its name on a button.
        text: the sentence, in English.
        masked: numbers of the words to mask, counted from 0, punctuation included.
    """

    label: str
    text: str
    masked: tuple[int, ...]


def _read() -> tuple[Example, ...]:
    entries = json.loads((files(__name__) / "examples.json").read_text(encoding="utf-8"))
    return tuple(Example(entry["label"], entry["text"], tuple(entry["masked"])) for entry in entries)


EXAMPLES = _read()
