"""`fill TEXT`: the likeliest words at every mask of a text."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from bertviz_lite.analysis import MaskPredictions, top_k
from bertviz_lite.checkpoints import Checkpoint, load
from bertviz_lite.commands._output import bar, console, print_json
from bertviz_lite.errors import CheckpointError, TextError


def fill(
    text: Annotated[str, typer.Argument(help="A sentence with [MASK] for every word to predict.")],
    model: Annotated[str | None, typer.Option(help="Folder or zip of a checkpoint; the bundled model if left out.")] = (
        None
    ),
    top: Annotated[int, typer.Option("--top-k", min=1, help="How many words per mask.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Predict the words at the [MASK]s of a sentence."""
    checkpoint = load(model)
    tokenizer = checkpoint.tokenizer
    encoding = tokenizer.encode(text)
    if not encoding.mask_positions and (meant := tokenizer.with_mask_token(text)) != text:
        raise TextError(f"Nothing is masked. Run again with: {meant}")
    found = top_k(checkpoint.model, encoding, top, exclude=tokenizer.special_ids | checkpoint.excluded_ids)
    if not np.isfinite(found.probs).all():
        raise CheckpointError("The model's predictions are NaN: its weights hold NaN or infinite values; see inspect.")
    if as_json:
        print_json(_as_json(checkpoint, encoding.text, found))
        return
    screen = console()
    for mask in range(len(found.positions)):
        title = f"mask {mask + 1} of {len(found.positions)}, token {found.positions[mask]} · {checkpoint.report.name}"
        screen.print(Text(title, style="bold"))
        screen.print(_table(checkpoint, found, mask))


def _as_json(checkpoint: Checkpoint, text: str, found: MaskPredictions) -> dict[str, object]:
    return {
        "model": checkpoint.report.name,
        "text": text,
        "masks": [
            {
                "position": int(found.positions[m]),
                "predictions": [
                    {"token": checkpoint.tokenizer.piece(int(i)), "id": int(i), "prob": float(p), "rank": rank}
                    for rank, (i, p) in enumerate(zip(found.ids[m], found.probs[m], strict=True), start=1)
                ],
            }
            for m in range(len(found.positions))
        ],
    }


def _table(checkpoint: Checkpoint, found: MaskPredictions, mask: int) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("rank", justify="right", style="dim")
    table.add_column("token")
    table.add_column("probability", justify="right")
    table.add_column("")
    for rank, (i, p) in enumerate(zip(found.ids[mask], found.probs[mask], strict=True), start=1):
        drawn = Text(bar(float(p)), style="blue")
        table.add_row(
            str(rank), Text(checkpoint.tokenizer.piece(int(i))), f"{p:.3f}" if p >= 0.001 else f"{p:.1e}", drawn
        )
    return table


__all__ = ["fill"]
