"""Expected values come from transformers' BertForMaskedLM with the same weights, sub-module by sub-module.

Relative positions are compared with loops over the published formula (facts/bert.md), since transformers 5
accepts the setting and ignores it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from tiny import PAD_5, TINY, labels_for, ours, padded, theirs, token_ids, twins
from torch import Tensor, nn
from torch.testing import assert_close

from bertviz_lite.config import ACTIVATIONS, BERTConfig
from bertviz_lite.model import BERTForMaskedLM, SelfAttention

UNTIED = replace(PAD_5, tie_word_embeddings=False)
CONFIGS = pytest.mark.parametrize("config", [TINY, PAD_5, UNTIED], ids=["tied", "tied-pad-5", "untied-pad-5"])
TOLERANCE = {"atol": 1e-5, "rtol": 1e-5}


def segments_of(ids: Tensor) -> Tensor:
    """Segments 0, then 1 from token 5, then 2 from token 8: every row of the segment embedding is read."""
    at = torch.arange(ids.shape[1])
    return ((at >= 5).long() + (at >= 8)).expand_as(ids).contiguous()


def vectors(seed: int = 3) -> Tensor:
    """Something for a sub-module to read: (B=2, T=7, D=36)."""
    return torch.randn(2, 7, 36, generator=torch.Generator().manual_seed(seed))


def some_bias() -> Tensor:
    """Additive mask (B=2, 1, 1, T=7) that hides the last two tokens of the second sequence."""
    bias = torch.zeros(2, 1, 1, 7)
    bias[1, ..., 5:] = torch.finfo(torch.float32).min
    return bias


@CONFIGS
def test_state_dict_names_and_shapes_are_those_of_transformers(config: BERTConfig) -> None:
    mine, reference = ours(config).state_dict(), theirs(config).state_dict()
    assert {name: t.shape for name, t in mine.items()} == {name: t.shape for name, t in reference.items()}


@CONFIGS
def test_weights_load_strictly_both_ways(config: BERTConfig) -> None:
    ids, mask = padded(config)
    model, reference = ours(config, seed=4), theirs(config, seed=5)
    before = model(ids, mask).logits
    reference.load_state_dict(model.state_dict(), strict=True)
    assert_close(reference(ids, attention_mask=mask).logits, before, **TOLERANCE)

    other = ours(config, seed=6)
    other.load_state_dict(reference.state_dict(), strict=True)
    assert_close(other(ids, mask).logits, before, atol=0, rtol=0)


def test_embeddings() -> None:
    model, reference = twins()
    ids = token_ids(length=TINY.max_position_embeddings)
    expected = reference.bert.embeddings(input_ids=ids, token_type_ids=segments_of(ids))
    assert_close(model.bert.embeddings(ids, segments_of(ids)), expected, **TOLERANCE)


@pytest.mark.parametrize("bias", [torch.zeros(2, 1, 1, 7), some_bias()], ids=["all", "masked"])
def test_self_attention(bias: Tensor) -> None:
    model, reference = twins()
    mine, expected = model.bert.encoder.layer[1].attention.self, reference.bert.encoder.layer[1].attention.self
    maps: list[Tensor] = []
    context = mine(vectors(), bias, maps)
    expected_context, expected_map = expected(vectors(), attention_mask=bias)
    assert len(maps) == 1
    assert_close(maps[0], expected_map, **TOLERANCE)
    assert_close(context, expected_context, **TOLERANCE)
    with torch.no_grad():  # the fused kernel
        assert_close(mine(vectors(), bias, None), expected_context, **TOLERANCE)


def test_attention_block() -> None:
    model, reference = twins()
    mine, expected = model.bert.encoder.layer[2].attention, reference.bert.encoder.layer[2].attention
    assert_close(mine(vectors(), some_bias(), None), expected(vectors(), attention_mask=some_bias())[0], **TOLERANCE)


@pytest.mark.parametrize("act", ACTIVATIONS)
def test_layer(act: str) -> None:
    model, reference = twins(replace(TINY, hidden_act=act))
    mine, expected = model.bert.encoder.layer[0], reference.bert.encoder.layer[0]
    assert_close(mine(vectors(), some_bias(), None), expected(vectors(), attention_mask=some_bias()), **TOLERANCE)


@pytest.mark.parametrize("act", ACTIVATIONS)
def test_transform(act: str) -> None:
    model, reference = twins(replace(TINY, hidden_act=act))
    mine, expected = model.cls.predictions.transform, reference.cls.predictions.transform
    assert_close(mine(4 * vectors()), expected(4 * vectors()), **TOLERANCE)


@CONFIGS
def test_head(config: BERTConfig) -> None:
    model, reference = twins(config)
    assert_close(model.cls(vectors()), reference.cls(vectors()), **TOLERANCE)


@CONFIGS
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_whole_model(config: BERTConfig, attention: str) -> None:
    model, reference = twins(config, attention)
    ids, mask = padded(config)
    labels = labels_for(ids)
    mine = model(ids, mask, segments_of(ids), labels, output_hidden_states=True)
    expected = reference(
        ids, attention_mask=mask, token_type_ids=segments_of(ids), labels=labels, output_hidden_states=True
    )
    assert_close(mine.logits, expected.logits, **TOLERANCE)
    assert_close(mine.loss, expected.loss, **TOLERANCE)
    assert len(mine.hidden_states) == TINY.num_hidden_layers + 1
    assert_close(mine.hidden_states, tuple(expected.hidden_states), **TOLERANCE)
    assert mine.attentions is None


@CONFIGS
def test_attention_maps(config: BERTConfig) -> None:
    model, reference = twins(config)
    ids, mask = padded(config)
    expected = reference(ids, attention_mask=mask, output_attentions=True)
    mine = model(ids, mask, output_attentions=True)
    assert len(mine.attentions) == TINY.num_hidden_layers
    assert_close(mine.attentions, tuple(expected.attentions), **TOLERANCE)
    assert mine.hidden_states is None


@pytest.mark.parametrize("act", ACTIVATIONS)
def test_logits_with_every_activation(act: str) -> None:
    model, reference = twins(replace(TINY, hidden_act=act))
    ids, mask = padded()
    assert_close(model(ids, mask).logits, reference(ids, attention_mask=mask).logits, **TOLERANCE)


def test_trunk_alone() -> None:
    model, reference = twins()
    ids, mask = padded()
    expected = reference.bert(ids, attention_mask=mask, token_type_ids=segments_of(ids))
    mine = model.bert(ids, mask, segments_of(ids))
    assert_close(mine.last_hidden_state, expected.last_hidden_state, **TOLERANCE)


def test_the_longest_sequence() -> None:
    model, reference = twins()
    ids = token_ids(length=TINY.max_position_embeddings)
    assert_close(model(ids).logits, reference(ids).logits, **TOLERANCE)


@CONFIGS
def test_gradients_of_every_parameter(config: BERTConfig) -> None:
    model, reference = twins(config)
    ids, mask = padded(config)
    labels = labels_for(ids)
    model(ids, mask, segments_of(ids), labels).loss.backward()
    reference(ids, attention_mask=mask, token_type_ids=segments_of(ids), labels=labels).loss.backward()
    expected = {name: p.grad for name, p in reference.named_parameters()}
    if not config.tie_word_embeddings:
        # transformers adds the decoder's own bias and leaves predictions.bias without a gradient.
        expected["cls.predictions.bias"] = expected.pop("cls.predictions.decoder.bias")
    mine = {name: p.grad for name, p in model.named_parameters()}
    assert mine.keys() == expected.keys()
    for name, gradient in mine.items():
        assert_close(gradient, expected[name], **TOLERANCE, msg=lambda text, name=name: f"{name}: {text}")
    assert mine["bert.embeddings.word_embeddings.weight"][config.pad_token_id].any() == config.tie_word_embeddings


@CONFIGS
def test_fused_inference_equals_the_explicit_path(config: BERTConfig) -> None:
    model = ours(config)
    ids, mask = padded(config)
    explicit = model(ids, mask, output_hidden_states=True)
    with torch.no_grad():
        fused = model(ids, mask, output_hidden_states=True)
        with_maps = model(ids, mask, output_attentions=True)
    assert explicit.logits.requires_grad
    assert_close(fused.logits, explicit.logits, **TOLERANCE)
    assert_close(fused.hidden_states, explicit.hidden_states, **TOLERANCE)
    assert_close(with_maps.logits, explicit.logits, **TOLERANCE)


def test_the_fused_kernel_runs_in_inference_alone_and_never_where_maps_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel, calls = nn.functional.scaled_dot_product_attention, []

    def counted(*args: Any, **kwargs: Any) -> Tensor:  # noqa: ANN401
        calls.append(len(args))
        return kernel(*args, **kwargs)

    monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", counted)
    model, ids = ours(), token_ids()
    model(ids)
    with torch.no_grad():
        model(ids, output_attentions=True)
    assert calls == []
    with torch.no_grad():
        model(ids)
    assert len(calls) == TINY.num_hidden_layers


@CONFIGS
def test_without_a_mask_padding_is_masked(config: BERTConfig) -> None:
    """transformers attends to padding when no mask is given; we derive the mask from the padding id."""
    model, reference = twins(config)
    ids, _ = padded(config)
    mask = (ids != config.pad_token_id).long()
    assert_close(model(ids).logits, model(ids, mask).logits, atol=0, rtol=0)
    assert_close(model(ids).logits, reference(ids, attention_mask=mask).logits, **TOLERANCE)
    assert not torch.allclose(model(ids, torch.ones_like(ids)).logits, model(ids, mask).logits, atol=1e-3)


def relative(kind: str, max_positions: int = 8) -> BERTForMaskedLM:
    return ours(replace(TINY, position_embedding_type=kind, max_position_embeddings=max_positions))


def heads_by_the_formula(attention: SelfAttention, x: Tensor, with_key: bool) -> Tensor:
    """Maps (H, T, T) of one sequence x (T, D), one score at a time.

    score[i, j] = (q_i·k_j + q_i·E[i-j+max-1] (+ k_j·E[i-j+max-1])) / sqrt(d)
    """
    n_heads, d, n = TINY.num_attention_heads, TINY.head_size, len(x)
    E = attention.distance_embedding.weight
    middle = (E.shape[0] + 1) // 2 - 1  # E has 2·max − 1 rows
    q = nn.functional.linear(x, attention.query.weight, attention.query.bias)
    k = nn.functional.linear(x, attention.key.weight, attention.key.bias)
    scores = torch.zeros(n_heads, n, n)
    for h in range(n_heads):
        own = slice(h * d, (h + 1) * d)
        for i in range(n):
            for j in range(n):
                score = q[i, own].dot(k[j, own]) + q[i, own].dot(E[i - j + middle])
                if with_key:
                    score = score + k[j, own].dot(E[i - j + middle])
                scores[h, i, j] = score / math.sqrt(d)
    return scores.softmax(-1)


@pytest.mark.parametrize("kind", ["relative_key", "relative_key_query"])
@pytest.mark.parametrize("length", [5, 8])
@torch.no_grad()
def test_relative_positions_follow_the_formula(kind: str, length: int) -> None:
    attention = relative(kind).bert.encoder.layer[0].attention.self
    assert attention.distance_embedding.weight.shape == (2 * 8 - 1, TINY.head_size)
    x = vectors()[:1].repeat(1, 2, 1)[:, :length]
    maps: list[Tensor] = []
    bias = torch.zeros(1, 1, 1, length)
    context = attention(x, bias, maps)
    expected = heads_by_the_formula(attention, x[0], with_key=kind == "relative_key_query")
    assert_close(maps[0][0], expected, **TOLERANCE)
    assert_close(attention(x, bias, None), context, **TOLERANCE)


@pytest.mark.parametrize("kind", ["relative_key", "relative_key_query"])
@torch.no_grad()
def test_relative_models_read_no_absolute_positions(kind: str) -> None:
    """With its distances at zero, such a model is the absolute one with its position embeddings at zero."""
    config = replace(TINY, position_embedding_type=kind)
    model, reference = ours(config), theirs(TINY)
    shared = {name: t for name, t in model.state_dict().items() if "distance_embedding" not in name}
    reference.load_state_dict(shared, strict=True)
    reference.bert.embeddings.position_embeddings.weight.zero_()
    for layer in model.bert.encoder.layer:
        layer.attention.self.distance_embedding.weight.zero_()
    ids, mask = padded()
    assert_close(model(ids, mask).logits, reference(ids, attention_mask=mask).logits, **TOLERANCE)


@pytest.mark.parametrize("kind", ["relative_key", "relative_key_query"])
def test_relative_names_padding_and_gradients(kind: str) -> None:
    model = relative(kind, max_positions=40)
    name = "bert.encoder.layer.0.attention.self.distance_embedding.weight"  # facts/bert.md
    assert set(model.state_dict()) - set(theirs().state_dict()) == {name.replace("0", str(n)) for n in range(3)}
    ids, mask = padded()
    with torch.no_grad():
        alone = model(ids[1:2, :9]).logits
        assert_close(model(ids, mask).logits[1:2, :9], alone, **TOLERANCE)
    model(ids, mask, labels=labels_for(ids)).loss.backward()
    gradient = model.get_parameter(name).grad
    assert gradient is not None
    # 13 tokens are at most 12 apart; row 39 is distance 0.
    assert gradient[39 - 12 : 39 + 13].any(1).all()
    assert not gradient[: 39 - 12].any()
    assert not gradient[39 + 13 :].any()
