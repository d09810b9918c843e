"""Expected values: transformers' eager attentions on the bundled checkpoint, and means worked out by hand.

Of models with relative positions, which transformers no longer has, the network's own maps are the source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from guesser import LONGEST, guesser, relative_guesser, tokenizer
from numpy.testing import assert_allclose
from outside import Outside

from bertviz_lite import BERTForMaskedLM, Checkpoint
from bertviz_lite.analysis import AttentionMaps, attention_maps, each_layer, head_map, layer_maps, mean_map, query_key
from bertviz_lite.errors import CheckpointError, InputError, TextError
from bertviz_lite.tokenizer import Encoding

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


def test_one_layer_or_one_head_is_that_of_transformers(bundled: Checkpoint, outside: Outside) -> None:
    text, pair = "Where is the souvenir?", "On the [MASK] table."
    encoding = bundled.tokenizer.encode(text, pair)
    expected = outside.attentions(*outside.ids(text, pair)).numpy()
    for layer in range(6):
        assert_allclose(layer_maps(bundled.model, encoding, layer), expected[layer], atol=1e-5)
    assert_allclose(head_map(bundled.model, encoding, 4, 11), expected[4, 11], atol=1e-5)
    for found, wanted in zip(each_layer(bundled.model, encoding), expected, strict=True):
        assert_allclose(found, wanted, atol=1e-5)


def test_a_head_keeps_no_other_head_in_memory(bundled: Checkpoint) -> None:
    encoding = bundled.tokenizer.encode("He plays the piano.")
    assert head_map(bundled.model, encoding, 0, 3).base is None
    worked = query_key(bundled.model, encoding, 0, 3, 1, 2)
    assert (worked.weights.base, worked.keys.base, worked.query.base) == (None, None, None)


def test_layers_above_the_one_that_is_asked_are_not_run(bundled: Checkpoint) -> None:
    ran: list[int] = []
    layers = bundled.model.bert.encoder.layer
    watched = [
        layer.intermediate.register_forward_hook(lambda *_, n=n: ran.append(n)) for n, layer in enumerate(layers)
    ]
    try:
        encoding = bundled.tokenizer.encode("He plays the piano.")
        head_map(bundled.model, encoding, 2, 0)
        assert ran == [0, 1]
        ran.clear()
        next(each_layer(bundled.model, encoding))
        assert ran == [0]
    finally:
        for hook in watched:
            hook.remove()


@pytest.mark.parametrize("kind", ["relative_key", "relative_key_query"])
def test_models_with_relative_positions(kind: str) -> None:
    model, encoding = relative_guesser(kind), tokenizer().encode("as b [MASK].")
    with torch.no_grad():
        expected = torch.cat(model(**encoding.tensors(), output_attentions=True).attentions).numpy()
    assert_allclose(attention_maps(model, encoding).weights, expected, atol=1e-5)
    assert_allclose(layer_maps(model, encoding, 1), expected[1], atol=1e-5)


@pytest.mark.parametrize("ask", [attention_maps, lambda *a: layer_maps(*a, 1), lambda *a: head_map(*a, 1, 0)])
def test_what_cannot_be_read_is_told(ask: Callable[[BERTForMaskedLM, Encoding], object]) -> None:
    model, words = guesser(), tokenizer()
    with pytest.raises(TextError, match="9 tokens"):
        ask(model, words.encode("a " * (LONGEST - 1)))
    with pytest.raises(InputError, match=r"input_ids holds 12 .*0 to 11"):
        ask(model, replace(words.encode("a"), ids=(2, 12, 3)))
    with pytest.raises(InputError, match=r"token_type_ids holds 2 .*0 to 1"):
        ask(model, replace(words.encode("a"), segment_ids=(0, 2, 0)))
    with torch.no_grad():
        model.bert.embeddings.LayerNorm.bias.fill_(torch.nan)
    with pytest.raises(CheckpointError, match="attention weights are NaN"):
        ask(model, words.encode("a"))


def test_layers_and_heads_that_the_model_lacks_are_named() -> None:
    model, encoding = guesser(), tokenizer().encode("a b")
    with pytest.raises(InputError, match=r"no layer 2.* 0 to 1"):
        layer_maps(model, encoding, 2)
    for head in (-1, 3):
        with pytest.raises(InputError, match=rf"no head {head}.* 0 to 2"):
            head_map(model, encoding, 0, head)


def test_a_mean_over_chosen_heads() -> None:
    assert mean_map(MAPS.weights, [(0, 0), (1, 1)]).tolist() == [[0.875, 0.125], [0.375, 0.625]]
    of_three = mean_map(iter(MAPS.weights), {(1, 0), (0, 1), (0, 0)})
    assert_allclose(of_three, [[1.75 / 3, 1.25 / 3], [1.5 / 3, 1.5 / 3]], rtol=1e-6)
    with pytest.raises(InputError, match="No head is chosen"):
        mean_map(MAPS.weights, [])
    for wrong, told in (((2, 0), "no layer 2"), ((-1, 0), "no layer -1"), ((1, 2), "no head 2")):
        with pytest.raises(InputError, match=told):
            mean_map(MAPS.weights, [(0, 0), wrong])
