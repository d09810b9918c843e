"""Expected values: transformers' own query and key projections and maps; of relative positions, a plain loop."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from guesser import guesser, relative_guesser, tokenizer
from numpy.testing import assert_allclose
from outside import Outside

from bertviz_lite import BERTForMaskedLM, Checkpoint
from bertviz_lite.analysis import QueryKey, query_key
from bertviz_lite.errors import CheckpointError, InputError, TextError

TEXT = ("Where is the souvenir?", "On the [MASK] table.")


def add_up(found: QueryKey) -> float:
    """The weight from the numbers that are shown, in plain Python."""
    d = len(found.query)
    scores = [
        sum(float(q) * float(k) for q, k in zip(found.query, key, strict=True)) / math.sqrt(d) + float(by_distance)
        for key, by_distance in zip(found.keys, found.distance_scores, strict=True)
    ]
    raised = [math.exp(score - max(scores)) for score in scores]
    return raised[found.key_position] / sum(raised)


@pytest.mark.parametrize(("layer", "head", "i", "j"), [(0, 2, 3, 2), (1, 8, 4, 5), (4, 11, 6, 0), (5, 0, 0, 9)])
def test_vectors_and_weight_are_those_of_transformers(
    bundled: Checkpoint, outside: Outside, layer: int, head: int, i: int, j: int
) -> None:
    found = query_key(bundled.model, bundled.tokenizer.encode(*TEXT), layer, head, i, j)
    ids, segments = outside.ids(*TEXT)
    with torch.no_grad():
        read = outside.model(ids[None], token_type_ids=segments[None], output_hidden_states=True).hidden_states[layer]
        own = outside.model.bert.encoder.layer[layer].attention.self
        d = own.attention_head_size
        query, keys = (project(read)[0].view(len(ids), -1, d)[:, head] for project in (own.query, own.key))
    row = outside.attentions(ids, segments)[layer, head, i]
    assert_allclose(found.query, query[i], atol=1e-5)
    assert_allclose(found.keys, keys, atol=1e-5)
    assert_allclose(found.key, keys[j], atol=1e-5)
    assert_allclose(found.products, query[i] * keys[j], atol=1e-4)
    assert_allclose(found.dot, query[i].dot(keys[j]), atol=1e-4)
    assert found.scale == 1 / math.sqrt(d)
    assert_allclose(found.scores, keys @ query[i] / math.sqrt(d), atol=1e-4)
    assert_allclose(found.weights, row, atol=1e-5)
    assert_allclose(found.probs, row, atol=1e-5)
    assert_allclose((found.prob, found.weight), float(row[j]), atol=1e-5)
    assert not found.distance_scores.any()


def test_every_weight_of_every_head_adds_up(bundled: Checkpoint) -> None:
    encoding = bundled.tokenizer.encode("The cat sleeps.").masked([1])
    for layer, head in np.ndindex(6, 12):
        found = query_key(bundled.model, encoding, layer, head, (layer + head) % len(encoding), head % len(encoding))
        assert_allclose(add_up(found), found.weight, atol=1e-5)
        assert_allclose(found.scores[found.key_position], found.dot * found.scale, atol=1e-5)


@pytest.mark.parametrize("kind", ["relative_key", "relative_key_query"])
def test_relative_positions_add_their_terms(kind: str) -> None:
    model, encoding = relative_guesser(kind), tokenizer().encode("as b [MASK].")
    with torch.no_grad():
        maps = torch.cat(model(**encoding.tensors(), output_attentions=True).attentions).numpy()
    n, d = len(encoding), 2
    for layer, head in np.ndindex(2, 3):
        table = model.bert.encoder.layer[layer].attention.self.distance_embedding.weight.detach().numpy()
        middle = (len(table) - 1) // 2
        for i, j in np.ndindex(n, n):
            found = query_key(model, encoding, layer, head, i, j)
            assert_allclose(found.weight, maps[layer, head, i, j], atol=1e-5)
            assert_allclose(add_up(found), found.weight, atol=1e-5)
            by_query = found.query @ table[i - j + middle] / math.sqrt(d)
            by_key = found.key @ table[i - j + middle] / math.sqrt(d) if kind == "relative_key_query" else 0
            assert_allclose(found.distance_scores[j], by_query + by_key, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ((2, 0, 0, 0), r"no layer 2.* 0 to 1"),
        ((0, 3, 0, 0), r"no head 3.* 0 to 2"),
        ((0, -1, 0, 0), r"no head -1"),
        ((0, 0, 4, 0), r"no token 4.* 0 to 3"),
        ((0, 0, 0, -1), r"no token -1"),
    ],
)
def test_what_is_not_there_is_named(at: tuple[int, int, int, int], told: str) -> None:
    with pytest.raises(InputError, match=told):
        query_key(guesser(), tokenizer().encode("a b"), *at)


def nan_model() -> BERTForMaskedLM:
    model = guesser()
    with torch.no_grad():
        model.bert.embeddings.LayerNorm.bias.fill_(torch.nan)
    return model


def test_what_cannot_be_worked_out_is_told() -> None:
    with pytest.raises(CheckpointError, match="attention weights are NaN"):
        query_key(nan_model(), tokenizer().encode("a b"), 0, 0, 0, 0)
    with pytest.raises(TextError, match="9 tokens"):
        query_key(guesser(), tokenizer().encode("a " * 7), 0, 0, 0, 0)
