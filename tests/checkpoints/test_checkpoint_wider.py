"""Checkpoints as other programs leave them. Expected values: transformers' logits of the same tensors, in memory."""

from __future__ import annotations

import io
import tarfile
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from bounds import HAS_PEAK, in_memory
from small_files import (
    DECODER,
    WORDS,
    Tensors,
    files,
    holding,
    logits_of,
    packed,
    put,
    reference,
    tensors_of,
)
from torch.testing import assert_close
from transformers import BertConfig, BertForPreTraining
from wider_cases import (
    BAD_TARS,
    DEEP,
    FAMILIES,
    FILES,
    INDEXES,
    PLAIN,
    SHARDS,
    TRAINED,
    in_tensorflow,
    long_name,
    member,
    tar_of,
)

from bertviz_lite.checkpoints import Checkpoint, inspect, load
from bertviz_lite.errors import ArchiveError, BertvizError, CheckpointError, MissingTensorsError, WeightsError

HEAD = tuple(name for name in tensors_of() if name.startswith("cls."))
TRUNK = {name: t for name, t in tensors_of().items() if name not in HEAD}
N_VALUES = sum(t.numel() for t in tensors_of().values())


def is_the_reference(checkpoint: Checkpoint) -> bool:
    assert_close(logits_of(checkpoint.model), logits_of(reference()), atol=1e-5, rtol=1e-5)
    return True


TARS = {"a.tar": "w", "a.tar.gz": "w:gz", "a.tgz": "w:gz", "a.TAR.BZ2": "w:bz2", "a.tar.xz": "w:xz"}


@pytest.mark.parametrize(("name", "mode"), TARS.items())
@pytest.mark.parametrize("contents", [FILES, DEEP], ids=["flat", "deep"])
def test_a_tar_opens(name: str, mode: str, contents: Mapping[str, bytes], tmp_path: Path) -> None:
    content = tar_of(contents, member("models", tarfile.DIRTYPE), mode=mode)
    (tmp_path / name).write_bytes(content)
    for source in (tmp_path / name, {name: io.BytesIO(content)}):
        checkpoint = load(source)
        assert is_the_reference(checkpoint)
        assert checkpoint.report.name == "a"


@pytest.mark.parametrize(("content", "word"), BAD_TARS.values(), ids=BAD_TARS)
def test_a_bad_tar_is_refused(content: bytes, word: str, tmp_path: Path) -> None:
    (tmp_path / "bad.tar.gz").write_bytes(content)
    for read in (load, inspect):
        with pytest.raises(ArchiveError, match=word):
            read(tmp_path / "bad.tar.gz")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.tar.gz"]


@pytest.mark.skipif(not HAS_PEAK, reason="the peak of a process's memory can be set back on Linux alone")
def test_a_long_name_in_a_tar_costs_little(tmp_path: Path) -> None:
    (tmp_path / "bad.tar.gz").write_bytes(long_name())
    assert (tmp_path / "bad.tar.gz").stat().st_size < 8 << 20
    with in_memory(), pytest.raises(BertvizError):
        load(tmp_path / "bad.tar.gz")


@pytest.mark.parametrize("kind", SHARDS)
def test_shards_with_their_index_open(kind: str, tmp_path: Path) -> None:
    for source in (put(tmp_path, SHARDS[kind]), {name: io.BytesIO(c) for name, c in SHARDS[kind].items()}):
        checkpoint = load(source)
        assert is_the_reference(checkpoint)
        assert set(checkpoint.report.files) == {n for n in SHARDS[kind] if not n.endswith(".index.json")}
        assert "3 files" in checkpoint.report.format


@pytest.mark.parametrize("kind", SHARDS)
def test_a_shard_that_is_missing_is_named(kind: str, tmp_path: Path) -> None:
    gone = next(name for name in SHARDS[kind] if "-00002-" in name)
    put(tmp_path, {name: c for name, c in SHARDS[kind].items() if name != gone})
    with pytest.raises(CheckpointError, match=f"1 of 3 parts are missing: {gone}"):
        load(tmp_path)


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_a_bad_index_is_told(index: bytes, tmp_path: Path) -> None:
    put(tmp_path, PLAIN | {"model.safetensors.index.json": index})
    with pytest.raises(CheckpointError, match=r"index\.json|parts are missing"):
        load(tmp_path)


@pytest.mark.parametrize("ending", [".safetensors", ".pt"])
def test_encoder_and_head_in_two_files(ending: str, tmp_path: Path) -> None:
    trunk = {name.removeprefix("bert."): t for name, t in TRUNK.items()}
    head = {name.removeprefix("cls.predictions."): tensors_of()[name] for name in HEAD}
    names = (f"encoder{ending}", f"mlm_head{ending}")
    put(tmp_path, PLAIN | {name: packed(t, name) for name, t in zip(names, (trunk, head), strict=True)})
    assert is_the_reference(load(tmp_path))
    (tmp_path / names[1]).unlink()
    with pytest.raises(MissingTensorsError) as caught:
        load(tmp_path)
    assert set(caught.value.missing) == set(HEAD)


@pytest.mark.parametrize("prefix", ["", "model.", "bert.", "net.", "lm.inner.", "self_attention_model."])
def test_a_checkpoint_of_lightning(prefix: str, tmp_path: Path) -> None:
    state = {prefix + name: t for name, t in reference().state_dict().items()}
    put(tmp_path, PLAIN | {"last.ckpt": packed({**TRAINED, "state_dict": state}, "last.ckpt")})
    for source in (tmp_path, tmp_path / "last.ckpt"):
        assert is_the_reference(load(source))


@pytest.mark.parametrize("prefix", ["module.net.", "model.lm.", "_orig_mod.model.encoder."])
def test_a_wrapper_inside_a_known_wrapper(prefix: str, tmp_path: Path) -> None:
    assert is_the_reference(load(put(tmp_path, files({prefix + name: t for name, t in tensors_of().items()}))))


def test_a_folder_of_the_trainer(tmp_path: Path) -> None:
    beside = {"optimizer.pt": b"x", "scheduler.pt": b"x", "rng_state_0.pth": b"x", "training_args.bin": b"x",
              "scaler.pt": b"x", "trainer_state.json": b"{}"}  # fmt: skip
    assert is_the_reference(load(put(tmp_path, PLAIN | beside | {"weights.pt": packed(tensors_of(), "weights.pt")})))


def test_arguments_inside_a_checkpoint_are_named(tmp_path: Path) -> None:
    content = {"model": tensors_of(), "args": Namespace(lr=1)}
    put(tmp_path, PLAIN | {"checkpoint.pt": packed(content, "checkpoint.pt")})
    with pytest.raises(WeightsError, match=r"argparse\.Namespace"):
        load(tmp_path)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "odd name.safetensors", "a.pt", "b.pth", "c.ckpt"])
def test_a_single_file_of_weights_beside_its_config(name: str, tmp_path: Path) -> None:
    put(tmp_path, PLAIN | {name: packed(tensors_of(), name), "other.bin": b"x", "other.safetensors": b"x"})
    checkpoint = load(tmp_path / name)
    assert is_the_reference(checkpoint)
    assert name in checkpoint.report.files
    assert not {"other.bin", "other.safetensors"} & set(checkpoint.report.files)


@pytest.mark.parametrize("ending", ["", ":0"])
def test_names_of_tensorflow_with_turned_kernels(ending: str, tmp_path: Path) -> None:
    told = {in_tensorflow(name): t for name, t in tensors_of().items()}
    told = {name: t.T if name.endswith("kernel") else t for name, t in told.items()}
    extras = {"cls.seq_relationship.output_weights": torch.ones(2, 32), "bert.pooler.dense.kernel": torch.ones(32, 32)}
    slots = {f"{name}.{slot}": t for name, t in told.items() for slot in ("adam_m", "adam_v")}
    every = {n.replace(".", "/") + ending: t for n, t in {**told, **extras, **slots}.items()}
    every["global_step"] = torch.tensor(900)
    checkpoint = load(put(tmp_path, files(every)))
    assert is_the_reference(checkpoint)
    assert len(checkpoint.report.unused) == len(slots) + len(extras) + 1
    assert all("TensorFlow" in renamed.reason for renamed in checkpoint.report.renamed if "kernel" in renamed.old)


def test_a_model_for_pretraining(tmp_path: Path) -> None:
    theirs = BertForPreTraining(BertConfig(**reference().config.to_dict())).eval()
    theirs.save_pretrained(tmp_path)
    put(tmp_path, {"vocab.txt": FILES["vocab.txt"]})
    checkpoint = load(tmp_path)
    ids = torch.tensor([[2, 7, 4, 50, 98, 3]])
    with torch.no_grad():
        assert_close(checkpoint.model(ids).logits, theirs(input_ids=ids).prediction_logits, atol=1e-5, rtol=1e-5)
    assert {u.name.rsplit(".", 1)[0] for u in checkpoint.report.unused} == {"bert.pooler.dense", "cls.seq_relationship"}


def test_heads_that_no_file_names_are_64_wide(tmp_path: Path) -> None:
    model = reference(hidden_size=128, num_attention_heads=2)
    put(tmp_path, files(tensors_of(model), config={"hidden_size": 128}, lacks=("num_attention_heads",)))
    checkpoint = load(tmp_path)
    assert_close(logits_of(checkpoint.model), logits_of(model), atol=1e-5, rtol=1e-5)
    assert any("num_attention_heads" in said and "2" in said for said in checkpoint.report.inferred)


@pytest.mark.parametrize(("prefix", "family"), FAMILIES.items())
def test_another_family_is_told_by_its_tensors(prefix: str, family: str, tmp_path: Path) -> None:
    renamed = {f"{prefix}.{name.removeprefix('bert.')}": t for name, t in TRUNK.items()}
    put(tmp_path, files(renamed, lacks=("model_type", "architectures")))
    with pytest.raises(CheckpointError, match=f"{family}.*only BERT"):
        load(tmp_path)


def test_an_encoder_alone_opens_where_that_is_asked_for(tmp_path: Path) -> None:
    put(tmp_path, files(TRUNK))
    with pytest.raises(MissingTensorsError) as caught:
        load(tmp_path)
    assert set(caught.value.missing) == set(HEAD)
    checkpoint = load(tmp_path, headless=True)
    assert not checkpoint.predicts
    assert set(checkpoint.report.missing) == set(HEAD)
    assert checkpoint.tensors().keys() == TRUNK.keys()
    ids = torch.tensor([[2, 7, 4, 50, 98, 3]])
    with torch.no_grad():
        expected = reference().bert(input_ids=ids).last_hidden_state
        assert_close(checkpoint.model.bert(ids).last_hidden_state, expected, atol=1e-5, rtol=1e-5)
    assert load(put(tmp_path, FILES), headless=True).predicts


@pytest.mark.parametrize("lost", ["bert.encoder.layer.1.output.dense.bias", WORDS])
def test_an_encoder_with_a_gap_opens_in_no_way(lost: str, tmp_path: Path) -> None:
    put(tmp_path, files({name: t for name, t in TRUNK.items() if name != lost}))
    with pytest.raises(MissingTensorsError):
        load(tmp_path, headless=True)


def test_an_encoder_that_is_saved_stays_an_encoder(tmp_path: Path) -> None:
    load(put(tmp_path / "a", files(TRUNK)), headless=True).save_pretrained(tmp_path / "b")
    with pytest.raises(MissingTensorsError):
        load(tmp_path / "b")


@pytest.mark.parametrize("to", ["embedding", "decoder"])
def test_an_untied_model_tied_to_either_matrix(to: Any, tmp_path: Path) -> None:  # noqa: ANN401
    tensors = tensors_of(reference(tied=False))
    untied = load(put(tmp_path, files(tensors, config={"tie_word_embeddings": False})))
    tied = untied.tied_to(to)
    values: Tensors = {n: t for n, t in tensors.items() if n not in (DECODER, "cls.predictions.decoder.bias")}
    values[WORDS] = tensors[WORDS if to == "embedding" else DECODER]
    assert_close(logits_of(tied.model), logits_of(holding(values)), atol=1e-5, rtol=1e-5)
    assert tied.model.cls.predictions.decoder.weight is tied.model.bert.embeddings.word_embeddings.weight
    assert tied.report.tied
    assert tied.report.parameters.total == N_VALUES == untied.report.parameters.total - 99 * 32
    assert (
        len({untied.report.digest, untied.tied_to("embedding").report.digest, untied.tied_to("decoder").report.digest})
        == 3
    )
    assert_close(logits_of(untied.model), logits_of(reference(tied=False)), atol=1e-5, rtol=1e-5)
    with pytest.raises(CheckpointError, match="tied already"):
        tied.tied_to(to)
