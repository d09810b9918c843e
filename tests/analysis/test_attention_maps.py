"""Expected values: transformers' eager attentions on the bundled checkpoint, and means worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from guesser import LONGEST, guesser, tokenizer
from numpy.testing import assert_allclose, assert_array_equal
from outside import Outside

from bertviz_lite import Checkpoint
from bertviz_lite.analysis import AttentionMaps, attention_maps, without
from bertviz_lite.errors import InputError, TextError

# Two layers, two heads, two tokens. Every row sums to 1; binary fractions, so that means are exact.
MAPS = AttentionMaps(
    np.array(
        [
            [[[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.0, 1.0]]],
            [[[0.25, 0.75], [1.0, 0.0]], [[0.75, 0.25], [0.25, 0.75]]],
        ],
        np.float32,
    )
)


@pytest.mark.parametrize(
    ("text", "pair"),
    [("", None), ("The cat drank a bowl of [MASK].", None), ("Where is the souvenir?", "On the [MASK] table.")],
)
def test_maps_are_those_of_transformers(bundled: Checkpoint, outside: Outside, text: str, pair: str | None) -> None:
    maps = attention_maps(bundled.model, bundled.tokenizer.encode(text, pair))
    expected = outside.attentions(*outside.ids(text, pair))
    assert maps.weights.dtype == np.float32
    assert maps.weights.shape == tuple(expected.shape) == (6, 12, *expected.shape[2:])
    assert (maps.n_layers, maps.n_heads) == (6, 12)
    assert_allclose(maps.weights, expected, atol=1e-5)
    assert_allclose(maps.weights.sum(-1), 1, atol=1e-6)


def test_a_hidden_word_is_hidden_from_the_heads_too(bundled: Checkpoint, outside: Outside) -> None:
    hidden = bundled.tokenizer.encode("The cat sleeps.").masked({1})
    expected = outside.attentions(*outside.ids("The [MASK] sleeps."))
    assert_allclose(attention_maps(bundled.model, hidden).weights, expected, atol=1e-5)


def test_a_text_of_just_the_models_length_fits_and_one_token_more_does_not() -> None:
    model, words = guesser(), tokenizer()
    maps = attention_maps(model, words.encode("a " * (LONGEST - 2)))
    assert maps.weights.shape == (2, 3, 8, 8)
    with pytest.raises(TextError, match=r"9 tokens.* at most 8\b"):
        attention_maps(model, words.encode("a " * (LONGEST - 1)))


@pytest.mark.parametrize(
    ("layer", "head", "expected"),
    [
        (0, 1, [[0.5, 0.5], [0.0, 1.0]]),
        (1, 0, [[0.25, 0.75], [1.0, 0.0]]),
        (0, None, [[0.75, 0.25], [0.25, 0.75]]),
        (None, 0, [[0.625, 0.375], [0.75, 0.25]]),
        (None, None, [[0.625, 0.375], [0.4375, 0.5625]]),
    ],
)
def test_one_head_or_a_mean(layer: int | None, head: int | None, expected: list[list[float]]) -> None:
    assert MAPS.pick(layer, head).tolist() == expected


def test_a_mean_of_maps_is_a_map(bundled: Checkpoint) -> None:
    maps = attention_maps(bundled.model, bundled.tokenizer.encode("He plays the piano every day."))
    for picked in (maps.pick(None, None), maps.pick(2, None), maps.pick(None, 3)):
        assert_allclose(picked.sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("layer", "head", "told"),
    [(2, 0, "no layer 2.* 0 to 1"), (-1, 0, "no layer -1"), (0, 2, "no head 2.* 0 to 1"), (None, -1, "no head -1")],
)
def test_a_layer_or_head_that_is_not_there_is_named(layer: int | None, head: int | None, told: str) -> None:
    with pytest.raises(InputError, match=told):
        MAPS.pick(layer, head)


def test_hidden_tokens_lose_their_rows_and_columns_and_nothing_is_rescaled() -> None:
    weights = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.1, 0.3, 0.6]], np.float32)
    before = weights.copy()
    assert_array_equal(without(weights, [False, True, False]), np.array([[0.5, 0.25], [0.1, 0.6]], np.float32))
    assert_array_equal(without(weights, (True, True, False)), np.array([[0.6]], np.float32))
    assert_array_equal(without(weights, 3 * [False]), before)
    assert without(weights, 3 * [True]).shape == (0, 0)
    assert_array_equal(weights, before)


@pytest.mark.parametrize("n_flags", [0, 2, 4])
def test_flags_that_do_not_fit_are_an_input_error(n_flags: int) -> None:
    with pytest.raises(InputError, match=f"{n_flags} flags do not fit a map of 3 tokens"):
        without(np.eye(3, dtype=np.float32), n_flags * [False])
