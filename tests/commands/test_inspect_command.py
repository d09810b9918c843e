"""Expected values: formulas over the configuration, and what safetensors itself reads from the files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from shell_runs import LONGEST, PROBS, run
from typer.testing import CliRunner

from bertviz_lite.commands import app

Capsys = pytest.CaptureFixture[str]

KEYS = {"config", "parameters", "tied", "tensors", "missing", "unused", "renamed", "problems"}

V, P, S, D, L = 30522, 512, 2, 384, 6
EMBEDDINGS = V * D + P * D + S * D + 2 * D
LAYERS = L * (12 * D**2 + 13 * D)
TRANSFORM = D * D + D + 2 * D
TOTAL = EMBEDDINGS + LAYERS + TRANSFORM + V  # the tied decoder counts once; V is its bias

HEAD = {
    "cls.predictions.bias",
    "cls.predictions.transform.dense.weight",
    "cls.predictions.transform.dense.bias",
    "cls.predictions.transform.LayerNorm.weight",
    "cls.predictions.transform.LayerNorm.bias",
}


@pytest.fixture(scope="module")
def trunk(bundled_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The bundled checkpoint without its head, as saved from BertModel."""
    folder = tmp_path_factory.mktemp("checkpoints") / "trunk"
    shutil.copytree(bundled_folder, folder, ignore=shutil.ignore_patterns("model.safetensors"))
    tensors = load_file(bundled_folder / "model.safetensors")
    kept = {name: tensor for name, tensor in tensors.items() if not name.startswith("cls.")}
    assert len(kept) == len(tensors) - len(HEAD)
    save_file(kept, folder / "model.safetensors")
    return str(folder)


def test_the_bundled_model(bundled_folder: Path) -> None:
    result = CliRunner().invoke(app, ["inspect", "--json"])
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert set(found) >= KEYS
    assert TOTAL == 22_744_506
    parts = found["parameters"]
    assert parts["total"] == TOTAL
    assert (parts["embeddings"], parts["encoder"], parts["transform"]) == (EMBEDDINGS, LAYERS, TRANSFORM)
    assert (parts["decoder"], parts["bias"]) == (0, V)
    assert found["tied"] is True
    assert (found["missing"], found["unused"], found["renamed"], found["problems"]) == ([], [], [], [])
    written = json.loads((bundled_folder / "config.json").read_text(encoding="utf-8"))
    assert {name: found["config"].get(name) for name in written} == written


def test_tensors_are_those_of_the_file(bundled_folder: Path, capsys: Capsys) -> None:
    found = run(capsys, "inspect", "--json").json["tensors"]
    dtypes = {"F16": "float16", "F32": "float32"}
    with safe_open(bundled_folder / "model.safetensors", "pt") as file:
        expected = {}
        for name in file.keys():  # noqa: SIM118 - it is no mapping
            of = file.get_slice(name)
            expected[name] = (of.get_shape(), dtypes[of.get_dtype()])
    assert len(found) == len(expected)
    assert {t["name"]: (t["shape"], t["dtype"]) for t in found} == expected


def test_a_folder_of_ones_own(small: str, capsys: Capsys) -> None:
    found = run(capsys, "inspect", small, "--json").json
    width, rows, inner = 6, len(PROBS), 7
    embeddings = (rows + LONGEST + 2 + 2) * width
    attention = 4 * (width * width + width) + 2 * width
    feed_forward = width * inner + inner + inner * width + width + 2 * width
    transform = width * width + width + 2 * width
    assert found["name"] == "small-one"
    assert found["parameters"]["total"] == embeddings + attention + feed_forward + transform + rows
    assert found["config"]["max_position_embeddings"] == LONGEST


def test_for_people_it_shows_the_numbers_and_every_tensor() -> None:
    result = CliRunner().invoke(app, ["inspect"], env={"COLUMNS": "200"})
    assert (result.exit_code, result.stderr) == (0, "")
    for part in ("english-mini", "safetensors", "22,744,506", "6 layers, 12 heads", "30,522", "tied"):
        assert part in result.stdout
    lines = [line for line in result.stdout.splitlines() if line.startswith(("bert.", "cls."))]
    assert len(lines) == 106  # 5 of the embeddings, 16 a layer, 5 of the head
    assert lines[0].split()[:5] == ["bert.embeddings.word_embeddings.weight", "30,522", "×", "384", "float16"]
    assert "Problems" not in result.stdout


def test_names_of_tensors_are_whole_where_the_output_is_narrow() -> None:
    found = CliRunner().invoke(app, ["inspect"], env={"COLUMNS": "80"}).stdout
    assert "bert.encoder.layer.5.attention.output.LayerNorm.weight" in "".join(found.split())


def test_nan_in_the_weights_is_told_and_is_no_broken_json(small: str, capsys: Capsys, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    shutil.copytree(small, folder)
    tensors = load_file(folder / "model.safetensors")
    name = "cls.predictions.transform.dense.bias"
    save_file({**tensors, name: tensors[name] * float("nan")}, folder / "model.safetensors")
    found = run(capsys, "inspect", str(folder), "--json").json
    assert [note for note in found["notes"] if note.startswith(f"{name} holds NaN")]
    assert run(capsys, "inspect", str(folder)).status == 0


def test_what_was_renamed_unused_or_inferred_is_told(small: str, capsys: Capsys, tmp_path: Path) -> None:
    folder = tmp_path / "other-names"
    shutil.copytree(small, folder)
    tensors = load_file(folder / "model.safetensors")
    old = {f"module.{name}".replace("LayerNorm.weight", "LayerNorm.gamma"): t for name, t in tensors.items()}
    old["module.cls.seq_relationship.bias"] = tensors["cls.predictions.bias"][:2].clone()
    old["more [bold] numbers"] = tensors["cls.predictions.bias"][:2].clone()
    save_file(old, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": 7}), encoding="utf-8")

    found = run(capsys, "inspect", str(folder), "--json").json
    assert {r["from"]: r["to"] for r in found["renamed"]} == {
        f"module.{name}".replace("LayerNorm.weight", "LayerNorm.gamma"): name for name in tensors
    }
    assert {u["name"] for u in found["unused"]} == {"module.cls.seq_relationship.bias", "more [bold] numbers"}
    assert all(told["reason"] for told in found["renamed"] + found["unused"])
    assert found["config"]["vocab_size"] == len(PROBS)
    assert "vocab_size = 7" in found["inferred"][0]
    assert found["problems"] == []

    words = " ".join(run(capsys, "inspect", str(folder)).out.split())  # without line breaks
    assert "vocab_size = 7" in words
    assert "module.cls.predictions.bias → cls.predictions.bias" in words
    assert "module.cls.seq_relationship.bias (" in words
    assert "more [bold] numbers (" in words


def test_a_checkpoint_without_a_head_is_reported(trunk: str, capsys: Capsys) -> None:
    found = run(capsys, "inspect", trunk, "--json").json
    assert set(found["missing"]) == HEAD
    assert len(found["problems"]) == 1
    assert "head is not in the file" in found["problems"][0]
    assert all(name in found["problems"][0] for name in HEAD)
    assert len(found["tensors"]) == 101

    ran = run(capsys, "inspect", trunk)
    assert ran.status == 0
    assert "Problems" in ran.out
    assert "Missing" in ran.out
    assert all(name in ran.out for name in HEAD)


def test_a_checkpoint_without_a_head_does_not_predict(trunk: str, capsys: Capsys) -> None:
    sentence = run(capsys, "fill", "the [MASK]", "--model", trunk, "--json").sentence()
    assert "head is not in the file" in sentence
    assert "cls.predictions.bias" in sentence


def test_a_folders_name_is_shown_letter_for_letter(small: str, capsys: Capsys, tmp_path: Path) -> None:
    folder = tmp_path / "small [bold] one"
    shutil.copytree(small, folder)
    assert "small [bold] one" in run(capsys, "inspect", str(folder)).out
