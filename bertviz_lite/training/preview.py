"""What a text gives before a model has read any of it: its pieces, the price of guessing, and a first example."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from bertviz_lite.config import BERTConfig
from bertviz_lite.tokenizer import Tokenizer
from bertviz_lite.training.corpus import find_sources, learn_tokenizer
from bertviz_lite.training.examples import Masker, read_examples
from bertviz_lite.training.recipe import Recipe
from bertviz_lite.training.store import open_store

_MOST_PIECES = 12
_LOOKED_AT = 32  # batches, for an example that is worth showing
_GOOD_LENGTH = range(14, 34)  # pieces


@dataclass(frozen=True)
class Preview:
    """A text as a model will meet it.

    Attributes:
        n_tokens: pieces of the training text.
        vocab_size: pieces of the vocabulary.
        uniform_nats, unigram_nats: what guessing costs, blindly and by frequency alone.
        pieces, probs: the commonest pieces and their shares of the text, most first.
        example: one training example, as in `Progress.example`.
    """

    n_tokens: int
    vocab_size: int
    uniform_nats: float
    unigram_nats: float
    pieces: tuple[str, ...]
    probs: tuple[float, ...]
    example: Mapping[str, Any]


def preview(recipe: Recipe, tokenizer: Tokenizer | None = None) -> Preview:
    """Look at the text of a recipe; without a tokenizer, a vocabulary is learnt from it as in training.

    Raises:
        TrainingError: the text cannot be read, or is too short to learn from.
    """
    sources = find_sources(recipe.corpus)
    tokenizer = tokenizer or learn_tokenizer(sources, int(recipe.network["vocab_size"]), lower_case=recipe.lower_case)
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder), sources, tokenizer, held_out_every=recipe.held_out_every)
        masker = Masker(tokenizer, BERTConfig(vocab_size=len(tokenizer)), recipe.masking)
        batches = read_examples(store.train, masker, recipe.batches, recipe.seed)
        shown = [masker.shown(batch.examples) for batch in islice(batches, _LOOKED_AT)]
        counts = store.counts.sum(0)
        best = np.argsort(-counts, kind="stable")[:_MOST_PIECES]
        return Preview(
            n_tokens=int(counts.sum()),
            vocab_size=len(tokenizer),
            uniform_nats=store.uniform_nats,
            unigram_nats=store.unigram_nats,
            pieces=tuple(tokenizer.piece(int(i)) for i in best),
            probs=tuple((counts[best] / counts.sum()).tolist()),
            example=next((s for s in shown if len(s["pieces"]) in _GOOD_LENGTH), shown[0]),
        )


__all__ = ["Preview", "preview"]
