"""Expected values: worked out by hand on maps of three tokens, and the entropy formula."""

from __future__ import annotations

import math
from dataclasses import asdict

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bertviz_lite.analysis import head_statistics, leaders
from bertviz_lite.errors import InputError

MIXED = [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.1, 0.3, 0.6]]
BACK = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]  # each token looks at the one before it
AHEAD = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
FLAGS = (True, False, True)


def maps(*heads: list[list[float]]) -> np.ndarray:
    """(1, H, 3, 3)."""
    return np.array([heads], np.float32)


def test_every_number_of_a_mixed_head() -> None:
    found = head_statistics(maps(MIXED), FLAGS)
    assert_allclose(found.previous_prob, [[(0.0 + 0.3) / 2]], rtol=1e-6)
    assert_allclose(found.next_prob, [[(0.25 + 0.0) / 2]], rtol=1e-6)
    assert_allclose(found.self_prob, [[(0.5 + 1.0 + 0.6) / 3]], rtol=1e-6)
    assert_allclose(found.special_prob, [[(0.75 + 0.0 + 0.7) / 3]], rtol=1e-6)
    assert_allclose(found.distance_tokens, [[(0.25 * 1 + 0.25 * 2 + 0.0 + 0.1 * 2 + 0.3 * 1) / 3]], rtol=1e-6)
    first = 0.5 * math.log(2) + 2 * 0.25 * math.log(4)
    last = -(0.1 * math.log(0.1) + 0.3 * math.log(0.3) + 0.6 * math.log(0.6))
    assert_allclose(found.entropy_nats, [[(first + 0.0 + last) / 3]], rtol=1e-6)


def test_heads_that_look_back_and_ahead() -> None:
    found = head_statistics(maps(BACK, AHEAD), FLAGS)
    assert_allclose(found.previous_prob, [[1, 0]])
    assert_allclose(found.next_prob, [[0, 1]])
    assert_allclose(found.self_prob, [[1 / 3, 1 / 3]], rtol=1e-6)
    assert_allclose(found.special_prob, [[2 / 3, 2 / 3]], rtol=1e-6)
    assert_allclose(found.entropy_nats, [[0, 0]], atol=1e-7)
    assert_allclose(found.distance_tokens, [[2 / 3, 2 / 3]], rtol=1e-6)


@pytest.mark.parametrize("n", [2, 5, 512])
def test_a_uniform_head(n: int) -> None:
    found = head_statistics(np.full((2, 3, n, n), 1 / n, np.float32), [True] + [False] * (n - 1))
    mean_distance = (n * n - 1) / (3 * n)  # of two positions drawn from n
    for values, expected in (
        (found.entropy_nats, math.log(n)),
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
    found = head_statistics(weights, FLAGS)
    for name, values in asdict(found).items():
        assert values.shape == (2, 3), name
        assert values.dtype == np.float32, name
    assert np.argwhere(found.previous_prob > 0.9).tolist() == [[1, 2]]
    assert np.argwhere(found.entropy_nats < 0.1).tolist() == [[1, 2]]


def test_no_token_is_special() -> None:
    assert head_statistics(maps(MIXED), [False] * 3).special_prob.tolist() == [[0.0]]


@pytest.mark.parametrize("shape", [(3, 3), (1, 3, 3), (1, 1, 3, 4), (1, 1, 4, 3), (1, 1, 1, 3, 3)])
def test_maps_of_a_wrong_shape_are_named(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"\(layers, heads, T, T\), not \(" + ", ".join(map(str, shape))):
        head_statistics(np.ones(shape, np.float32), FLAGS)


def test_one_token_has_nothing_to_look_at() -> None:
    with pytest.raises(InputError, match="at least two tokens"):
        head_statistics(np.ones((2, 3, 1, 1), np.float32), [True])


@pytest.mark.parametrize("n_flags", [0, 2, 4])
def test_flags_that_do_not_fit_are_named(n_flags: int) -> None:
    with pytest.raises(InputError, match=f"{n_flags} flags do not fit maps of 3 tokens"):
        head_statistics(maps(MIXED), n_flags * [False])


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
