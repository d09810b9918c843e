"""The log and the status that a page of another process reads: whole at any moment, and rewound with the state."""

from __future__ import annotations

from pathlib import Path

import pytest

from bertviz_lite.errors import TrainingError
from bertviz_lite.training import read_log, read_status
from bertviz_lite.training._files import replace_with, write_text
from bertviz_lite.training.journal import Journal


def test_the_status_is_read_as_it_was_told(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.tell(now=True, phase="training", step=7, probes=({"text": "a"},))
    assert read_status(tmp_path) == journal.progress
    journal.tell(step=8)  # within the same second: told, but not yet written
    assert read_status(tmp_path).step == 7  # type: ignore[union-attr]
    assert journal.progress.step == 8


def test_listeners_hear_every_change(tmp_path: Path) -> None:
    heard = []
    journal = Journal(tmp_path, heard.append)
    for step in range(3):
        journal.tell(step=step)
    assert [progress.step for progress in heard] == [0, 1, 2]


@pytest.mark.parametrize("content", [None, "", "{", '{"colour": 1}', "[]"])
def test_no_status(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "status.json").write_text(content, encoding="utf-8")
    assert read_status(tmp_path) is None


def test_the_log_is_rewound_to_the_state(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for step in range(5):
        journal.row(step=step, loss_nats=1.0)
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"step": 5, "los')  # killed while writing
    assert [row["step"] for row in read_log(tmp_path)] == [0, 1, 2, 3, 4]
    journal.rewind(2)
    assert [row["step"] for row in read_log(tmp_path)] == [0, 1, 2]
    journal.row(step=3)
    assert [row["step"] for row in read_log(tmp_path)] == [0, 1, 2, 3]


def test_processes_that_do_not_lead_write_nothing(tmp_path: Path) -> None:
    heard = []
    journal = Journal(tmp_path, heard.append, writes=False)
    journal.tell(now=True, step=1)
    journal.row(step=1)
    assert not heard
    assert list(tmp_path.iterdir()) == []


def test_what_was_there_stays_when_writing_fails(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "old")

    def half(path: Path) -> None:
        path.write_text("ne", encoding="utf-8")
        raise OSError(28, "No space left on device")

    with pytest.raises(TrainingError, match="No space left on device"):
        replace_with(tmp_path / "a", half)
    assert (tmp_path / "a").read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
