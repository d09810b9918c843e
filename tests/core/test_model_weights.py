"""What a new model holds: parameter counts of facts/bert.md, ties, and the initial values of the configuration."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from tiny import TINY, ours
from torch import nn

from bertviz_lite import BERTConfig, BERTForMaskedLM, BERTModel

UNTIED = replace(TINY, tie_word_embeddings=False)
BOTH_TIES = pytest.mark.parametrize("config", [TINY, UNTIED], ids=["tied", "untied"])

# facts/bert.md: layers, width, heads, tied, untied
SIZES = {
    "tiny": (2, 128, 2, 4_416_698, 8_323_514),
    "mini": (4, 256, 4, 11_201_594, 19_015_226),
    "small": (4, 512, 8, 28_795_194, 44_422_458),
    "medium": (8, 512, 8, 41_404_730, 57_031_994),
    "base": (12, 768, 12, 109_514_298, 132_955_194),
    "large": (24, 1024, 16, 335_174_458, 366_428_986),
}


def sized(layers: int, width: int, heads: int, *, vocab: int = 30522, tied: bool = True) -> BERTForMaskedLM:
    """A model of this size that takes no memory."""
    config = BERTConfig(
        vocab_size=vocab,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        tie_word_embeddings=tied,
    )
    with torch.device("meta"):
        return BERTForMaskedLM(config)


@pytest.mark.parametrize("size", SIZES)
def test_parameter_counts(size: str) -> None:
    layers, width, heads, tied, untied = SIZES[size]
    assert sized(layers, width, heads).num_parameters() == tied
    assert sized(layers, width, heads, tied=False).num_parameters() == untied


def test_parameter_count_of_base_cased() -> None:
    assert sized(12, 768, 12, vocab=28_996).num_parameters() == 108_340_804


@pytest.mark.parametrize("build", [BERTForMaskedLM, BERTModel])
@pytest.mark.parametrize("wrong", [None, {"vocab_size": 99}, "bert-base-uncased", BERTConfig])
def test_anything_but_a_config_is_a_type_error(build: type[nn.Module], wrong: object) -> None:
    with pytest.raises(TypeError, match=f"{build.__name__} takes a BERTConfig, not {type(wrong).__name__}"):
        build(wrong)


def is_tied(model: BERTForMaskedLM) -> bool:
    head = model.cls.predictions
    return head.decoder.weight is model.bert.embeddings.word_embeddings.weight and head.decoder.bias is head.bias


def test_the_decoder_is_the_embedding_whatever_happens() -> None:
    model = ours()
    assert is_tied(model)
    assert is_tied(copy.deepcopy(model))
    assert is_tied(copy.deepcopy(model).half())
    assert is_tied(copy.deepcopy(model).to(torch.float64))
    assert is_tied(copy.deepcopy(model).to_empty(device="cpu"))
    assert is_tied(BERTForMaskedLM.from_state_dict(TINY, model.state_dict()))
    model.resize_token_embeddings(120)
    assert is_tied(model)


def test_the_tie_survives_leaving_the_meta_device() -> None:
    assert is_tied(sized(2, 128, 2).to_empty(device="cpu"))


def test_an_untied_decoder_is_its_own() -> None:
    model = ours(UNTIED)
    assert model.cls.predictions.decoder.weight is not model.bert.embeddings.word_embeddings.weight
    assert model.cls.predictions.decoder.bias is model.cls.predictions.bias


@BOTH_TIES
def test_initial_weights(config: BERTConfig) -> None:
    torch.manual_seed(0)
    wide = replace(config, vocab_size=500, hidden_size=128, max_position_embeddings=200, initializer_range=0.05)
    wide = replace(wide, pad_token_id=5, position_embedding_type="relative_key", type_vocab_size=64)
    for name, weight in BERTForMaskedLM(wide).state_dict().items():
        if name.endswith("LayerNorm.weight"):
            assert (weight == 1).all(), name
        elif name.endswith("bias"):
            assert (weight == 0).all(), name
        else:  # of 4,736 normals or more, the standard error of deviation and mean is 1.0 % and 1.5 % of sigma
            assert weight.std().item() == pytest.approx(0.05, rel=0.06), name
            assert abs(weight.mean().item()) < 0.05 * 0.06, name
        if name == "bert.embeddings.word_embeddings.weight":
            assert not weight[5].any()
            assert weight[:5].any(1).all()
