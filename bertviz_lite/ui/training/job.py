"""Training for visitors, each in a process of its own: begun, stopped, gone on with, found again after a reload.

A run belongs to one browser tab, which knows it by a name that cannot be guessed; it ends, and its folder goes, a
while after that tab has gone, when the visitor discards it, and when the server ends.
"""

from __future__ import annotations

import atexit
import contextlib
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from bertviz_lite.errors import TrainingError
from bertviz_lite.training import RUN, Progress, Recipe, child, read_log, read_status
from bertviz_lite.training.preparation import START
from bertviz_lite.training.state import saved_steps
from bertviz_lite.ui.gate import n_cores
from bertviz_lite.ui.training import folders

MOST_RUNNING = 2  # on this server at once
GRACE_SECONDS = 300.0  # a lost connection, a reload or a laptop's lid may take so long
TEXT = "text"  # in a run's folder: what it reads
_LOOK_SECONDS = 5.0
_ENDED = ("done", "stopped", "failed")
_ROOT = Path(child.__file__).parents[2]  # from where the child finds the package


@dataclass
class Job:
    """One training run of one visitor.

    Attributes:
        name: what the trained model will be called.
        about: what is trained on what, a phrase for the page.
        recipe: as it was begun.
        folder: the run's own, a temporary one.
        owner: the session that may see and steer it.
        begun_with: key on the shelf and name of the model that is continued; None from scratch.
        key: of the trained model on the shelf, once it was opened.
    """

    name: str
    about: str
    recipe: Recipe
    folder: Path
    owner: str
    begun_with: tuple[str, str] | None = None
    key: str | None = None
    run: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    gone_since: float | None = None
    _process: subprocess.Popen[bytes] | None = None
    _asked_to_stop: bool = False
    _last_words: str = ""

    @property
    def out(self) -> Path:
        """Where the run goes, and the trained model lies at its end."""
        return self.folder / child.MODEL

    @property
    def saved_steps(self) -> int:
        """Steps of the last saved state, from which a model can be made; 0 where none was saved, or the first alone."""
        return saved_steps(self.out / RUN)

    @property
    def running(self) -> bool:
        """Whether its process is at work."""
        return self._process is not None and self._process.poll() is None

    @property
    def stopping(self) -> bool:
        """Whether it was told to stop, and has not yet."""
        return self._asked_to_stop and self.running

    def start(self) -> None:
        """Begin.

        Raises:
            TrainingError: the recipe cannot be written, or no process can be had.
        """
        try:
            (self.folder / child.ORDER).write_text(self.recipe.to_json(), encoding="utf-8")
        except OSError as error:
            raise folders.no_room(error) from error
        self._launch()

    def resume(self) -> None:
        """Go on from the last saved state."""
        self._launch("--resume")

    def finish(self) -> None:
        """Make the model of the last saved state the trained one."""
        self._launch("--resume", "--minutes", str(1e-12))  # a budget that is used up before the next step

    def stop(self) -> None:
        """Ask the process to stop with its state saved."""
        self._asked_to_stop = True
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):  # it has ended by itself
                self._process.stdin.write(child.STOP_ORDER)
                self._process.stdin.flush()

    def end(self) -> None:
        """Leave nothing: no process, no folder."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            _close(self._process)
        folders.remove(self.folder)

    def keep_result(self) -> None:
        """Of a run that is done keep the model and the log; the text and what was made of it go."""
        for path in (self.out / RUN / "store", self.out / RUN / START, self.folder / TEXT):
            shutil.rmtree(path, ignore_errors=True)

    def progress(self) -> Progress:
        """Where it stands; a process that ended without a word counts as failed, and is told."""
        told = read_status(self.out / RUN) or Progress()
        mine = self._process is not None and told.pid == self._process.pid
        if self.running:
            return told if mine else replace(told, phase="preparing", message="Starting the training process.")
        if mine and told.phase in _ENDED:
            return replace(told, message=self._readable(told.message))
        if self._asked_to_stop:
            return replace(told, phase="stopped", message="Stopped.")
        return replace(told, phase="failed", message=self._how_it_ended())

    def rows(self) -> list[dict[str, Any]]:
        """The log, without notes."""
        return [row for row in read_log(self.out / RUN) if "note" not in row]

    def _launch(self, *options: str) -> None:
        if self._process is not None:
            _close(self._process)
        self._asked_to_stop, self._last_words = False, ""
        command = [sys.executable, "-m", child.__name__, str(self.folder), "--threads", str(_threads()), *options]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own words alone
                command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        except OSError as error:
            raise TrainingError(f"No training process can be started ({error.strerror}); try again later.") from error

    def _how_it_ended(self) -> str:
        if self._process is None:
            return "It was never begun."
        if not self._last_words and self._process.stdout is not None and not self._process.stdout.closed:
            self._last_words = self._process.stdout.read().decode(errors="replace").strip()
        if self._last_words:
            return self._readable(self._last_words)
        status = self._process.returncode
        how = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
        return f"The training process was ended from outside, {how}; memory may have run out."

    def _readable(self, message: str) -> str:
        """The message without paths, which mean nothing to a visitor."""
        for path, named in ((self.out / RUN, "the run's folder"), (self.out, "the run's folder"), (self.folder, "")):
            message = message.replace(str(path), named)
        return message


class Jobs:
    """All runs on this server."""

    def __init__(self, is_here: Callable[[str], bool]) -> None:
        """`is_here` tells whether the tab of a session is open."""
        self._is_here = is_here
        self._jobs: dict[str, Job] = {}
        self._lock = threading.RLock()
        self._watching = False

    def start(self, job: Job) -> Job:
        """Begin a run; the visitor's earlier one goes.

        Raises:
            TrainingError: as many run as may, or this one cannot be started; nothing is left of it then.
        """
        with self._lock:
            try:
                if (mine := self.of(job.owner)) is not None and mine.running:
                    raise TrainingError("You are training a model already; stop that run first.")
                self.require_room()
                job.start()
            except TrainingError:
                job.end()
                raise
            if mine is not None:
                self.discard(mine)
            self._jobs[job.run] = job
            self._watch()
            return job

    def resume(self, job: Job, *, to_the_end: bool) -> None:
        """Go on with a run, or make the model of its last state the trained one; nothing where it goes on already.

        Raises:
            TrainingError: as many run as may, or no process can be had.
        """
        with self._lock:
            if job.running:  # a double click: a second process in its folder would end both
                return
            self.require_room()
            job.resume() if to_the_end else job.finish()

    def require_room(self) -> None:
        """Refuse another run where as many run as may.

        Raises:
            TrainingError: says how long it may take until there is room.
        """
        running = [job for job in self._jobs.values() if job.running]
        if len(running) >= MOST_RUNNING:
            left = [seconds for job in running if (seconds := job.progress().seconds_left) is not None]
            wait = f"; the next is done in about {max(5, round(min(left)))} s" if left else ""
            raise TrainingError(
                f"{len(running)} models are being trained on this server, as many as may be at once{wait}. "
                "Try again then, or train on your own machine: `python -m bertviz_lite pretrain`."
            )

    def find(self, run: str, owner: str) -> Job | None:
        """The run of this name, if it is this visitor's, or was of a tab that has gone: after a reload, for example."""
        with self._lock:
            job = self._jobs.get(run)
            if job is None or (job.owner != owner and self._is_here(job.owner)):
                return None
            job.owner, job.gone_since = owner, None
            return job

    def of(self, owner: str) -> Job | None:
        """The visitor's run, where there is one."""
        return next((job for job in self._jobs.values() if job.owner == owner), None)

    def discard(self, job: Job) -> None:
        """End a run and forget it."""
        with self._lock:
            self._jobs.pop(job.run, None)
            job.end()

    def end_all(self) -> None:
        """End everything, as the server ends."""
        for job in list(self._jobs.values()):
            self.discard(job)

    def look(self, now: float) -> None:
        """End the runs whose visitors have been gone for too long."""
        with self._lock:
            for job in list(self._jobs.values()):
                if self._is_here(job.owner):
                    job.gone_since = None
                    continue
                job.gone_since = now if job.gone_since is None else job.gone_since
                if now - job.gone_since > GRACE_SECONDS:
                    self.discard(job)

    def _watch(self) -> None:
        if not self._watching:
            self._watching = True
            threading.Thread(target=self._look_again, daemon=True).start()

    def _look_again(self) -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            self.look(time.monotonic())
            with self._lock:
                if not self._jobs:
                    self._watching = False
                    return


@st.cache_resource(show_spinner=False)
def jobs() -> Jobs:
    """The server's runs."""
    folders.sweep()
    all_jobs = Jobs(_is_here)
    atexit.register(all_jobs.end_all)
    return all_jobs


def visitor() -> str:
    """The session of the visitor whose page is being drawn."""
    context = get_script_run_ctx()
    return "" if context is None else context.session_id


def _is_here(session_id: str) -> bool:
    return not runtime.exists() or runtime.get_instance().is_active_session(session_id)


def _threads() -> int:
    """Half of a run's share of the cores: threads that wait for each other are slowed by whatever else is going on."""
    return max(1, n_cores() // (2 * MOST_RUNNING))


def _close(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


__all__ = ["GRACE_SECONDS", "MOST_RUNNING", "TEXT", "Job", "Jobs", "jobs", "visitor"]
