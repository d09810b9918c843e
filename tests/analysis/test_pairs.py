"""Expected values: the guesser's table, and the sums that every alignment must keep."""

from __future__ import annotations

import math

import pytest
from guesser import guesser, tokenizer

from bertviz_lite import Checkpoint
from bertviz_lite.analysis import METRICS, compare_pair, score
from bertviz_lite.errors import TextError

A, B, C, S, DOT = (-math.log(p) for p in (0.10, 0.20, 0.05, 0.02, 0.03))


def test_words_are_aligned_and_their_losses_by_hand() -> None:
    encode = tokenizer().encode
    pair = compare_pair(guesser(), encode("a bs c."), encode("a c c b."))
    parts = [(part.words_a, part.words_b, part.same) for part in pair.parts]
    assert parts == [
        ((0,), (0,), True),  # a
        ((1,), (), False),  # bs, which is left out
        ((2,), (1,), True),  # c, matched with the first c
        ((), (2, 3), False),  # c b, put in
        ((3,), (4,), True),  # .
    ]
    assert [part.loss_a_nats for part in pair.parts] == pytest.approx([A, B + S, C, 0, DOT])
    assert [part.loss_b_nats for part in pair.parts] == pytest.approx([A, 0, C, C + B, DOT])
    assert [part.difference_nats for part in pair.parts] == pytest.approx([0, -B - S, 0, C + B, 0])
    assert pair.difference_nats == pytest.approx(C - S)


@pytest.mark.parametrize("metric", METRICS)
def test_the_parts_add_up_to_the_difference(bundled: Checkpoint, metric: str) -> None:
    a, b = map(bundled.tokenizer.encode, ("The keys to the cabinet are here.", "The keys to the cabinet is here."))
    pair = compare_pair(bundled.model, a, b, metric)
    expected = score(bundled.model, b, metric).sum_nats - score(bundled.model, a, metric).sum_nats
    assert pair.difference_nats == pytest.approx(expected, abs=1e-3)
    assert sum(part.difference_nats for part in pair.parts) == pytest.approx(expected, abs=1e-3)
    assert [part.same for part in pair.parts].count(False) == 1
    assert sorted(word for part in pair.parts for word in part.words_a) == list(range(a.n_words))


def test_a_sentence_beside_itself_differs_in_nothing(bundled: Checkpoint) -> None:
    a = bundled.tokenizer.encode("It rained.")
    pair = compare_pair(bundled.model, a, a)
    assert all(part.same for part in pair.parts)
    assert pair.difference_nats == pytest.approx(0, abs=1e-4)


def test_an_empty_sentence_is_a_text_error() -> None:
    encode = tokenizer().encode
    with pytest.raises(TextError, match="no token to score"):
        compare_pair(guesser(), encode("a"), encode(""))
