"""Expected values: the smallest of all cuts, tried one by one (max-flow = min-cut), and flows told by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bertviz_lite import Checkpoint
from bertviz_lite.analysis import LONGEST_FLOW, attention_flow, attention_maps, each_layer
from bertviz_lite.errors import InputError


def smallest_cut(weights: np.ndarray, position: int, start: int) -> float:
    """Part the joints in two, the source on one side and the sink on the other; the least that leads across."""
    n_layers, _, n, _ = weights.shape
    widths = 0.5 * weights.astype(np.float64).mean(1) + 0.5 * np.eye(n)
    widths /= widths.sum(-1, keepdims=True)
    least = np.inf
    for sides in product((True, False), repeat=(n_layers + 1) * n):
        near = np.array(sides).reshape(n_layers + 1, n)
        if near[n_layers, position] and not near[0, start]:
            across = sum(widths[layer][np.ix_(near[layer + 1], ~near[layer])].sum() for layer in range(n_layers))
            least = min(least, across)
    return float(least)


def random_maps(n_layers: int, n_heads: int, n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(n, 0.4), (n_layers, n_heads, n)).astype(np.float32)


@given(st.sampled_from([(1, 2), (1, 3), (2, 2), (2, 3), (3, 2), (4, 2)]), st.integers(0, 99))
@settings(deadline=None, max_examples=25)
def test_the_largest_flow_is_the_smallest_cut(size: tuple[int, int], seed: int) -> None:
    n_layers, n = size
    weights = random_maps(n_layers, 2, n, seed)
    position = seed % n
    expected = [smallest_cut(weights, position, start) for start in range(n)]
    assert_allclose(attention_flow(weights, position), expected, atol=1e-4)


def test_one_layer_lets_through_its_weights() -> None:
    weights = np.array([[[[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.2, 0.2, 0.6]]]], np.float32)
    assert_allclose(attention_flow(weights, 0), [0.75, 0.125, 0.125], atol=1e-6)
    assert_allclose(attention_flow(weights, 2), [0.1, 0.1, 0.8], atol=1e-6)


def test_two_ways_add_and_the_narrower_pipe_of_each_counts() -> None:
    """Both layers [[0, 1], [1, 0]]: every pipe is a half wide, and two ways lead to every token."""
    swap = np.array([[[[0, 1], [1, 0]]]] * 2, np.float32)
    assert_allclose(attention_flow(swap, 0), [1, 1], atol=1e-6)
    # In a first layer that looks at token 0 alone, token 1 is reached by its own half alone.
    first = np.array([[[1, 0], [1, 0]]], np.float32)
    assert_allclose(attention_flow(np.stack([first, swap[0]]), 0), [1, 0.5], atol=1e-6)


def test_layer_by_layer_of_a_model(bundled: Checkpoint) -> None:
    encoding = bundled.tokenizer.encode("He plays the piano.")
    told: list[tuple[int, int]] = []
    found = attention_flow(each_layer(bundled.model, encoding), 2, progress=lambda done, n: told.append((done, n)))
    weights = attention_maps(bundled.model, encoding).weights
    assert_allclose(found, attention_flow(weights, 2), atol=1e-4)
    # No more can pass than the pipes that leave a token's start hold.
    assert (found <= np.minimum(1, (0.5 * weights[0].mean(0) + 0.5 * np.eye(len(encoding))).sum(0)) + 1e-5).all()
    assert told == [(done, len(encoding)) for done in range(1, len(encoding) + 1)]


def test_what_cannot_be_followed_is_told() -> None:
    with pytest.raises(InputError, match="no layer"):
        attention_flow([], 0)
    with pytest.raises(InputError, match=r"no token 2.* 0 to 1"):
        attention_flow(random_maps(1, 1, 2, 0), 2)
    n = LONGEST_FLOW + 1
    with pytest.raises(InputError, match=rf"too long for {n} tokens.* at most {LONGEST_FLOW}.*rollout"):
        attention_flow(np.full((1, 1, n, n), 1 / n, np.float32), 0)
