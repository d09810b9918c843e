"""Puts the commands together and turns our errors into a sentence and an exit status."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from bertviz_lite._version import __version__
from bertviz_lite.commands.attention import attention
from bertviz_lite.commands.compare import compare
from bertviz_lite.commands.convert import convert
from bertviz_lite.commands.fill import fill
from bertviz_lite.commands.inspect import inspect
from bertviz_lite.commands.pretrain import pretrain
from bertviz_lite.commands.score import score
from bertviz_lite.errors import BertvizError

app = typer.Typer(
    name="bertviz_lite",
    help="See what a BERT masked language model predicts, what each token costs and where it attends.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(fill)
app.command()(score)
app.command()(attention)
app.command()(inspect)
app.command()(convert)
app.command()(compare)
app.command()(pretrain)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options before a command."""


def main() -> None:
    """Run the shell command that sys.argv names; exit status 2 for what a person can mend."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character shows ?
    try:
        sys.exit(app(standalone_mode=False))
    except BertvizError as error:
        told = str(error)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:  # the terminal is gone, the disk is full
        told = f"The output cannot be written ({error.strerror or error})."
    except TyperException as error:  # a wrong option or argument
        if not error.format_message():  # no command: the help has been shown
            sys.exit(2)
        told = f"{error.format_message().rstrip('.')}. See --help."
    typer.echo(f"bertviz_lite: {told}", err=True)
    sys.exit(2)


__all__ = ["app", "main"]
