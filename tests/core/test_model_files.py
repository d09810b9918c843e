"""Folders travel both ways: transformers opens what we save and we open what it saves, with the same logits."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from tiny import PAD_5, TINY, ours, padded, randomise, theirs
from torch import Tensor
from torch.testing import assert_close
from transformers import BertForMaskedLM

from bertviz_lite import BERTConfig, BERTForMaskedLM
from bertviz_lite.errors import BertvizError, CheckpointError, ConfigError, MissingTensorsError

UNTIED = replace(PAD_5, tie_word_embeddings=False)
BOTH_TIES = pytest.mark.parametrize("config", [PAD_5, UNTIED], ids=["tied", "untied"])
WORDS, BIAS = "bert.embeddings.word_embeddings.weight", "cls.predictions.bias"
DECODER, DECODER_BIAS = "cls.predictions.decoder.weight", "cls.predictions.decoder.bias"


def tensors_of(config: BERTConfig = TINY) -> dict[str, Tensor]:
    return dict(ours(config).state_dict())


@BOTH_TIES
def test_saved_and_opened_again_it_is_the_same_model(config: BERTConfig, tmp_path: Path) -> None:
    model = ours(replace(config, hidden_act="gelu_new", layer_norm_eps=1e-7)).train()
    model.save_pretrained(tmp_path / "new" / "folder")
    again = BERTForMaskedLM.from_pretrained(tmp_path / "new" / "folder")
    assert again.config == model.config
    assert not again.training
    assert all(p.requires_grad for p in again.parameters())
    assert_close(dict(again.state_dict()), dict(model.state_dict()), atol=0, rtol=0)
    ids, mask = padded(config)
    assert_close(again(ids, mask).logits, model.eval()(ids, mask).logits, atol=0, rtol=0)


@BOTH_TIES
def test_transformers_opens_what_we_save(config: BERTConfig, tmp_path: Path) -> None:
    model = ours(config)
    model.save_pretrained(tmp_path)
    reference, report = BertForMaskedLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    ids, mask = padded(config)
    assert_close(reference(ids, attention_mask=mask).logits, model(ids, mask).logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "config",
    [
        PAD_5,
        pytest.param(UNTIED),
    ],
    ids=["tied", "untied"],
)
def test_we_open_what_transformers_saves(config: BERTConfig, tmp_path: Path) -> None:
    """Untied, transformers 5 trains `decoder.bias` and leaves `predictions.bias` as it was: the first one counts."""
    reference = theirs(config)
    with torch.no_grad():
        reference.cls.predictions.bias.zero_()
        reference.cls.predictions.decoder.bias.copy_(torch.linspace(-1, 1, 99))
    reference.save_pretrained(tmp_path)
    model = BERTForMaskedLM.from_pretrained(tmp_path)
    ids, mask = padded(config)
    assert_close(model(ids, mask).logits, reference(ids, attention_mask=mask).logits, atol=1e-5, rtol=1e-5)


@BOTH_TIES
def test_from_us_to_transformers_and_back(config: BERTConfig, tmp_path: Path) -> None:
    model = ours(config)
    model.save_pretrained(tmp_path / "ours")
    BertForMaskedLM.from_pretrained(tmp_path / "ours").save_pretrained(tmp_path / "theirs")
    again = BERTForMaskedLM.from_pretrained(tmp_path / "theirs")
    assert again.config == model.config
    assert_close(dict(again.state_dict()), dict(model.state_dict()), atol=0, rtol=0)


def test_a_tied_file_holds_every_tensor_once(tmp_path: Path) -> None:
    ours(TINY).save_pretrained(tmp_path)
    with safe_open(tmp_path / "model.safetensors", "pt") as file:
        assert file.metadata() == {"format": "pt"}
        assert set(file.keys()) == set(tensors_of()) - {DECODER, DECODER_BIAS}


def test_an_untied_file_holds_the_decoder_and_both_biases(tmp_path: Path) -> None:
    ours(UNTIED).save_pretrained(tmp_path)
    saved = load_file(tmp_path / "model.safetensors")
    assert saved.keys() == tensors_of(UNTIED).keys()
    assert torch.equal(saved[DECODER_BIAS], saved[BIAS])
    assert not torch.equal(saved[DECODER], saved[WORDS])


def test_a_relative_model_travels_too(tmp_path: Path) -> None:
    model = ours(replace(TINY, position_embedding_type="relative_key"))
    model.save_pretrained(tmp_path)
    ids, mask = padded()
    assert_close(BERTForMaskedLM.from_pretrained(tmp_path)(ids, mask).logits, model(ids, mask).logits, atol=0, rtol=0)


def test_the_written_config_is_plain_json_with_the_extra_keys(tmp_path: Path) -> None:
    ours(replace(TINY, extra={"note": "é", "model_type": "bert"})).save_pretrained(tmp_path)
    written = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert written["note"] == "é"
    assert written["vocab_size"] == 99
    assert BERTForMaskedLM.from_pretrained(tmp_path).config.extra["note"] == "é"


def test_saving_leaves_the_model_alone_and_may_be_repeated(tmp_path: Path) -> None:
    model = ours()
    before = {name: t.clone() for name, t in model.state_dict().items()}
    model.save_pretrained(tmp_path)
    randomise(model, seed=8)
    model.save_pretrained(str(tmp_path))
    assert_close(dict(BERTForMaskedLM.from_pretrained(str(tmp_path)).state_dict()), dict(model.state_dict()))
    assert not torch.equal(model.state_dict()[WORDS], before[WORDS])


def test_a_folder_may_be_saved_over_while_its_model_is_open(tmp_path: Path) -> None:
    ours(seed=1).save_pretrained(tmp_path)
    first = BERTForMaskedLM.from_pretrained(tmp_path)
    ours(seed=2).save_pretrained(tmp_path)
    assert_close(dict(first.state_dict()), dict(ours(seed=1).state_dict()), atol=0, rtol=0)
    first.save_pretrained(tmp_path)
    again = BERTForMaskedLM.from_pretrained(tmp_path)
    assert_close(dict(again.state_dict()), dict(first.state_dict()), atol=0, rtol=0)


def test_a_model_shares_no_memory_with_the_tensors_it_was_given() -> None:
    source = ours(seed=1)
    copy = BERTForMaskedLM.from_state_dict(TINY, source.state_dict())
    randomise(source, seed=2)
    assert_close(dict(copy.state_dict()), dict(ours(seed=1).state_dict()), atol=0, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions_are_read_as_float32(dtype: torch.dtype, tmp_path: Path) -> None:
    model = ours().to(dtype)
    model.save_pretrained(tmp_path)
    assert {t.dtype for t in load_file(tmp_path / "model.safetensors").values()} == {dtype}
    again = BERTForMaskedLM.from_pretrained(tmp_path)
    assert {p.dtype for p in again.parameters()} == {torch.float32}
    assert_close(dict(again.state_dict()), {name: t.float() for name, t in model.state_dict().items()})


def test_the_bundled_folder_opens_here_and_in_transformers(bundled_folder: Path) -> None:
    model = BERTForMaskedLM.from_pretrained(bundled_folder)
    reference = BertForMaskedLM.from_pretrained(bundled_folder, dtype=torch.float32).eval()
    ids = torch.tensor([[101, 1996, 3007, 1997, 2605, 2003, 103, 1012, 102]])
    with torch.no_grad():
        assert_close(model(ids).logits, reference(ids).logits, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("key", ["torch_dtype", "dtype"])
def test_transformers_opens_float32_weights_in_float32(key: str, tmp_path: Path) -> None:
    """transformers 5 opens in the precision that config.json names; the bundled one names float16."""
    model = ours(replace(TINY, extra={key: "float16"}))
    model.save_pretrained(tmp_path)
    assert BertForMaskedLM.from_pretrained(tmp_path).dtype == torch.float32


def broken_folder(folder: Path, kind: str) -> Path:
    """A folder that cannot be opened, and why."""
    if kind == "no folder":
        return folder / "absent"
    ours().save_pretrained(folder)
    if kind.startswith("no "):
        (folder / kind.removeprefix("no ")).unlink()
    elif kind == "config is no JSON":
        (folder / "config.json").write_text("{'vocab_size': 99}")
    elif kind == "config is nested":
        (folder / "config.json").write_text("[" * 100_000)
    elif kind == "config is no UTF-8":
        (folder / "config.json").write_bytes(b'{"a": "\xff"}')
    elif kind == "weights cut short":
        file = folder / "model.safetensors"
        file.write_bytes(file.read_bytes()[:-100])
    else:
        (folder / "model.safetensors").write_bytes(b"not weights")
    return folder


@pytest.mark.parametrize(
    "kind",
    [
        "no folder",
        "no config.json",
        "no model.safetensors",
        "config is no JSON",
        pytest.param("config is nested"),
        "config is no UTF-8",
        "weights cut short",
        "weights are text",
    ],
)
def test_a_folder_that_cannot_be_opened_is_named(kind: str, tmp_path: Path) -> None:
    folder = broken_folder(tmp_path, kind)
    with pytest.raises(CheckpointError) as caught:
        BERTForMaskedLM.from_pretrained(folder)
    assert str(folder) in str(caught.value)
    assert isinstance(caught.value, BertvizError)


def test_a_config_that_no_bert_can_have_is_told(tmp_path: Path) -> None:
    ours().save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"vocab_size": 0}')
    with pytest.raises(ConfigError, match="vocab_size = 0"):
        BERTForMaskedLM.from_pretrained(tmp_path)


def test_missing_tensors_are_all_named() -> None:
    tensors = tensors_of()
    absent = ("bert.encoder.layer.1.output.dense.weight", "cls.predictions.transform.dense.bias")
    for name in absent:
        del tensors[name]
    with pytest.raises(MissingTensorsError) as caught:
        BERTForMaskedLM.from_state_dict(TINY, tensors)
    assert set(caught.value.missing) == set(absent)
    assert "2 tensors" in str(caught.value)
    assert all(name in str(caught.value) for name in absent)


def test_an_encoder_alone_is_refused(tmp_path: Path) -> None:
    """Junk predictions without an error are what people report (facts/bert.md)."""
    model = ours()
    model.save_pretrained(tmp_path)
    trunk = {k: t for k, t in load_file(tmp_path / "model.safetensors").items() if k.startswith("bert.")}
    save_file(trunk, tmp_path / "model.safetensors")
    with pytest.raises(MissingTensorsError, match=r"transform\.dense\.weight"):
        BERTForMaskedLM.from_pretrained(tmp_path)


def test_an_untied_decoder_may_not_be_absent_but_its_bias_may() -> None:
    tensors = tensors_of(UNTIED)
    del tensors[DECODER_BIAS]
    model = BERTForMaskedLM.from_state_dict(UNTIED, tensors)
    assert_close(model.cls.predictions.decoder.bias, tensors[BIAS], atol=0, rtol=0)
    del tensors[DECODER]
    with pytest.raises(MissingTensorsError) as caught:
        BERTForMaskedLM.from_state_dict(UNTIED, tensors)
    assert caught.value.missing == (DECODER,)


@pytest.mark.parametrize("aliases", [(), (DECODER,), (DECODER_BIAS,), (DECODER, DECODER_BIAS)])
def test_aliases_of_a_tied_model_may_be_present_or_absent(aliases: tuple[str, ...]) -> None:
    expected = tensors_of()
    tensors = {name: t for name, t in expected.items() if name not in (DECODER, DECODER_BIAS) or name in aliases}
    model = BERTForMaskedLM.from_state_dict(TINY, tensors)
    assert_close(dict(model.state_dict()), expected, atol=0, rtol=0)


def test_unexpected_tensors_are_named() -> None:
    tensors = {**tensors_of(), "bert.pooler.dense.weight": torch.zeros(36, 36), "odd": torch.zeros(1)}
    with pytest.raises(CheckpointError) as caught:
        BERTForMaskedLM.from_state_dict(TINY, tensors)
    assert "bert.pooler.dense.weight" in str(caught.value)
    assert "odd" in str(caught.value)


@pytest.mark.parametrize("name", [WORDS, "bert.encoder.layer.0.intermediate.dense.weight", BIAS])
def test_a_tensor_of_another_shape_is_named_with_both_shapes(name: str) -> None:
    tensors = tensors_of()
    right = tuple(tensors[name].shape)
    tensors[name] = torch.zeros(right[0] + 1, *right[1:])
    with pytest.raises(CheckpointError) as caught:
        BERTForMaskedLM.from_state_dict(TINY, tensors)
    for word in (name, str((right[0] + 1, *right[1:])), str(right)):
        assert word in str(caught.value)
