"""Scores as JSON lines: written one by one, and read again where a run was interrupted.

A file goes on only after what it holds is seen to be of the same texts, the same metric and the same model.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bertviz_lite.analysis import Metric, ScoredLine, Totals, score_lines, scored_positions, totals
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.commands._output import finite
from bertviz_lite.errors import TextError
from bertviz_lite.texts import Line

_BEGINS = b'{"line": '  # every record
_SAME_NATS = 0.01  # a sum of the same model on another machine; other models differ by far more

Record = dict[str, Any]


@dataclass
class Tally:
    """What is done so far; grows line by line.

    Attributes:
        n_lines: how many lines, those with an error included.
        totals: over the lines that were scored.
        errors: number of the line and what was wrong with it.
    """

    n_lines: int = 0
    totals: Totals = field(default_factory=Totals)
    errors: list[tuple[int, str]] = field(default_factory=list)

    def add(self, number: int, found: Totals | str) -> None:
        """One line more: its sums, or what was wrong with it."""
        self.n_lines += 1
        if isinstance(found, Totals):
            self.totals += found
        else:
            self.errors.append((number, found))


def record(scored: ScoredLine, metric: Metric) -> Record:
    """One line as JSON; numbers that JSON cannot write are null."""
    found: Record = {
        "line": scored.line.number,
        "text": scored.line.text,
        "metric": metric,
        "sum_nats": None,
        "tokens": [],
        "pseudo_perplexity": None,
        "error": scored.error,
    }
    if scored.scores is not None and scored.totals is not None:
        scores = scored.scores
        columns = (scored.pieces, scores.loss_nats.tolist(), scores.probs.tolist(), scores.ranks.tolist())
        names = ("token", "loss_nats", "prob", "rank")
        found["sum_nats"] = scored.totals.sum_nats
        found["tokens"] = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
        found["pseudo_perplexity"] = finite(scored.totals.perplexity)
    return found


def summary(model: str, metric: Metric, found: Tally) -> Record:
    """The whole file as JSON."""
    sums = found.totals
    return {
        "model": model,
        "metric": metric,
        "lines": found.n_lines,
        "sum_nats": sums.sum_nats,
        "tokens": sums.n_tokens,
        "words": sums.n_words,
        "pseudo_perplexity": finite(sums.perplexity),
        "word_perplexity": finite(sums.word_perplexity),
        "bits_per_character": finite(sums.bits_per_character),
        "errors": [{"line": number, "error": error} for number, error in found.errors],
    }


def appended(out: Path, scored: Iterable[ScoredLine], metric: Metric, tally: Tally) -> None:
    """Write the lines as they come, each in the file before the next is asked for."""
    with out.open("a", encoding="utf-8", newline="\n") as file:
        for line in scored:
            file.write(json.dumps(record(line, metric), allow_nan=False, ensure_ascii=False) + "\n")
            file.flush()
            tally.add(line.line.number, line.totals or str(line.error))


def continued(out: Path, lines: Sequence[Line], metric: Metric, checkpoint: Checkpoint) -> Tally:
    """What a file that was begun holds, after a half-written last line has been cut off; nothing where it is new.

    Raises:
        TextError: the file holds anything but scores of the first of these lines, by this metric and this model.
    """
    tally, last = Tally(), None
    if not out.exists():
        return tally
    if not out.is_file():
        raise TextError(f"{out} is no file that could be continued: name another.")
    records, n_bytes = _read(out)
    for number, found in enumerate(records, start=1):
        line = lines[number - 1] if number <= len(lines) else None
        if line is None or not _is_of(found, line, metric):
            raise TextError(
                f"{out} holds other scores (its line {number} is not line {number} of this file by {metric}): "
                "name another file."
            )
        if found["error"] is not None:
            tally.add(number, found["error"])
            continue
        last = (line, found["sum_nats"])
        encoding = checkpoint.tokenizer.encode(line.text)
        tally.add(number, totals(encoding, scored_positions(checkpoint.model, encoding), found["sum_nats"]))
    if last is not None:
        _require_same_model(out, *last, metric, checkpoint)
    with out.open("r+b") as file:
        file.truncate(n_bytes)
    return tally


def _read(out: Path) -> tuple[list[Record], int]:
    """The whole records of a file, and how many bytes they take."""
    records: list[Record] = []
    n_bytes = 0
    with out.open("rb") as file:
        for raw in file:
            if not raw.endswith(b"\n") and _BEGINS.startswith(raw[: len(_BEGINS)]):
                break  # half a line: the run was interrupted while it wrote
            try:
                found = json.loads(raw)
            except (ValueError, RecursionError):
                found = None
            if not isinstance(found, dict):
                raise TextError(f"{out} holds something else (line {len(records) + 1} is no score): name another file.")
            records.append(found)
            n_bytes += len(raw)
    return records, n_bytes


def _is_of(found: Record, line: Line, metric: Metric) -> bool:
    same = (found.get("line"), found.get("text"), found.get("metric")) == (line.number, line.text, metric)
    return same and (isinstance(found.get("error"), str) or _is_sum(found.get("sum_nats")))


def _is_sum(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _require_same_model(out: Path, line: Line, sum_nats: float, metric: Metric, checkpoint: Checkpoint) -> None:
    """Score the last line again: the records do not say which model made them."""
    (again,) = score_lines(checkpoint.model, checkpoint.tokenizer, [line], metric)
    if again.totals is None or abs(again.totals.sum_nats - sum_nats) > _SAME_NATS:
        raise TextError(
            f"{out} was begun with another model (line {line.number} costs {sum_nats:.2f} nats there): "
            "name another file, or the same model."
        )


__all__ = ["Record", "Tally", "appended", "continued", "record", "summary"]
