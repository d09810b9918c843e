"""`compare A B`: two checkpoints, tensor by tensor."""

from __future__ import annotations

import math
from typing import Annotated

import typer
from rich.table import Table

from bertviz_lite.checkpoints import Comparison, load
from bertviz_lite.checkpoints import compare as compare_checkpoints
from bertviz_lite.commands._output import console, print_json


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="First checkpoint.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Second checkpoint.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare two checkpoints: every tensor, the configuration, the vocabulary."""
    found = compare_checkpoints(load(a), load(b))
    if as_json:
        print_json(found.to_dict())
        return
    screen = console()
    if found.same:
        screen.print(f"{found.name_a} and {found.name_b} are the same, bit for bit.", highlight=False, markup=False)
        return
    screen.print(found.summary(), highlight=False, markup=False)
    screen.print(_tensors(found))
    for line in found.differences():
        screen.print(line, markup=False, highlight=False)


def _tensors(found: Comparison) -> Table:
    table = Table("tensor", box=None, pad_edge=False, header_style="bold")
    for number in ("cosine", "relative change", "largest change"):
        table.add_column(number, justify="right")
    for change in found.changes:
        numbers = (change.cosine, change.relative_change, change.largest_change)
        table.add_row(change.name, *("-" if math.isnan(number) else f"{number:.4g}" for number in numbers))
    return table


__all__ = ["compare"]
