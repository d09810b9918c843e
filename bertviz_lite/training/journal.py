"""What a run tells while it goes: rows of a log, and one status file that a page of another process can show.

Both are plain JSON in the run's folder; the status is replaced whole, so a reader never sees half of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bertviz_lite.errors import TrainingError
from bertviz_lite.training._files import write_text

LOG, STATUS, STOP = "log.jsonl", "status.json", "stop"
_STATUS_SECONDS = 1.0


@dataclass(frozen=True)
class Progress:
    """Where a run stands.

    Attributes:
        phase: "preparing", "training", "done", "stopped" or "failed".
        message: a sentence for a person.
        share: of the budget that is used, 0 to 1.
        loss_nats: masked loss on the training text, a running mean; None before the first step.
        tokens_per_second: since this process began; None before the first step.
        uniform_nats, unigram_nats: what guessing costs, blindly and by frequency alone; None until the text is read.
        held_out: by source, `loss_nats` and `accuracy` at the last evaluation.
        probes: at the last evaluation, a sentence each with the likeliest pieces at its masks.
        example: one sequence of the last batch shown, as `pieces`, `input_pieces` and `kinds`.
        pid: the process that trains.
        updated: seconds since 1970.
    """

    phase: str = "preparing"
    message: str = ""
    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    seconds_left: float | None = None
    share: float = 0.0
    lr: float = 0.0
    loss_nats: float | None = None
    tokens_per_second: float | None = None
    uniform_nats: float | None = None
    unigram_nats: float | None = None
    held_out: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    probes: tuple[Mapping[str, Any], ...] = ()
    example: Mapping[str, Any] = field(default_factory=dict)
    pid: int = 0
    updated: float = 0.0


class Journal:
    """Writes a run's log and status, and reads its stop file."""

    def __init__(self, folder: Path, listen: Callable[[Progress], None] | None = None, *, writes: bool = True) -> None:
        """Tell `listen` every change; `writes` is False in processes that do not lead."""
        self.folder, self._listen, self._writes = folder, listen, writes
        self.progress = Progress(pid=os.getpid())
        self._written = 0.0

    def tell(self, *, now: bool = False, **changes: Any) -> None:  # noqa: ANN401 - fields of Progress
        """Change the status; it reaches the disk once a second, or at once.

        Raises:
            TrainingError: the disk is full, for example.
        """
        self.progress = replace(self.progress, updated=time.time(), **changes)
        if not self._writes:
            return
        if self._listen:
            self._listen(self.progress)
        if now or time.monotonic() - self._written >= _STATUS_SECONDS:
            self._written = time.monotonic()
            write_text(self.folder / STATUS, json.dumps(asdict(self.progress), ensure_ascii=False))

    def row(self, **values: Any) -> None:  # noqa: ANN401 - whatever a row holds
        """Add a row to the log.

        Raises:
            TrainingError: the disk is full, for example.
        """
        if not self._writes:
            return
        try:
            with (self.folder / LOG).open("a", encoding="utf-8") as file:
                file.write(json.dumps(values, ensure_ascii=False) + "\n")
        except OSError as error:
            raise TrainingError(f"The log cannot be written ({error.strerror}); what was saved is kept.") from error

    def rewind(self, step: int) -> None:
        """Drop the rows after a step: they were written after the state from which the run resumes."""
        if self._writes and (self.folder / LOG).is_file():
            kept = [row for row in read_log(self.folder) if row["step"] <= step]
            write_text(self.folder / LOG, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept))

    def asked_to_stop(self) -> bool:
        """Whether somebody has put a file named `stop` into the folder."""
        return (self.folder / STOP).exists()

    def forget_stop(self) -> None:
        """Remove the stop file of an earlier run."""
        if self._writes:
            (self.folder / STOP).unlink(missing_ok=True)


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The rows of a run's log, oldest first; a last row that is only half there is left out."""
    rows = []
    with contextlib.suppress(OSError, ValueError):
        for line in (folder / LOG).read_text(encoding="utf-8").splitlines():
            rows.append(json.loads(line))
    return rows


def read_status(folder: Path) -> Progress | None:
    """Where a run stands, by its status file; None where there is none."""
    try:
        values = json.loads((folder / STATUS).read_text(encoding="utf-8"))
        return Progress(**values | {"probes": tuple(values["probes"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


__all__ = ["LOG", "STATUS", "STOP", "Journal", "Progress", "read_log", "read_status"]
