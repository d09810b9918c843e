"""A text before training: its pieces counted anew, the price of guessing by the formula, a first example."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest
from small_texts import recipe

import bertviz_lite
from bertviz_lite.errors import TrainingError
from bertviz_lite.training.corpus import find_sources
from bertviz_lite.training.preview import preview


def test_the_price_of_guessing_is_that_of_the_training_texts_pieces(corpus: Path) -> None:
    tokenizer = bertviz_lite.load().tokenizer
    found = preview(recipe(corpus, held_out_every=10), tokenizer)
    counted: Counter[str] = Counter()
    for source in find_sources([corpus]):
        for i, block in enumerate(source.blocks()):
            if i % 10 != 5:
                counted.update(piece for sentence in block for piece in tokenizer.encode(sentence).pieces[1:-1])
    n = counted.total()
    assert found.n_tokens == n
    assert found.uniform_nats == pytest.approx(math.log(len(tokenizer)))
    assert found.unigram_nats == pytest.approx(-sum(c / n * math.log(c / n) for c in counted.values()))
    assert dict(zip(found.pieces, found.probs, strict=True)) == {
        piece: pytest.approx(counted[piece] / n) for piece in found.pieces
    }
    assert found.probs[0] == max(counted.values()) / n


def test_the_example_is_a_masked_sequence(corpus: Path) -> None:
    found = preview(recipe(corpus)).example
    asked = [i for i, kind in enumerate(found["kinds"]) if kind != "not selected"]
    assert asked
    same = [i for i, pair in enumerate(zip(found["pieces"], found["input_pieces"], strict=True)) if pair[0] == pair[1]]
    assert set(range(len(found["pieces"]))) - set(same) <= set(asked)
    assert preview(recipe(corpus)).vocab_size <= 160


def test_a_text_of_nothing_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n\n", encoding="utf-8")
    with pytest.raises(TrainingError):
        preview(recipe(tmp_path))
