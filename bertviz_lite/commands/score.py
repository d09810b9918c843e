"""`score FILE`: what every line of a file costs the model, resumable."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from bertviz_lite.analysis import Metric, ScoredLine, score_lines, work
from bertviz_lite.checkpoints import Checkpoint, load
from bertviz_lite.commands import _records
from bertviz_lite.commands._output import console, print_json
from bertviz_lite.errors import TextError
from bertviz_lite.texts import read_texts

_MOST_ERRORS = 20  # on the screen


def score(
    file: Annotated[Path, typer.Argument(help="TXT with a sentence a line, CSV, TSV or Parquet.")],
    metric: Annotated[Metric, typer.Option(help="What is hidden when a token is asked for; see the README.")] = "pll",
    model: Annotated[str | None, typer.Option(help="Folder or zip of a checkpoint; the bundled model if left out.")] = (
        None
    ),
    column: Annotated[str | None, typer.Option(help="Column with the texts, of a table that has several.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="File for JSON lines; one that was interrupted is continued.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines; with --out, the summary as JSON.")] = False,
) -> None:
    """Score every line of a file, in nats; lines that are empty or too long are reported."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise TextError(f"{file} cannot be read ({error.strerror or error}).") from error
    if out is not None and out.exists() and out.samefile(file):
        raise TextError(f"{out} is the file with the texts: name another file for their scores.")
    lines = read_texts(file.name, content).lines(column)
    checkpoint = load(model)
    tally = _records.Tally() if out is None else _records.continued(out, lines, metric, checkpoint)
    costs = [work(line.text, metric, checkpoint.config.max_position_embeddings) for line in lines]
    left = lines[tally.n_lines :]
    with _progress(costs, tally.n_lines) as counted:
        scored = counted(
            score_lines(checkpoint.model, checkpoint.tokenizer, left, metric, exclude=checkpoint.not_language_ids)
        )
        if out is not None:
            try:
                _records.appended(out, scored, metric, tally)
            except KeyboardInterrupt:
                told = f"Stopped: {tally.n_lines:,} of {len(lines):,} lines are in {out}; run it again to go on."
                typer.echo(told, err=True)
                raise
        elif as_json:
            for line in scored:
                print_json(_records.record(line, metric), indent=None)
            return
        else:
            _show(scored, tally)
    _tell(checkpoint, metric, tally, as_json=as_json)


@contextmanager
def _progress(costs: Sequence[int], done: int) -> Iterator[Callable[[Iterable[ScoredLine]], Iterator[ScoredLine]]]:
    """A bar on stderr, moved by what passes through the function it gives: lines that are scored and dealt with."""
    bar = Progress(
        TextColumn("{task.fields[at]:,} of {task.fields[n]:,} lines"),
        BarColumn(),
        TextColumn("{task.fields[left]}"),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
    )
    all_cost = sum(costs[done:])
    task = bar.add_task("", total=all_cost, at=done, n=len(costs), left="")

    def counted(scored: Iterable[ScoredLine]) -> Iterator[ScoredLine]:
        began, moved = time.monotonic(), 0
        for at, line in enumerate(scored, start=done):
            yield line
            moved += costs[at]
            # From all of this run: lines come in groups, so the last few tell nothing.
            left = timedelta(seconds=round((time.monotonic() - began) / moved * (all_cost - moved)))
            bar.update(task, advance=costs[at], at=at + 1, left=f"{left} left")

    with bar:
        yield counted


def _show(scored: Iterable[ScoredLine], tally: _records.Tally) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("line", "nats", "tokens", "perplexity"):
        table.add_column(title, justify="right")
    table.add_column("text", no_wrap=True)
    for line in scored:
        tally.add(line.line.number, line.totals or str(line.error))
        if (sums := line.totals) is not None:
            numbers = (f"{sums.sum_nats:.2f}", str(sums.n_tokens), f"{sums.perplexity:,.1f}")
            table.add_row(str(line.line.number), *numbers, Text(" ".join(line.line.text.split())))
    console().print(table)


def _tell(checkpoint: Checkpoint, metric: Metric, tally: _records.Tally, *, as_json: bool) -> None:
    if as_json:
        print_json(_records.summary(checkpoint.report.name, metric, tally))
        return
    sums, scored = tally.totals, tally.n_lines - len(tally.errors)
    told = f"{scored:,} of {tally.n_lines:,} lines scored by {metric} with {checkpoint.report.name}"
    if scored:
        told += (
            f": {sums.sum_nats:,.2f} nats over {sums.n_tokens:,} tokens, perplexity {sums.perplexity:,.2f} a token, "
            f"{sums.word_perplexity:,.2f} a word, {sums.bits_per_character:.3f} bits a character"
        )
    typer.echo(f"{told}.")
    for number, error in tally.errors[:_MOST_ERRORS]:
        typer.echo(f"line {number}: {error}")
    if (more := len(tally.errors) - _MOST_ERRORS) > 0:
        typer.echo(f"and {more:,} lines more; --out or --json names them all.")


__all__ = ["score"]
