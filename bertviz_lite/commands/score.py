"""`score FILE`: what every line of a file costs the model, resumable."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from bertviz_lite.analysis import Metric, ScoredLine, score_lines, work
from bertviz_lite.checkpoints import Checkpoint, load
from bertviz_lite.commands import _records
from bertviz_lite.commands._output import console, print_json
from bertviz_lite.errors import TextError
from bertviz_lite.texts import Line, read_texts

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
    lines = read_texts(file.name, content).lines(column)
    checkpoint = load(model)
    tally = _records.Tally() if out is None else _records.continued(out, lines, metric, checkpoint)
    costs = [work(line.text, metric, checkpoint.config.max_position_embeddings) for line in lines]
    with _progress(lines, costs, tally.n_lines) as left:
        scored = score_lines(
            checkpoint.model, checkpoint.tokenizer, left, metric, exclude=_records.not_language(checkpoint)
        )
        if out is not None:
            _records.appended(out, scored, metric, tally)
        elif as_json:
            for line in scored:
                print_json(_records.record(line, metric), indent=None)
            return
        else:
            _show(scored, tally)
    _tell(checkpoint, metric, tally, as_json=as_json)


@contextmanager
def _progress(lines: Sequence[Line], costs: Sequence[int], done: int) -> Iterator[Iterable[Line]]:
    """The lines that are left, with a bar on stderr that moves as they are taken."""
    bar = Progress(
        TextColumn("{task.fields[at]:,} of {task.fields[n]:,} lines"),
        BarColumn(),
        TextColumn("time left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
    )
    task = bar.add_task("", total=sum(costs[done:]), at=done, n=len(lines))

    def left() -> Iterator[Line]:
        for line, cost in zip(lines[done:], costs[done:], strict=True):
            yield line
            bar.update(task, advance=cost, at=line.number)

    with bar:
        yield left()


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
