"""`inspect SOURCE`: what a checkpoint holds and how it was read."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from bertviz_lite.checkpoints import Report
from bertviz_lite.checkpoints import inspect as inspect_checkpoint
from bertviz_lite.commands._output import console, print_json


def inspect(
    source: Annotated[
        str | None, typer.Argument(help="Folder or zip of a checkpoint; the bundled model if left out.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the configuration, the parameters and every tensor of a checkpoint."""
    report = inspect_checkpoint(source)
    if as_json:
        print_json(report.to_dict())
        return
    screen = console()
    screen.print(_summary(report))
    for title, lines in _findings(report).items():
        if lines:
            screen.print(f"\n[bold]{title}[/bold]")
            for line in lines:
                screen.print(f"  {escape(line)}", highlight=False)
    screen.print()
    screen.print(_tensors(report, with_numbers=screen.width >= 120))


def _summary(report: Report) -> Table:
    config, parts = report.config, report.parameters
    table = Table(title=Text(report.name), title_justify="left", title_style="bold", show_header=False, box=None)
    table.add_row("files", Text(", ".join(report.files)))
    table.add_row("weights", report.format)
    table.add_row("network", f"{config.num_hidden_layers} layers, {config.num_attention_heads} heads, "
                  f"width {config.hidden_size}, {config.vocab_size:,} pieces, "
                  f"{config.max_position_embeddings} tokens at most")  # fmt: skip
    table.add_row("parameters", f"{parts.total:,}")
    table.add_row("head", _head(report))
    return table


def _head(report: Report) -> str:
    if report.lacks_head:
        return "not in the files: an encoder alone"
    return "tied: the decoder is the word embedding" if report.tied else "untied: a decoder of its own"


def _findings(report: Report) -> dict[str, list[str]]:
    return {
        "Problems": list(report.problems),
        "Missing": list(report.missing),
        "Taken from the tensors": list(report.inferred),
        "Notes": list(report.notes),
        "Aliases": list(report.aliases),
        "Renamed": [f"{r.old} → {r.new} ({r.reason})" for r in report.renamed],
        "Not used": [f"{u.name} ({u.reason})" for u in report.unused],
    }


def _tensors(report: Report, with_numbers: bool) -> Table:
    numbers = ("mean", "std", "min", "max") if with_numbers else ()
    table = Table("tensor", "shape", "type", box=None, pad_edge=False, header_style="bold")
    for number in numbers:
        table.add_column(number, justify="right")
    for tensor in report.tensors:
        statistics = {} if tensor.statistics is None else tensor.statistics.to_dict()
        shown = [f"{statistics[number]:.3g}" if number in statistics else "" for number in numbers]
        table.add_row(tensor.name, " × ".join(f"{n:,}" for n in tensor.shape), tensor.dtype, *shown)
    return table


__all__ = ["inspect"]
