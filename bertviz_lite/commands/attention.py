"""`attention TEXT [TEXT_B]`: what the heads of a model do on a text, and their maps as a file to take away."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer
from rich.table import Table
from rich.text import Text

from bertviz_lite.analysis import HeadStatistics, Kind, MapChoice, Pairing, named_heads
from bertviz_lite.analysis.units import KINDS as UNIT_KINDS
from bertviz_lite.checkpoints import load
from bertviz_lite.commands._attention_files import Asked, content, kind_of
from bertviz_lite.commands._output import console, print_json, require_free, write
from bertviz_lite.errors import InputError
from bertviz_lite.notebook import read

_MOST_NAMED = 5  # heads of one pattern on the screen


def attention(  # noqa: PLR0913, PLR0917 - the options of a command
    text: Annotated[str, typer.Argument(help="A sentence; [MASK] may stand in it.")],
    text_b: Annotated[str | None, typer.Argument(help="A second one, read with the first as a pair.")] = None,
    model: Annotated[str | None, typer.Option(help="Folder or zip of a checkpoint; the bundled model if left out.")] = (
        None
    ),
    layer: Annotated[int | None, typer.Option(help="One layer, numbered from 0 as in BertViz; else all.")] = None,
    head: Annotated[int | None, typer.Option(help="One head, numbered from 0 as in BertViz; else all.")] = None,
    mask: Annotated[
        str, typer.Option(help="Words to mask: numbers from 0 with commas, punctuation and TEXT_B counted on.")
    ] = "",
    by: Annotated[Literal["pieces", "words"], typer.Option(help="Words: rows averaged, columns summed.")] = "pieces",
    without: Annotated[str, typer.Option(help="Left out, with commas: cls, sep, punctuation.")] = "",
    pairs: Annotated[Pairing | None, typer.Option(help="Which sentence looks at which; all if left out.")] = None,
    rescale: Annotated[bool, typer.Option("--rescale", help="Divide each row by what is left of it.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File to write: .html the view of the page, works offline; .svg, .png a picture for print: all heads, "
            "those of --layer, or one; .csv, .json, .npz the maps as numbers."
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if there is one.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: every number of every chosen head.")] = False,
) -> None:
    """Show what the attention heads do on a text; write maps as a page, a picture or numbers.

    Layers and heads are numbered from 0, as in BertViz.
    """
    kind = None if out is None else kind_of(out)
    if out is not None:
        require_free(out, overwrite=overwrite)
    choice = MapChoice("words" if by == "words" else "tokens", _kinds(without), pairs, rescale)
    checkpoint = load(model, headless=True) if model else load()
    asked = Asked(checkpoint, read(checkpoint, text, text_b, _numbers(mask)), layer, head, choice)
    asked.require()
    statistics = asked.statistics()
    if out is not None and kind is not None:
        write(out, content(asked, kind))
    if as_json:
        print_json(_told(asked, statistics, out))
        return
    _show(asked, statistics)
    if out is not None:
        typer.echo(f"{out}: {asked.says()}")


def _kinds(listed: str) -> tuple[Kind, ...]:
    kinds = _listed(listed)
    if odd := [kind for kind in kinds if kind not in UNIT_KINDS]:
        raise InputError(f"--without {odd[0]}: what can be left out is {', '.join(UNIT_KINDS)}.")
    return cast(tuple[Kind, ...], tuple(kind for kind in UNIT_KINDS if kind in kinds))


def _numbers(listed: str) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in _listed(listed))
    except ValueError:
        raise InputError(f"--mask {listed}: write numbers of words, from 0, with commas, as in 2,6.") from None


def _listed(text: str) -> Sequence[str]:
    return [part for one in text.split(",") if (part := one.strip())]


def _told(asked: Asked, statistics: HeadStatistics, out: Path | None) -> dict[str, Any]:
    encoding = asked.encoding
    return {
        "model": asked.checkpoint.report.name,
        "text": encoding.text,
        "pair": encoding.pair,
        "tokens": list(encoding.pieces),
        "heads": asked.records(statistics),
        "out": None if out is None else str(out),
    }


def _show(asked: Asked, statistics: HeadStatistics) -> None:
    screen, name = console(), asked.checkpoint.report.name
    n_tokens = len(asked.encoding)
    if asked.layer is not None and asked.head is not None:
        screen.print(Text(f"layer {asked.layer}, head {asked.head} · {n_tokens} tokens · {name}", style="bold"))
        screen.print(_numbers_of(asked.records(statistics)[0]))
        return
    title = f"named heads of {statistics.entropy_nats.size}, layer·head from 0 · {n_tokens} tokens · {name}"
    screen.print(Text(title, style="bold"))
    screen.print(_named(asked, statistics))


def _numbers_of(record: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in record.items():
        if name not in ("layer", "head", "patterns"):
            table.add_row(name, "-" if value is None else f"{value:.3f}")
    table.add_row("patterns", ", ".join(record["patterns"]) or "none")
    return table


def _named(asked: Asked, statistics: HeadStatistics) -> Table | str:
    named = named_heads(statistics)
    if not named:
        return "No head of this text matches a named pattern."
    table = Table("pattern", box=None, pad_edge=False, header_style="bold")
    for title in ("layer·head", "score"):
        table.add_column(title, justify="right")
    for pattern in dict.fromkeys(one.pattern for one in named):
        found = [one for one in named if one.pattern is pattern]
        for one in found[:_MOST_NAMED]:
            table.add_row(pattern.name, f"{asked.layers[one.layer]}·{asked.heads[one.head]}", f"{one.score:.2f}")
        if (more := len(found) - _MOST_NAMED) > 0:
            table.add_row(pattern.name, f"{more} more", "", style="dim")
    return table


__all__ = ["attention"]
