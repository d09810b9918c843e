"""A file being scored for a visitor: what is done, how long the rest takes, stopping and going on.

It runs inside the page's own script, so that any press interrupts it between two batches; what is done stays in the
session, and the next run of the script goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass, field, replace

import streamlit as st

from bertviz_lite.analysis import Metric, ScoredLine, Totals, work
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.texts import Line
from bertviz_lite.ui import compute

_MOST_JOBS = 4  # of a visitor; the one used least recently goes first


@dataclass
class Job:
    """Lines under one metric and one model.

    Attributes:
        lines: all of them.
        done: those that are scored, in their order, sums only.
        running: whether the page goes on with it when it is drawn.
    """

    lines: tuple[Line, ...]
    metric: Metric
    done: list[ScoredLine] = field(default_factory=list)
    running: bool = False

    @property
    def finished(self) -> bool:
        """Whether no line is left."""
        return len(self.done) == len(self.lines)

    @property
    def scored(self) -> list[ScoredLine]:
        """The lines that have a score."""
        return [line for line in self.done if line.totals is not None]

    @property
    def totals(self) -> Totals:
        """What the scored lines cost together."""
        return sum((line.totals for line in self.done if line.totals is not None), Totals())

    def start(self) -> None:
        """Go on when the page is drawn next."""
        self.running = True

    def stop(self) -> None:
        """Keep what is done and do no more."""
        self.running = False


def job_for(key: Hashable, lines: tuple[Line, ...], metric: Metric) -> Job:
    """The visitor's job of this key, begun or not."""
    jobs: dict[Hashable, Job] = st.session_state.setdefault("file_jobs", {})
    jobs[key] = jobs.pop(key) if key in jobs else Job(lines, metric)  # put last: it was used last
    while len(jobs) > _MOST_JOBS:
        del jobs[next(iter(jobs))]
    return jobs[key]


def run(checkpoint: Checkpoint, job: Job) -> None:
    """Score what is left of a job that is running, with a bar and a button to stop it."""
    if not job.running:
        return
    place = st.empty()
    with place.container():
        # Above the bar, and alone in its row: what moves under the mouse swallows the press.
        st.button("Stop and keep what is scored", key="stop_file", on_click=job.stop)
        bar = st.progress(0.0)
    longest = checkpoint.config.max_position_embeddings
    costs = [work(line.text, job.metric, longest) for line in job.lines[len(job.done) :]]
    began, at_start, done = time.monotonic(), len(job.done), 0

    def tell() -> None:
        left = _left(time.monotonic() - began, done, sum(costs) - done)
        bar.progress(len(job.done) / len(job.lines), f"{len(job.done):,} of {len(job.lines):,} lines scored{left}")

    tell()
    for scored in compute.scored_lines(checkpoint, job.lines[at_start:], job.metric, tell):
        done += costs[len(job.done) - at_start]
        job.done.append(replace(scored, pieces=(), scores=None))
    job.stop()
    place.empty()


def _left(seconds: float, work_done: int, work_left: int) -> str:
    """The time left, once there is something to reckon it from."""
    if work_done == 0:
        return ""
    left = seconds * work_left / work_done
    if left < 90:
        return f", about {max(1, round(left))} s left"
    return f", about {left / 60:.0f} min left" if left < 5400 else f", about {left / 3600:.1f} h left"


__all__ = ["Job", "job_for", "run"]
