"""What ships with the package: the model (english-mini/), a small model at ten moments of its training (moments/),
sentences to start from (examples.json, contrasts.json, minimal_pairs.json), and a small file of sentences."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from bertviz_lite.bundled.learning import Moment, Probe, moments, probes

__all__ = [
    "CONTRASTS",
    "EXAMPLES",
    "LEARNING_EXAMPLES",
    "MINIMAL_PAIRS",
    "Contrasted",
    "Example",
    "MinimalPair",
    "Moment",
    "Probe",
    "moments",
    "probes",
    "sample_file",
]


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


@dataclass(frozen=True)
class MinimalPair:
    """Two sentences that differ in one rule of English.

    Attributes:
        label: the rule's name on a list.
        rule: the rule in a sentence.
        good, bad: the sentence that keeps it and the one that breaks it.
    """

    label: str
    rule: str
    good: str
    bad: str


@dataclass(frozen=True)
class Contrasted:
    """Two sentences to be compared at their masks.

    Attributes:
        label: its name on a button.
        kind: what the pair is about: bias, agreement, facts, or an example.
        first, second: the sentences, in English, each with one [MASK].
        words: words to compare, separated by commas.
    """

    label: str
    kind: str
    first: str
    second: str
    words: str


def sample_file() -> bytes:
    """A few sentences as a file, to be scored where nobody has given one: a TXT, one a line."""
    return (files(__name__) / "sentences.txt").read_bytes()


def _read(name: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads((files(__name__) / name).read_text(encoding="utf-8"))
    return entries


EXAMPLES = tuple(Example(e["label"], e["text"], tuple(e["masked"])) for e in _read("examples.json"))
# But for the last, in words that the small vocabulary of the moments has whole.
LEARNING_EXAMPLES = tuple(Example(e["label"], e["text"], tuple(e["masked"])) for e in _read("moments/examples.json"))
CONTRASTS = tuple(Contrasted(**entry) for entry in _read("contrasts.json"))
MINIMAL_PAIRS = tuple(MinimalPair(**entry) for entry in _read("minimal_pairs.json"))
