"""Folders of runs: those of a server that was killed are removed, those in use are not."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from bertviz_lite.ui.training.folders import new_folder, remove, sweep

KILLED = "from bertviz_lite.ui.training.folders import new_folder; import os; print(new_folder()); os._exit(9)"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def let_it_age(folder: Path) -> None:
    os.utime(folder, (0, 0))


def test_what_a_killed_server_left_is_removed(temporary: Path) -> None:
    command = [sys.executable, "-c", KILLED]
    left = Path(subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip().splitlines()[-1])
    mine, strange = new_folder(), temporary / "bertviz-train-strange"
    strange.mkdir()  # without a lock: nobody knows whose
    (left / "model").mkdir()
    for folder in (left, mine, strange):
        let_it_age(folder)
    sweep()
    assert (left.exists(), mine.exists(), strange.exists()) == (False, True, True)
    remove(mine)
    assert not mine.exists()


def test_a_new_folder_may_not_be_locked_yet(temporary: Path) -> None:
    folder = temporary / "bertviz-train-new"
    folder.mkdir()
    (folder / "server.lock").touch()
    sweep()
    assert folder.exists()
    let_it_age(folder)
    sweep()
    assert not folder.exists()
