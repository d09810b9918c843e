"""Expected values: worked out by hand on maps of three tokens, and the entropy formula."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import pytest
from guesser import tokenizer
from numpy.testing import assert_allclose

from bertviz_lite.analysis import Units, first_look, head_statistics, leaders, token_units
from bertviz_lite.errors import InputError

MIXED = [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.1, 0.3, 0.6]]
BACK = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]  # each token looks at the one before it
AHEAD = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]


def units(ids: Sequence[int], *, special: Sequence[bool], punctuation: Sequence[int] = ()) -> Units:
    """Tokens with these ids, of which some were added and some are punctuation marks."""
    n = len(ids)
    added, first = np.array(special, bool), np.arange(n) == 0
    return Units(
        labels=tuple(map(str, ids)),
        positions=tuple((i,) for i in range(n)),
        ids=tuple((i,) for i in ids),
        segments=np.zeros(n, np.int64),
        cls=added & first,
        sep=added & ~first,
        punctuation=np.isin(np.arange(n), punctuation),
    )


UNITS = units([2, 7, 3], special=[True, False, True])


def maps(*heads: list[list[float]]) -> np.ndarray:
    """(1, H, 3, 3)."""
    return np.array([heads], np.float32)


def test_every_number_of_a_mixed_head() -> None:
    found = head_statistics(maps(MIXED), UNITS)
    assert_allclose(found.previous_prob, [[(0.0 + 0.3) / 2]], rtol=1e-6)
    assert_allclose(found.next_prob, [[(0.25 + 0.0) / 2]], rtol=1e-6)
    assert_allclose(found.self_prob, [[(0.5 + 1.0 + 0.6) / 3]], rtol=1e-6)
    assert_allclose(found.special_prob, [[(0.75 + 0.0 + 0.7) / 3]], rtol=1e-6)
    assert_allclose(found.distance_tokens, [[(0.25 * 1 + 0.25 * 2 + 0.0 + 0.1 * 2 + 0.3 * 1) / 3]], rtol=1e-6)
    assert_allclose(
        (found.cls_prob, found.sep_prob), ([[(0.5 + 0.0 + 0.1) / 3]], [[(0.25 + 0.0 + 0.6) / 3]]), rtol=1e-6
    )
    first = 0.5 * math.log(2) + 2 * 0.25 * math.log(4)
    last = -(0.1 * math.log(0.1) + 0.3 * math.log(0.3) + 0.6 * math.log(0.6))
    assert_allclose(found.entropy_nats, [[(first + 0.0 + last) / 3]], rtol=1e-6)
    assert_allclose(found.evenness, [[(first + 0.0 + last) / 3 / math.log(3)]], rtol=1e-6)


def test_heads_that_look_back_and_ahead() -> None:
    found = head_statistics(maps(BACK, AHEAD), UNITS)
    assert_allclose(found.previous_prob, [[1, 0]])
    assert_allclose(found.next_prob, [[0, 1]])
    assert_allclose(found.self_prob, [[1 / 3, 1 / 3]], rtol=1e-6)
    assert_allclose(found.special_prob, [[2 / 3, 2 / 3]], rtol=1e-6)
    assert_allclose(found.entropy_nats, [[0, 0]], atol=1e-7)
    assert_allclose(found.distance_tokens, [[2 / 3, 2 / 3]], rtol=1e-6)


@pytest.mark.parametrize("n", [2, 5, 512])
def test_a_uniform_head(n: int) -> None:
    found = head_statistics(
        np.full((2, 3, n, n), 1 / n, np.float32), units(range(n), special=[True] + [False] * (n - 1))
    )
    mean_distance = (n * n - 1) / (3 * n)  # of two positions drawn from n
    for values, expected in (
        (found.entropy_nats, math.log(n)),
        (found.evenness, 1),
        (found.distance_tokens, mean_distance),
        (found.previous_prob, 1 / n),
        (found.next_prob, 1 / n),
        (found.self_prob, 1 / n),
        (found.special_prob, 1 / n),
    ):
        assert_allclose(values, np.full((2, 3), expected), rtol=1e-5)


def test_each_number_stands_at_its_layer_and_head() -> None:
    weights = np.full((2, 3, 3, 3), 1 / 3, np.float32)
    weights[1, 2] = np.array(BACK)
    found = head_statistics(weights, UNITS)
    for name, values in asdict(found).items():
        assert values.shape == (2, 3), name
        assert values.dtype == np.float32, name
    assert np.argwhere(found.previous_prob > 0.9).tolist() == [[1, 2]]
    assert np.argwhere(found.entropy_nats < 0.1).tolist() == [[1, 2]]


def test_no_token_is_special() -> None:
    assert head_statistics(maps(MIXED), units([2, 7, 3], special=[False] * 3)).special_prob.tolist() == [[0.0]]


@pytest.mark.parametrize("shape", [(3, 3), (1, 3, 3), (1, 1, 3, 4), (1, 1, 4, 3), (1, 1, 1, 3, 3)])
def test_maps_of_a_wrong_shape_are_named(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"\(layers, heads, T, T\), not \(" + ", ".join(map(str, shape))):
        head_statistics(np.ones(shape, np.float32), UNITS)


def test_one_token_has_nothing_to_look_at() -> None:
    with pytest.raises(InputError, match="at least two tokens"):
        head_statistics(np.ones((2, 3, 1, 1), np.float32), units([2], special=[True]))


@pytest.mark.parametrize("n", [0, 2, 4])
def test_tokens_that_do_not_fit_are_named(n: int) -> None:
    with pytest.raises(InputError, match=f"{n} tokens do not fit maps of 3"):
        head_statistics(maps(MIXED), units(range(n), special=[False] * n))


def test_punctuation_and_the_same_token_elsewhere() -> None:
    found = head_statistics(maps(MIXED, BACK), units([7, 9, 7], special=[False] * 3, punctuation=[1]))
    assert_allclose(found.punctuation_prob, [[(0.25 + 1.0 + 0.3) / 3, 1 / 3]], rtol=1e-6)
    assert_allclose(found.same_prob, [[(0.25 + 0.1) / 2, 0]], rtol=1e-6)  # tokens 0 and 2 have one; itself is none


def test_no_token_comes_twice() -> None:
    assert np.isnan(head_statistics(maps(MIXED), units([7, 9, 8], special=[False] * 3)).same_prob).all()
    two_seps = head_statistics(maps(MIXED), units([2, 3, 3], special=[True] * 3))
    assert np.isnan(two_seps.same_prob).all()


def test_leaders_come_largest_first_and_equals_in_reading_order() -> None:
    values = np.array([[0.1, 0.7, 0.3], [0.7, 0.9, 0.3]], np.float32)
    assert leaders(values, 1) == [(1, 1)]
    assert leaders(values, 5) == [(1, 1), (0, 1), (1, 0), (0, 2), (1, 2)]
    assert leaders(values, 99) == [(1, 1), (0, 1), (1, 0), (0, 2), (1, 2), (0, 0)]
    assert leaders(values, 0) == []
    few_values = np.random.default_rng(0).integers(0, 3, (12, 16)).astype(np.float32)
    in_reading_order = [(layer, head) for layer in range(12) for head in range(16)]
    assert leaders(few_values, 99) == sorted(in_reading_order, key=lambda at: -few_values[at])[:99]


def test_heads_without_a_number_come_last() -> None:
    assert leaders(np.array([[math.nan, 0.2], [0.1, math.nan]], np.float32), 3) == [(0, 1), (1, 0), (0, 0)]


def test_a_first_look_goes_to_a_head_that_reads_other_words() -> None:
    """Three heads of five tokens: all on [CLS], all on the token before, all on a word two places on."""
    weights = np.zeros((1, 3, 5, 5), np.float32)
    weights[0, 0, :, 0] = 1
    weights[0, 1, range(5), [0, 0, 1, 2, 3]] = 1
    weights[0, 2, range(5), [2, 3, 0, 1, 2]] = 1
    units = token_units(tokenizer().encode("a b a"))
    assert first_look(head_statistics(weights, units)) == (0, 2)
