"""The process that trains for a page: it reads its order, stops when told, and goes when nobody is there any more."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_texts import recipe

from bertviz_lite.training import RUN, child, read_status


def begun(folder: Path, corpus: Path, *options: str, **changes: object) -> subprocess.Popen[bytes]:
    folder.mkdir(exist_ok=True)
    (folder / child.ORDER).write_text(recipe(corpus, **changes).to_json(), encoding="utf-8")
    command = [sys.executable, "-m", child.__name__, str(folder), *options]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def training(folder: Path) -> bool:
    for _ in range(1200):
        status = read_status(folder / child.MODEL / RUN)
        if status is not None and status.step > 0:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("order", [child.STOP_ORDER, b""], ids=["told to stop", "left alone"])
def test_a_child_ends_when_told_and_clears_up_when_left_alone(tmp_path: Path, corpus: Path, order: bytes) -> None:
    folder = tmp_path / "run"
    with begun(folder, corpus, tokens=10**9) as process:
        assert training(folder)
        assert process.stdin is not None
        if order:
            process.stdin.write(order)
            process.stdin.flush()
        else:
            process.stdin.close()
        assert process.wait(60) == 0
        assert folder.exists() == bool(order)
        if order:
            status = read_status(folder / child.MODEL / RUN)
            assert status is not None
            assert status.phase == "stopped"


def test_what_cannot_be_done_is_a_sentence(tmp_path: Path, corpus: Path) -> None:
    with begun(tmp_path / "run", corpus / "nowhere") as process:
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "no file or folder" in said.decode()
    with begun(tmp_path / "run", corpus, "--resume") as process:
        process.communicate(timeout=120)
    assert process.returncode == 2
