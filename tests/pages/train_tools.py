"""Small runs for the tests of the Train page: a text written by a grammar, and a network that trains in a second."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bertviz_lite.training import Recipe
from bertviz_lite.ui.training.job import Job

NOUNS = ("cat", "dog", "bird", "horse", "child", "teacher", "farmer", "king", "queen", "baker", "sailor", "doctor")
VERBS = ("sees", "likes", "finds", "follows", "helps", "remembers")


def text(n_sentences: int = 900) -> str:
    """Three sentences a line."""
    rng = random.Random(5)  # noqa: S311 - no secret
    sentences = [f"The {rng.choice(NOUNS)} {rng.choice(VERBS)} the {rng.choice(NOUNS)}." for _ in range(n_sentences)]
    return "\n".join(" ".join(sentences[i : i + 3]) for i in range(0, n_sentences, 3)) + "\n"


def job(folder: Path, owner: str = "ada", *, content: str | None = None, **changes: Any) -> Job:  # noqa: ANN401
    """A run that is not begun, of a second or so."""
    folder.mkdir(parents=True)
    (folder / "village.txt").write_text(text() if content is None else content, encoding="utf-8")
    network = {"vocab_size": 120, "num_hidden_layers": 1, "hidden_size": 16, "num_attention_heads": 2}
    usual: dict[str, Any] = {"network": network, "tokens": 20_000, "batch_tokens": 256, "max_length": 32, "lr": 3e-3}
    more = {"precision": "float32", "held_out_every": 12, "log_steps": 1}
    recipe = Recipe(corpus=(str(folder / "village.txt"),), **usual | more | changes)
    return Job("a small model", "A model on a village", recipe, folder, owner)


def wait_until(condition: Callable[[], object], seconds: float = 120.0) -> bool:
    """Whether it came true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def ended(run: Job) -> Job:
    """The run, once its process has ended."""
    assert wait_until(lambda: not run.running), run.progress()
    return run
