"""`compare A B`: two checkpoints, tensor by tensor."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.table import Table

from bertviz_lite.checkpoints import Comparison, load
from bertviz_lite.checkpoints import compare as compare_checkpoints
from bertviz_lite.commands._output import console

_MOST_NAMED = 6


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="First checkpoint.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Second checkpoint.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare two checkpoints: every tensor, the configuration, the vocabulary."""
    found = compare_checkpoints(load(a), load(b))
    if as_json:
        typer.echo(json.dumps(found.to_dict(), ensure_ascii=False, indent=2))
        return
    screen = console()
    if found.same:
        screen.print(f"{found.name_a} and {found.name_b} are the same, bit for bit.", highlight=False)
        return
    screen.print(_tensors(found))
    for line in _lines(found):
        screen.print(line, markup=False, highlight=False)


def _tensors(found: Comparison) -> Table:
    table = Table("tensor", box=None, pad_edge=False, header_style="bold")
    for number in ("cosine", "relative change", "largest change"):
        table.add_column(number, justify="right")
    for change in found.changes:
        numbers = (change.cosine, change.relative_change, change.largest_change)
        table.add_row(change.name, *(f"{number:.4g}" for number in numbers))
    return table


def _lines(found: Comparison) -> list[str]:
    lines = [f"{field}: {a!r} in {found.name_a}, {b!r} in {found.name_b}" for field, (a, b) in found.config.items()]
    lines += [f"{r.name}: shape {r.shape_a} in {found.name_a}, {r.shape_b} in {found.name_b}" for r in found.reshaped]
    for title, names in (
        (f"tensors only in {found.name_a}", found.only_a),
        (f"tensors only in {found.name_b}", found.only_b),
        (f"pieces only in {found.name_a}", found.pieces_a),
        (f"pieces only in {found.name_b}", found.pieces_b),
        ("pieces under another id", found.moved),
    ):
        if names:
            lines.append(
                f"{title}: {len(names):,} ({', '.join(names[:_MOST_NAMED])}{' …' * (len(names) > _MOST_NAMED)})"
            )
    return lines


__all__ = ["compare"]
