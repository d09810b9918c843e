"""`pretrain`: a model from a text in one command, stopped, resumed, and every mistake in one sentence."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest
from shell_runs import run

import bertviz_lite
from bertviz_lite.training import Recipe, read_log, read_status

README = Path(__file__).parent.parent.parent / "README.md"
SIZES = ("--layers", "1", "--hidden", "12", "--heads", "2", "--vocab-size", "90", "--max-length", "24")
FAST = (*SIZES, "--batch-tokens", "120", "--precision", "float32")


@pytest.fixture
def text(tmp_path: Path) -> str:
    words = ("red", "blue", "green", "yellow", "white", "black", "brown", "grey")
    lines = [f"The {a} house is near the {b} tree." for a in words for b in words if a != b]
    (tmp_path / "colours.txt").write_text("\n".join(lines * 4) + "\n", encoding="utf-8")
    return str(tmp_path / "colours.txt")


def test_a_model_from_a_text(capsys: pytest.CaptureFixture[str], text: str, tmp_path: Path) -> None:
    out = tmp_path / "model"
    ran = run(
        capsys, "pretrain", text, "--out", str(out), "--tokens", "2000", *FAST, "--weight", "colours=2",
        "--checkpoint-at", "0,3", "--probe", "The [MASK] house.", "--seed", "5", "--schedule", "cosine",
    )  # fmt: skip
    assert ran.status == 0
    assert ran.out.splitlines()[-1].startswith("done · step ")
    assert "held out" in ran.out
    assert run(capsys, "fill", "The [MASK] house.", "--model", str(out), "--json").json["masks"]
    config = bertviz_lite.load(out).config
    assert (config.num_hidden_layers, config.hidden_size, config.max_position_embeddings) == (1, 12, 24)
    recipe = Recipe.from_json((out / "run" / "recipe.json").read_text(encoding="utf-8"))
    assert recipe.weights == {"colours": 2.0}
    assert recipe.checkpoint_steps == (0, 3)
    assert recipe.seed == 5
    assert read_log(out / "run")[0]["probes"][0]["text"] == "The [MASK] house."


def test_a_config_gives_the_sizes(capsys: pytest.CaptureFixture[str], text: str, tmp_path: Path) -> None:
    sizes = {"vocab_size": 80, "hidden_size": 9, "num_hidden_layers": 1, "num_attention_heads": 3, "hidden_act": "relu"}
    (tmp_path / "config.json").write_text(json.dumps(sizes), encoding="utf-8")
    words = ("pretrain", text, "--out", str(tmp_path / "m"), "--config", str(tmp_path / "config.json"))
    assert run(capsys, *words, "--tokens", "500", "--precision", "float32").status == 0
    config = bertviz_lite.load(tmp_path / "m").config
    assert (config.hidden_size, config.hidden_act, config.intermediate_size) == (9, "relu", 36)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it_with_its_state_saved(
    capsys: pytest.CaptureFixture[str], text: str, tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "model"

    def ask() -> None:
        while not ((status := read_status(out / "run")) and status.step):
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    asking = threading.Thread(target=ask)
    asking.start()
    ran = run(capsys, "pretrain", text, "--out", str(out), "--minutes", "5", *FAST)
    asking.join()
    assert ran.status == 0
    assert "Stopped with its state saved" in ran.out.splitlines()[-1]
    assert signal.getsignal(number) is before
    again = run(capsys, "pretrain", "--out", str(out), "--resume", "--tokens", "1500")  # another budget
    assert again.out.splitlines()[-1].startswith("done")
    recipe = Recipe.from_json((out / "run" / "recipe.json").read_text(encoding="utf-8"))
    assert (recipe.minutes, recipe.tokens) == (None, 1500)


def test_the_examples_of_the_readme_run(
    capsys: pytest.CaptureFixture[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they stand but for their length: a few tokens instead of minutes, and the run to resume stopped on purpose."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    for name in ("stories.txt", "texts/letters.txt"):
        shutil.copy(text, tmp_path / name)
    found = re.search(r"^## Pre-train\n.*?^```bash\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S)
    assert found
    fresh, continued, resumed = (shlex.split(line)[3:] for line in found.group(1).splitlines())
    few = ("--tokens", "600", "--precision", "float32", "--batch-tokens", "128")
    for words in (fresh, continued):
        at = words.index("--minutes")
        assert run(capsys, *words[:at], *words[at + 2 :], *few).status == 0
    recipe = Recipe.from_json((tmp_path / "our-model" / "run" / "recipe.json").read_text(encoding="utf-8"))
    assert recipe.weights == {"letters": 3.0}
    assert "has ended" in run(capsys, *resumed).sentence()


def test_mistakes_are_told_in_one_sentence(capsys: pytest.CaptureFixture[str], text: str, tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "m"))
    cases = (
        ((text, *out), "either minutes or tokens"),
        ((*out, "--tokens", "5"), "no text to train on"),
        ((text, *out, "--tokens", "5", "--weight", "colours"), "write a source and a number"),
        ((text, *out, "--tokens", "5", "--checkpoint-at", "soon"), "write steps with commas"),
        ((text, *out, "--tokens", "5", "--config", str(tmp_path / "none.json")), "no readable config.json"),
        ((text, *out, "--tokens", "5", "--mask-rate", "0"), "rate = 0"),
        ((text, *out, "--tokens", "5", *FAST, "--probe", "The red house."), "has no [MASK]"),
        ((text, *out, "--tokens", "5", *FAST, "--weight", "colours=0"), "every source has weight 0"),
        (("--out", str(tmp_path / "none"), "--resume"), "holds no run"),
        ((text, "--tokens", "5"), "--out"),
    )
    for words, told in cases:
        assert told in run(capsys, "pretrain", *words).err
    assert run(capsys, "pretrain", text, *out, "--tokens", "200", *FAST).status == 0  # and mended in the same folder


def test_a_failure_while_running_is_one_sentence(capsys: pytest.CaptureFixture[str], text: str, tmp_path: Path) -> None:
    ran = run(capsys, "pretrain", text, "--out", str(tmp_path / "m"), "--tokens", "5000", *FAST, "--lr", "1e30")
    assert ran.status == 2
    assert ran.err.count("\n") == 1
    assert "start again with a lower learning rate" in ran.err
