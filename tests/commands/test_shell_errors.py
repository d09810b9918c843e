"""Whatever goes wrong ends as one sentence on stderr and status 2 (the contract of bertviz_lite/commands)."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from shell_runs import Ran, run, write_checkpoint

import bertviz_lite
from bertviz_lite.commands import fill as fill_module
from bertviz_lite.commands._output import bar

ROOT = Path(__file__).parent.parent.parent
Capsys = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["fill", "[MASK]", "--top-k", "0"], "'--top-k'"),
        (["fill", "[MASK]", "--top-k", "-3"], "'--top-k'"),
        (["fill", "[MASK]", "--top-k", "many"], "'--top-k'"),
        (["fill", "[MASK]", "--top-k"], "'--top-k' requires an argument"),
        (["fill", "[MASK]", "--topk", "3"], "--topk"),
        (["fill"], "'text'"),
        (["fill", "one", "two"], "two"),
        (["inspect", "one", "two"], "two"),
        (["predict"], "'predict'"),
    ],
)
def test_a_wrong_option_or_argument_is_named(capsys: Capsys, words: list[str], told: str) -> None:
    sentence = run(capsys, *words).sentence()
    assert told in sentence
    assert sentence.endswith("See --help.")


@pytest.mark.parametrize("command", [["inspect"], ["fill", "[MASK]", "--model"]])
def test_a_path_that_does_not_exist(capsys: Capsys, tmp_path: Path, command: list[str]) -> None:
    path = str(tmp_path / "nothing" / "here")
    assert path in run(capsys, *command, path).sentence()


@pytest.mark.parametrize("command", [["inspect"], ["fill", "[MASK]", "--model"]])
def test_a_folder_without_a_checkpoint(capsys: Capsys, tmp_path: Path, command: list[str]) -> None:
    assert "config.json" in run(capsys, *command, str(tmp_path)).sentence()


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("config.json", b"{", "config.json is not valid JSON"),
        ("config.json", b"\xff\xfe\x00", "config.json is not valid JSON"),
        ("config.json", b'{"model_type": "roberta"}', "roberta"),
        ("config.json", b'{"num_attention_heads": 5}', "num_attention_heads"),
        ("model.safetensors", b"", "model.safetensors is empty"),
        ("model.safetensors", b"\x08\0\0\0\0\0\0\0{       ", "model.safetensors is damaged"),
        ("model.safetensors", b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        ("vocab.txt", b"a\nb\n", "[MASK]"),
    ],
)
def test_a_damaged_file_is_named(capsys: Capsys, tmp_path: Path, name: str, content: bytes, told: str) -> None:
    folder = write_checkpoint(tmp_path / "damaged")
    (folder / name).write_bytes(content)
    assert told in run(capsys, "inspect", str(folder)).sentence()
    assert told in run(capsys, "fill", "[MASK]", "--model", str(folder), "--json").sentence()


def test_a_tokenizer_that_is_not_there_is_reported_and_stops_a_prediction(capsys: Capsys, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "no-words")
    (folder / "vocab.txt").unlink()
    assert "vocab.txt" in run(capsys, "fill", "[MASK]", "--model", str(folder)).sentence()
    assert "vocab.txt" in run(capsys, "inspect", str(folder), "--json").json["problems"][0]


@pytest.mark.parametrize("path", ["~no-such-user/model", "x" * 300])
def test_a_path_that_cannot_exist(capsys: Capsys, path: str) -> None:
    assert path in run(capsys, "inspect", path).sentence()


def test_the_version_and_the_help(capsys: Capsys) -> None:
    assert run(capsys, "--version") == Ran(0, f"{bertviz_lite.__version__}\n", "")
    helped = run(capsys, "--help")
    assert (helped.status, helped.err) == (0, "")
    assert "fill" in helped.out
    assert "inspect" in helped.out
    assert "--top-k" in run(capsys, "fill", "--help").out


def test_no_command_shows_the_help_and_nothing_else(capsys: Capsys) -> None:
    ran = run(capsys)
    assert "inspect" in ran.out + ran.err
    assert "bertviz_lite: ." not in ran.err


def test_ctrl_c_stops_without_a_traceback(small: str, capsys: Capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fill_module, "top_k", interrupted)
    assert run(capsys, "fill", "[MASK]", "--model", small).status == 130  # 128 + SIGINT


def process(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "bertviz_lite", *words],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_a_process_of_its_own_that_succeeds(small: str) -> None:
    done = process("fill", "a [MASK]", "--model", small, "--top-k", "1")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"[bold]" in done.stdout


def test_a_process_of_its_own_that_fails() -> None:
    done = process("fill", "the [mask]")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == "bertviz_lite: Nothing is masked. Run again with: the [MASK]\n"


def test_a_text_that_is_no_utf8(small: str, capsys: Capsys) -> None:
    """Python hands the byte 0xE9 over as U+DCE9, which UTF-8 cannot write; the tokenizer reads it as U+FFFD."""
    ran = run(capsys, "fill", "caf\udce9 [MASK]", "--model", small, "--json")
    assert (ran.status, ran.json["text"]) == (0, "caf\ufffd [MASK]")


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("ascii", ["inspect"]),
        ("ascii", ["fill", "[MASK]", "--model"]),
        ("cp1252", ["fill", "[MASK]", "--model"]),  # what Windows gives to a pipe
        ("cp1252", ["fill", "[MASK]", "--json", "--model"]),
    ],
)
def test_a_terminal_that_knows_few_characters(
    small: str, capsys: Capsys, monkeypatch: pytest.MonkeyPatch, encoding: str, words: list[str]
) -> None:
    terminal = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
    monkeypatch.setattr(sys, "stdout", terminal)
    assert run(capsys, *words, small).status == 0
    assert terminal.buffer.tell() > 0


@pytest.mark.parametrize(("encoding", "drawn"), [("ascii", "######"), ("utf-8", "██████")])
def test_bars_are_drawn_with_what_the_terminal_has(monkeypatch: pytest.MonkeyPatch, encoding: str, drawn: str) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    assert bar(0.25, 24) == drawn
