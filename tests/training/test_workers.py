"""Two processes learn what one learns, from the same global batches, each reading rows of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from small_texts import curve, recipe

from bertviz_lite.errors import TrainingError
from bertviz_lite.training import pretrain
from bertviz_lite.training.workers import Workers

ROOT = Path(__file__).parent.parent.parent


def test_rows_are_shared_without_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    for n in (1, 2, 3):
        read: list[int] = []
        for rank in range(n):
            worker = Workers()
            worker.rank, worker.n = rank, n
            read += range(10)[worker.rows(10)]
        assert sorted(read) == list(range(10))


def test_a_process_that_sees_another_folder_is_told(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Workers, "agree", lambda _, __: [5.0])  # the leader has five steps behind it
    with pytest.raises(TrainingError, match="must be one for all"):
        pretrain(recipe(corpus), tmp_path / "a")


def test_two_processes_learn_what_one_learns(corpus: Path, tmp_path: Path) -> None:
    words = [
        *("-m", "bertviz_lite", "pretrain", str(corpus), "--tokens", "5000", "--batch-tokens", "256"),
        *("--max-length", "32", "--layers", "2", "--hidden", "24", "--heads", "3", "--vocab-size", "160"),
        *("--precision", "float32", "--threads", "1", "--lr", "0.003"),
    ]
    alone = [sys.executable, *words, "--out", str(tmp_path / "one")]
    together = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    for command in (alone, [*together, *words, "--out", str(tmp_path / "two")]):
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
    one, two = curve(tmp_path / "one"), curve(tmp_path / "two")
    assert [(row["step"], row["tokens"], row["lr"]) for row in one] == [(r["step"], r["tokens"], r["lr"]) for r in two]
    losses = [[row["loss_nats"] for row in rows if "loss_nats" in row] for rows in (one, two)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)
    assert losses[0] != losses[1]  # sums in another order: it was not one process after all
    ours, theirs = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    for name, tensor in ours.items():
        torch.testing.assert_close(tensor, theirs[name], atol=1e-3, rtol=0, msg=name)
