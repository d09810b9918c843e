"""Expected values: differences worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bertviz_lite import Checkpoint
from bertviz_lite.analysis import attention_maps, head_map, map_change
from bertviz_lite.errors import InputError

FIRST = np.array([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25], [0.0, 0.5, 0.5]], np.float32)
SECOND = np.array([[0.0, 0.5, 0.5], [0.5, 0.25, 0.25], [0.25, 0.5, 0.25]], np.float32)


def test_the_second_less_the_first() -> None:
    found = map_change(FIRST, SECOND, ["a", "b", "."], ["a", "c", "."])
    assert found.difference.tolist() == [[-1.0, 0.5, 0.5], [0, 0, 0], [0.25, 0, -0.25]]
    assert found.moved_prob.tolist() == [1.0, 0.0, 0.25]
    assert found.labels == ("a", "b / c", ".")
    many = map_change(FIRST[None, None], SECOND[None, None], "ab.", "ab.")
    assert many.moved_prob.tolist() == [[[1.0, 0.0, 0.25]]]


def test_a_hidden_word_moves_attention(bundled: Checkpoint) -> None:
    typed = bundled.tokenizer.encode("The cat sleeps.")
    hidden = typed.masked([1])
    before, after = (attention_maps(bundled.model, encoding).weights for encoding in (typed, hidden))
    found = map_change(before, after, typed.pieces, hidden.pieces)
    assert found.labels[2] == "cat / [MASK]"
    assert_allclose(found.difference.sum(-1), 0, atol=1e-6)
    assert found.moved_prob.min() >= 0
    assert 0.01 < found.moved_prob.max() <= 1
    one = head_map(bundled.model, hidden, 3, 1) - head_map(bundled.model, typed, 3, 1)
    assert_allclose(found.difference[3, 1], one, atol=1e-5)


@pytest.mark.parametrize(
    ("first", "second", "pieces", "told"),
    [
        (FIRST, SECOND[:2, :2], ("abc", "ab"), "first has 3 tokens and the second 2.*as many tokens"),
        (FIRST[None], SECOND, ("abc", "abc"), r"shape \(1, 3, 3\) and \(3, 3\) .*layers and heads"),
        (FIRST, SECOND, ("ab", "ab"), r"2 labels do not fit .*\(3, 3\)"),
    ],
)
def test_maps_that_do_not_lie_side_by_side(
    first: np.ndarray, second: np.ndarray, pieces: tuple[str, str], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        map_change(first, second, *pieces)
