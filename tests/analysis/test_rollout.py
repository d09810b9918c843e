"""Expected values: two layers worked out by hand, and the definition of arXiv 2005.00928 in plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bertviz_lite import Checkpoint
from bertviz_lite.analysis import attention_maps, each_layer, rollout
from bertviz_lite.errors import InputError


def by_definition(weights: np.ndarray) -> list[list[list[float]]]:
    """(L, T, T): A' = 0.5 A + 0.5 I over its row's sum, multiplied up the layers, one number at a time."""
    n_layers, n_heads, n, _ = weights.shape
    rolled: list[list[list[float]]] = []
    for layer in range(n_layers):
        mixed = []
        for i in range(n):
            row = []
            for j in range(n):
                mean = sum(float(weights[layer, head, i, j]) for head in range(n_heads)) / n_heads
                row.append(0.5 * mean + (0.5 if i == j else 0.0))
            mixed.append([value / sum(row) for value in row])
        if layer:
            below = rolled[-1]
            mixed = [[sum(mixed[i][k] * below[k][j] for k in range(n)) for j in range(n)] for i in range(n)]
        rolled.append(mixed)
    return rolled


def test_two_layers_by_hand() -> None:
    """Layer 0: each token looks at the one before, the first at itself. Layer 1: all look at the last."""
    back = [[1, 0, 0], [1, 0, 0], [0, 1, 0]]
    last = [[0, 0, 1]] * 3
    found = rollout(np.array([[back], [last]], np.float32))
    assert found[0].tolist() == [[1, 0, 0], [0.5, 0.5, 0], [0, 0.5, 0.5]]
    # Row 0 of layer 1 is half of token 0 and half of token 2 of the layer below.
    assert found[1].tolist() == [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0, 0.5, 0.5]]


def test_heads_count_alike() -> None:
    weights = np.array([[[[0, 1], [1, 0]], [[1, 0], [0, 1]]]], np.float32)
    assert rollout(weights).tolist() == [[[0.75, 0.25], [0.25, 0.75]]]


@given(st.integers(1, 5), st.integers(1, 3), st.integers(1, 6), st.integers(0, 99))
@settings(deadline=None)
def test_any_maps_by_the_definition(n_layers: int, n_heads: int, n: int, seed: int) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.full(n, 0.5), (n_layers, n_heads, n)).astype(np.float32)
    found = rollout(weights)
    assert found.shape == (n_layers, n, n)
    assert_allclose(found, by_definition(weights), atol=1e-6)
    assert_allclose(found.sum(-1), 1, atol=1e-6)


def test_layer_by_layer_is_all_at_once(bundled: Checkpoint) -> None:
    encoding = bundled.tokenizer.encode("He plays the piano every day.")
    found = rollout(each_layer(bundled.model, encoding))
    assert_allclose(found, rollout(attention_maps(bundled.model, encoding).weights), atol=1e-6)
    assert_allclose(found, by_definition(attention_maps(bundled.model, encoding).weights), atol=1e-5)


def test_no_layer_is_told() -> None:
    with pytest.raises(InputError, match="no layer"):
        rollout([])
