"""`convert SOURCE DIR`: any checkpoint that opens, as a clean Hugging Face folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bertviz_lite.checkpoints import load
from bertviz_lite.errors import CheckpointError


def convert(
    source: Annotated[str, typer.Argument(help="Checkpoint to read.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write; it must be new or empty.")],
) -> None:
    """Write a checkpoint as a clean Hugging Face folder that transformers opens."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CheckpointError(f"{folder} is there already and not an empty folder; nothing was written.")
    checkpoint = load(source)
    checkpoint.save_pretrained(folder)
    for line in (*checkpoint.report.inferred, *checkpoint.report.notes):
        typer.echo(line)
    typer.echo(f"{folder}: {', '.join(sorted(path.name for path in folder.iterdir()))}")


__all__ = ["convert"]
