"""What ships with the package: the model (english-mini/), a small model at ten moments of its training (moments/),
sentences to start from (examples.json, contrasts.json, minimal_pairs.json), a small file of sentences, and two texts to
train on."""

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
    "TRAINING_TEXTS",
    "Contrasted",
    "Example",
    "MinimalPair",
    "Moment",
    "Probe",
    "TrainingText",
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


@dataclass(frozen=True)
class TrainingText:
    """A text to train a small model on: a paragraph a line, a blank line between documents.

    Attributes:
        file: where it lies, in this folder.
        name: its title.
        about: where it comes from, and its licence.
        probes: sentences with a mask that a model which has learnt from it can answer.
        sentence_share: how much of it is best read as single sentences, 0 to 1.
    """

    file: str
    name: str
    about: str
    probes: tuple[str, ...]
    sentence_share: float

    def read(self) -> str:
        """The text itself."""
        return (files(__name__) / self.file).read_text(encoding="utf-8")


TRAINING_TEXTS = {
    "everyday": TrainingText(
        "everyday.txt",
        "Everyday sentences",
        "Short prompts of the Common Voice project in common words, CC0 1.0.",
        ("I want to [MASK] home.", "She opened the [MASK].", "What do you [MASK]?"),
        0.9,
    ),
    "fables": TrainingText(
        "fables.txt",
        "Aesop’s Fables",
        "Translated by V. S. Vernon Jones (1912), in the Standard Ebooks edition: public domain in the USA, the "
        "edition under CC0 1.0.",
        ("The lion said to the [MASK].", "Once upon a [MASK] there was a lion.", "A hungry [MASK] saw some grapes."),
        0.4,
    ),
}


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
