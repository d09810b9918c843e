"""A vocabulary of another size: embedding, decoder and bias change together; expected rows are copies taken before."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from tiny import PAD_5, ours, theirs, token_ids
from torch import Tensor
from torch.testing import assert_close

from bertviz_lite import BERTConfig, BERTForMaskedLM
from bertviz_lite.errors import ConfigError, InputError

BOTH_TIES = pytest.mark.parametrize(
    "config", [PAD_5, replace(PAD_5, tie_word_embeddings=False)], ids=["tied", "untied"]
)
SIZES = pytest.mark.parametrize("n", [120, 99, 100, 60, 6])


def vocabulary_of(model: BERTForMaskedLM) -> dict[str, Tensor]:
    """Copies of what has one entry a piece: (V, D), (V, D) and (V,)."""
    head = model.cls.predictions
    return {
        "embedding": model.bert.embeddings.word_embeddings.weight.detach().clone(),
        "decoder": head.decoder.weight.detach().clone(),
        "bias": head.bias.detach().clone(),
    }


@BOTH_TIES
@SIZES
def test_three_sizes_change_together_and_old_rows_stay(config: BERTConfig, n: int) -> None:
    model = ours(config)
    before = vocabulary_of(model)
    model.resize_token_embeddings(n)
    after = vocabulary_of(model)
    kept = min(n, 99)
    for name, old in before.items():
        assert after[name].shape == (n, *old.shape[1:]), name
        assert_close(after[name][:kept], old[:kept], atol=0, rtol=0)
    assert not after["bias"][kept:].any()
    for name in ("embedding", "decoder"):
        assert after[name][kept:].any(1).all(), "new rows are drawn, not left at zero"


@BOTH_TIES
@SIZES
def test_what_torch_and_the_configuration_say_follows(config: BERTConfig, n: int) -> None:
    model = ours(config)
    model.resize_token_embeddings(n)
    head = model.cls.predictions
    assert model.config == replace(config, vocab_size=n)
    assert model.bert.config is model.config
    assert model.bert.embeddings.word_embeddings.num_embeddings == n
    assert head.decoder.out_features == n
    assert head.decoder.bias is head.bias
    assert (head.decoder.weight is model.bert.embeddings.word_embeddings.weight) == config.tie_word_embeddings
    fresh = BERTForMaskedLM(model.config)
    assert {k: t.shape for k, t in model.state_dict().items()} == {k: t.shape for k, t in fresh.state_dict().items()}
    assert model.num_parameters() == fresh.num_parameters()


@BOTH_TIES
def test_logits_of_old_pieces_stay(config: BERTConfig) -> None:
    model, ids = ours(config), token_ids(config) % 60
    before = model(ids).logits
    model.resize_token_embeddings(120)
    assert_close(model(ids).logits[..., :99], before, atol=1e-6, rtol=1e-6)
    model.resize_token_embeddings(60)
    assert_close(model(ids).logits, before[..., :60], atol=1e-6, rtol=1e-6)


@BOTH_TIES
def test_new_pieces_can_be_read_asked_for_and_trained(config: BERTConfig) -> None:
    model = ours(config).train()
    model.resize_token_embeddings(120)
    ids = token_ids(config)
    ids[0, 0] = 119
    model(ids, labels=ids).loss.backward()
    head = model.cls.predictions
    for parameter in (model.bert.embeddings.word_embeddings.weight, head.decoder.weight, head.bias):
        assert parameter.grad is not None
        assert parameter.grad[119].any()


def test_dropped_pieces_are_refused_from_then_on() -> None:
    model = ours(PAD_5)
    model.resize_token_embeddings(60)
    with pytest.raises(InputError, match=r"input_ids holds 60 .* 59"):
        model(torch.tensor([[1, 60]]))
    with pytest.raises(InputError, match=r"labels holds 98 .* 59"):
        model(torch.tensor([[1, 2]]), labels=torch.tensor([[98, -100]]))


def test_new_rows_have_the_initial_deviation() -> None:
    torch.manual_seed(0)
    model = ours(replace(PAD_5, initializer_range=0.5))
    model.resize_token_embeddings(99 + 300)
    new = model.bert.embeddings.word_embeddings.weight[99:]
    # 10,800 normals: the deviation of the sample is off by 0.7 % (one standard error)
    assert new.std().item() == pytest.approx(0.5, rel=0.03)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_precision_and_frozen_weights_stay_as_they_were(dtype: torch.dtype) -> None:
    model = ours(PAD_5).to(dtype).requires_grad_(False)
    model.resize_token_embeddings(120)
    assert {p.dtype for p in model.parameters()} == {dtype}
    assert not any(p.requires_grad for p in model.parameters())


@pytest.mark.parametrize("n", [0, -1, 5, 2.5, "120", None, True])
def test_an_impossible_size_is_told_and_changes_nothing(n: object) -> None:
    model = ours(PAD_5)
    before = vocabulary_of(model)
    with pytest.raises(ConfigError, match="pad_token_id = 5" if n == 5 else f"vocab_size = {n!r}"):
        model.resize_token_embeddings(n)  # type: ignore[arg-type]
    assert model.config == PAD_5
    assert_close(vocabulary_of(model), before, atol=0, rtol=0)


@BOTH_TIES
def test_transformers_of_the_new_size_takes_the_weights(config: BERTConfig) -> None:
    model, ids = ours(config), token_ids(config)
    model.resize_token_embeddings(128)
    reference = theirs(model.config)
    reference.load_state_dict(model.state_dict(), strict=True)
    assert_close(model(ids).logits, reference(ids).logits, atol=1e-5, rtol=1e-5)
