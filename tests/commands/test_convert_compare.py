"""`convert` and `compare` in the shell. Expected values: transformers on what was written, and changes made by hand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from shell_runs import run
from transformers import BertForMaskedLM

Capsys = pytest.CaptureFixture[str]
QUERY = "bert.encoder.layer.0.attention.self.query.weight"


def other(small: str, at: Path, name: str = "other") -> str:
    """A copy of the small checkpoint whose query matrix is twice as large."""
    folder = Path(shutil.copytree(small, at / name))
    tensors = load_file(folder / "model.safetensors")
    tensors[QUERY] = tensors[QUERY] * 2
    save_file(tensors, folder / "model.safetensors")
    return str(folder)


def test_convert_writes_what_transformers_opens(small: str, tmp_path: Path, capsys: Capsys) -> None:
    pickled = tmp_path / "old"
    shutil.copytree(small, pickled)
    tensors = load_file(pickled / "model.safetensors")
    old = {"module." + name.replace("LayerNorm.weight", "LayerNorm.gamma"): t for name, t in tensors.items()}
    torch.save({"state_dict": old, "epoch": 3}, pickled / "pytorch_model.bin")
    (pickled / "model.safetensors").unlink()
    target = tmp_path / "new" / "clean"
    ran = run(capsys, "convert", str(pickled), str(target))
    assert (ran.status, ran.err) == (0, "")
    names = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt"}
    assert {path.name for path in target.iterdir()} == names
    assert all(name in ran.out for name in names)
    theirs = BertForMaskedLM.from_pretrained(target)
    for name, tensor in tensors.items():
        torch.testing.assert_close(theirs.state_dict()[name], tensor, atol=0, rtol=0)


def test_convert_tells_what_was_inferred(small: str, tmp_path: Path, capsys: Capsys) -> None:
    folder = Path(shutil.copytree(small, tmp_path / "old"))
    values = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(values | {"intermediate_size": 3072}))
    ran = run(capsys, "convert", str(folder), str(tmp_path / "new"))
    assert "intermediate_size = 3072" in ran.out
    assert json.loads((tmp_path / "new" / "config.json").read_text())["intermediate_size"] == 7


@pytest.mark.parametrize("there", ["file", "folder"])
def test_convert_writes_over_nothing(there: str, small: str, tmp_path: Path, capsys: Capsys) -> None:
    target = tmp_path / "target"
    if there == "file":
        target.write_text("mine")
    else:
        target.mkdir()
        (target / "mine.txt").write_text("mine")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert "nothing was written" in run(capsys, "convert", small, str(target)).sentence()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_convert_into_an_empty_folder(small: str, tmp_path: Path, capsys: Capsys) -> None:
    assert run(capsys, "convert", small, str(tmp_path)).status == 0
    assert (tmp_path / "model.safetensors").is_file()


def test_convert_below_a_file_is_told(small: str, tmp_path: Path, capsys: Capsys) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be written" in run(capsys, "convert", small, str(tmp_path / "file" / "new")).sentence()


def test_convert_of_nothing_writes_nothing(tmp_path: Path, capsys: Capsys) -> None:
    assert "absent" in run(capsys, "convert", str(tmp_path / "absent"), str(tmp_path / "new")).sentence()
    assert not (tmp_path / "new").exists()


def test_compare_with_itself(small: str, capsys: Capsys) -> None:
    ran = run(capsys, "compare", small, small)
    assert (ran.status, ran.err) == (0, "")
    assert "small-one and small-one are the same" in ran.out
    assert run(capsys, "compare", small, small, "--json").json["same"] is True


def test_compare_tells_the_tensor_that_changed(small: str, tmp_path: Path, capsys: Capsys) -> None:
    changed = other(small, tmp_path)
    values = run(capsys, "compare", small, changed, "--json").json
    assert (values["a"], values["b"], values["same"]) == ("small-one", "other", False)
    (one,) = [t for t in values["tensors"] if t["largest_change"] != 0]
    matrix = load_file(Path(small) / "model.safetensors")[QUERY]
    assert (one["name"], one["shape"]) == (QUERY, [6, 6])
    assert one["cosine"] == pytest.approx(1)
    assert one["relative_change"] == pytest.approx(1)
    assert one["largest_change"] == pytest.approx(matrix.abs().max().item())
    table = run(capsys, "compare", small, changed).out.splitlines()
    (row,) = [line for line in table if line.startswith(QUERY)]
    assert row.split()[1:3] == ["1", "1"]


def test_compare_tells_configuration_and_vocabulary(small: str, tmp_path: Path, capsys: Capsys) -> None:
    folder = Path(shutil.copytree(small, tmp_path / "other"))
    values = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(values | {"hidden_act": "relu"}))
    pieces = (folder / "vocab.txt").read_text(encoding="utf-8")
    (folder / "vocab.txt").write_text(pieces.replace("\n.\n", "\n!\n"), encoding="utf-8")
    out = run(capsys, "compare", small, str(folder)).out
    assert "hidden_act: 'gelu' in small-one, 'relu' in other" in out
    assert "pieces only in small-one: 1 (.)" in out
    assert "pieces only in other: 1 (!)" in out


def test_compare_needs_two_that_open(small: str, tmp_path: Path, capsys: Capsys) -> None:
    assert "absent" in run(capsys, "compare", small, str(tmp_path / "absent")).sentence()
    assert "See --help" in run(capsys, "compare", small).sentence()


@pytest.mark.parametrize("name", ["tiny[bold]", "[red]tiny"])
def test_a_name_with_brackets_is_shown_as_it_is(name: str, small: str, tmp_path: Path, capsys: Capsys) -> None:
    folder = shutil.copytree(small, tmp_path / name)
    assert name in run(capsys, "compare", str(folder), str(folder)).out


def test_a_name_with_brackets_is_shown_beside_differences(small: str, tmp_path: Path, capsys: Capsys) -> None:
    changed = Path(other(small, tmp_path, "tiny[bold]"))
    values = json.loads((changed / "config.json").read_text())
    (changed / "config.json").write_text(json.dumps(values | {"hidden_act": "relu"}))
    assert "'relu' in tiny[bold]" in run(capsys, "compare", small, str(changed)).out
