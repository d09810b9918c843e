"""Small text written by a grammar, small recipes for it, and runs of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from bertviz_lite.training import Recipe, read_log

_NOUNS = ("cat", "dog", "bird", "horse", "child", "teacher", "farmer", "king", "queen", "baker", "sailor", "doctor")
_VERBS = ("sees", "likes", "finds", "follows", "helps", "remembers", "understands", "paints")
_PLACES = ("in the garden", "near the river", "at school", "on the hill", "before dinner", "every morning")


def sentence(rng: random.Random) -> str:
    words = ["the", rng.choice(_NOUNS), rng.choice(_VERBS), "the", rng.choice(_NOUNS)]
    words += [rng.choice(_PLACES) for _ in range(rng.randint(0, 2))]
    return " ".join(words).capitalize() + "."


def text(n_sentences: int, seed: int = 0) -> str:
    """Paragraphs of three sentences a line, three lines a document."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    lines = [" ".join(sentence(rng) for _ in range(3)) for _ in range(n_sentences // 3)]
    return "\n\n".join("\n".join(lines[i : i + 3]) for i in range(0, len(lines), 3)) + "\n"


def write_corpus(folder: Path, n_sentences: int = 1200) -> Path:
    """Two sources, `meadow` and `village`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "meadow.txt").write_text(text(n_sentences, 1), encoding="utf-8")
    (folder / "village.txt").write_text(text(n_sentences // 2, 2), encoding="utf-8")
    return folder


def recipe(corpus: Path, **changes: Any) -> Recipe:  # noqa: ANN401 - fields of Recipe
    """A model that trains in a second or two."""
    network = {"vocab_size": 160, "num_hidden_layers": 2, "hidden_size": 24, "num_attention_heads": 3}
    usual: dict[str, Any] = {"network": network, "tokens": 6000, "batch_tokens": 256, "max_length": 32, "seed": 3}
    return Recipe(**usual | {"corpus": (str(corpus),), "precision": "float32", "log_steps": 1, "lr": 3e-3} | changes)


def curve(out: Path) -> list[dict[str, Any]]:
    """The log without its times."""
    return [{k: v for k, v in row.items() if k != "minutes"} for row in read_log(out / "run") if "note" not in row]
