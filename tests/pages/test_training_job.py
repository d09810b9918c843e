"""Runs in processes of their own: begun, stopped, killed, gone on with, found again, bounded, cleared away."""

from __future__ import annotations

import math
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from train_tools import NOUNS, VERBS, ended, job, wait_until

import bertviz_lite
from bertviz_lite.errors import TrainingError
from bertviz_lite.training import mean_nats
from bertviz_lite.ui.training import job as training_job
from bertviz_lite.ui.training.job import Job, Jobs

LONG = {"tokens": None, "minutes": 10.0, "save_minutes": 0.001}


class Tabs(set[str]):
    """The sessions whose tabs are open."""


@pytest.fixture
def tabs() -> Tabs:
    return Tabs({"ada", "bob", "cyd"})


@pytest.fixture
def jobs(tabs: Tabs) -> Iterator[Jobs]:
    found = Jobs(tabs.__contains__)
    yield found
    found.end_all()


def stepping(run: Job) -> bool:
    return wait_until(lambda: run.progress().step > 2 and run.saved_steps)


def test_a_run_goes_to_its_end_and_leaves_a_model(jobs: Jobs, tmp_path: Path) -> None:
    run = ended(jobs.start(job(tmp_path / "run")))
    progress = run.progress()
    assert (progress.phase, progress.share, progress.message) == ("done", 1.0, "")
    words = 2 * len(NOUNS) + len(VERBS)
    assert progress.uniform_nats == pytest.approx(math.log(bertviz_lite.load(run.out).config.vocab_size))
    assert progress.unigram_nats is not None
    assert math.log(3) < progress.unigram_nats < math.log(words)
    rows = run.rows()
    assert rows[0]["step"] == 0
    assert rows[-1]["tokens"] >= 20_000
    assert mean_nats(rows[-1]["held_out"]) == pytest.approx(rows[-1]["held_out"]["village"]["loss_nats"])
    assert not run.saved_steps


def test_a_stopped_run_goes_on(jobs: Jobs, tmp_path: Path) -> None:
    run = jobs.start(job(tmp_path / "run", **LONG))
    assert stepping(run)
    run.stop()
    assert ended(run).progress().phase == "stopped"
    step = run.progress().step
    jobs.resume(run, to_the_end=True)
    assert run.running
    assert wait_until(lambda: run.progress().phase == "training" and run.progress().step > step)
    process = run.progress().pid
    for to_the_end in (True, False):  # pressed again while it goes on
        jobs.resume(run, to_the_end=to_the_end)
    assert run.running
    assert run.progress().pid == process
    assert run.folder.is_dir()


def test_a_stop_before_the_first_step_is_heard(jobs: Jobs, tmp_path: Path) -> None:
    run = jobs.start(job(tmp_path / "run", **LONG))
    run.stop()
    assert run.stopping
    assert ended(run).progress().phase == "stopped"


def test_a_killed_process_is_told_and_its_last_state_makes_a_model(jobs: Jobs, tmp_path: Path) -> None:
    run = jobs.start(job(tmp_path / "run", **LONG))
    assert stepping(run)
    os.kill(run.progress().pid, signal.SIGKILL)
    told = ended(run).progress()
    assert told.phase == "failed"
    assert "SIGKILL" in told.message
    saved = run.saved_steps
    jobs.resume(run, to_the_end=False)
    assert ended(run).progress().phase == "done"
    assert run.progress().step == saved, "the model of the last state, without a further step"
    assert bertviz_lite.load(run.out).config.hidden_size == 16


@pytest.mark.parametrize(
    ("content", "changes", "told"),
    [("", {}, "no words"), ("a b", {}, "too short|long enough"), (None, {"lr": 1e30}, "no finite number")],
)
def test_what_goes_wrong_is_a_sentence_without_paths(
    jobs: Jobs, tmp_path: Path, content: str | None, changes: dict[str, float], told: str
) -> None:
    run = ended(jobs.start(job(tmp_path / "run", content=content, **changes)))
    progress = run.progress()
    assert progress.phase == "failed"
    assert re.search(told, progress.message), progress.message
    assert str(tmp_path) not in progress.message


def test_one_run_a_visitor_and_a_few_a_server(jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_job, "MOST_RUNNING", 2)
    jobs.start(job(tmp_path / "a", "ada", **LONG))
    with pytest.raises(TrainingError, match="already"):
        jobs.start(job(tmp_path / "a2", "ada", **LONG))
    jobs.start(job(tmp_path / "b", "bob", **LONG))
    with pytest.raises(TrainingError, match=r"2 models are being trained.*Try again"):
        jobs.start(job(tmp_path / "c", "cyd", **LONG))
    assert not (tmp_path / "a2").exists()
    assert not (tmp_path / "c").exists()
    jobs.end_all()
    assert not list(tmp_path.iterdir())


def test_a_run_is_found_again_by_nobody_else(jobs: Jobs, tabs: Tabs, tmp_path: Path) -> None:
    run = jobs.start(job(tmp_path / "run", content=""))
    assert jobs.find(run.run, "bob") is None, "ada is still there"
    assert jobs.find("guessed", "bob") is None
    tabs.remove("ada")
    assert jobs.find(run.run, "bob") is run, "a reload is a new session"
    assert jobs.of("bob") is run
    assert jobs.find(run.run, "cyd") is None
    assert len(run.run) >= 16


def test_a_run_ends_when_its_visitor_has_been_gone_for_long(jobs: Jobs, tabs: Tabs, tmp_path: Path) -> None:
    run = jobs.start(job(tmp_path / "run", **LONG))
    tabs.remove("ada")
    jobs.look(0.0)
    jobs.look(training_job.GRACE_SECONDS - 1)
    assert run.running
    tabs.add("ada")
    jobs.look(training_job.GRACE_SECONDS + 1)
    tabs.remove("ada")
    jobs.look(1000.0)
    jobs.look(1001.0 + training_job.GRACE_SECONDS)
    assert not run.running
    assert not run.folder.exists()
    assert jobs.of("ada") is None


def test_a_new_run_takes_the_place_of_the_last(jobs: Jobs, tmp_path: Path) -> None:
    first = ended(jobs.start(job(tmp_path / "one", content="")))
    second = jobs.start(job(tmp_path / "two", content=""))
    assert jobs.of("ada") is second
    assert not first.folder.exists()


def test_a_text_that_cannot_be_kept_is_told(jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    run = job(tmp_path / "run")
    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(TrainingError, match="No space left"):
        jobs.start(run)
    assert not run.folder.exists()
