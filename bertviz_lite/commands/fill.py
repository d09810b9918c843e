"""`fill TEXT`: the likeliest words at the masks of a text, each alone or all together, and how given words fare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from bertviz_lite.analysis import (
    Candidates,
    Case,
    Strategy,
    Window,
    candidates,
    continuing_ids,
    require_fits,
    require_numbers,
    require_slot,
    slots,
    spelling,
    top_k,
    window,
    wrong_case_ids,
)
from bertviz_lite.analysis import fill as fill_together
from bertviz_lite.checkpoints import Checkpoint, load
from bertviz_lite.commands._fill_output import Answer
from bertviz_lite.commands._output import console, print_json, progress
from bertviz_lite.errors import TextError


def fill(  # noqa: PLR0913, PLR0917 - the options of a command
    text: Annotated[str, typer.Argument(help="A sentence with [MASK] for every word to predict.")],
    model: Annotated[str | None, typer.Option(help="Folder or zip of a checkpoint; the bundled model if left out.")] = (
        None
    ),
    top: Annotated[int, typer.Option("--top-k", min=1, help="How many words per mask.")] = 5,
    strategy: Annotated[Strategy | None, typer.Option(help="Fill all masks together.")] = None,
    beams: Annotated[int, typer.Option(min=1, max=1000, help="How many beginnings the beam search follows.")] = 5,
    words: Annotated[
        str | None,
        typer.Option(
            "--candidates", help="Words or phrases to score whole, with commas between them, or @FILE with one a line."
        ),
    ] = None,
    target: Annotated[list[str] | None, typer.Option(help="A word whose rank is told; may be repeated.")] = None,
    mask: Annotated[int, typer.Option(min=1, help="The masked place of the candidates, from 1.")] = 1,
    cut: Annotated[bool, typer.Option("--window", help="Of a text too long, read what fits around --mask.")] = False,
    whole_words: Annotated[bool, typer.Option("--whole-words", help="No ## pieces where a mask begins a word.")] = (
        False
    ),
    special: Annotated[bool, typer.Option("--special", help="Let [UNK], [CLS] and their like compete.")] = False,
    case: Annotated[Case, typer.Option(help="Which letters may be predicted.")] = "any",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Predict the words at the [MASK]s of a sentence, or score words of your own there."""
    checkpoint = load(model)
    listed, targets = _listed(words), tuple(target or ())
    seen, slot = _read(checkpoint, text, mask - 1, cut, (*listed, *targets))
    tokenizer, net, encoding = checkpoint.tokenizer, checkpoint.model, seen.encoding
    exclude = checkpoint.excluded_ids if special else checkpoint.not_language_ids
    exclude |= wrong_case_ids(tokenizer, case)
    at_start = continuing_ids(tokenizer) if whole_words else frozenset()
    found = top_k(net, encoding, top, exclude=exclude, exclude_at_start=at_start)
    require_numbers(found.probs)

    def scored(of: tuple[str, ...], at: int) -> Candidates:
        with progress("words") as told:
            return candidates(
                net, tokenizer, encoding, of, slot=at, exclude=exclude, exclude_at_start=at_start, progress=told
            )

    filling = None
    if strategy is not None:
        with progress("filling") as told:
            filling = fill_together(
                net, encoding, strategy, beams=beams, exclude=exclude, exclude_at_start=at_start, progress=told
            )
    answer = Answer(
        checkpoint=checkpoint,
        seen=seen,
        predictions=found,
        strategy=strategy,
        filling=filling,
        candidates=scored(listed, slot) if listed else None,
        targets=tuple(scored(targets, at) for at in range(len(slots(encoding)))) if targets else (),
    )
    _print(answer, as_json)


def _print(answer: Answer, as_json: bool) -> None:
    if as_json:
        print_json(answer.to_dict())
        return
    screen = console()
    for title, table in answer.tables():
        screen.print(Text(title, style="bold"))
        screen.print(table)


def _read(checkpoint: Checkpoint, text: str, mask: int, cut: bool, words: tuple[str, ...]) -> tuple[Window, int]:
    """What the model reads of the text, and which of the masked places in it is the one in question."""
    tokenizer = checkpoint.tokenizer
    whole = tokenizer.encode(text)
    if not whole.mask_positions and (meant := tokenizer.with_mask_token(text)) != text:
        raise TextError(f"Nothing is masked. Run again with: {meant}")
    place = require_slot(whole, mask)
    if not cut:
        try:
            require_fits(checkpoint.model, whole)
        except TextError as error:
            raise TextError(f"{error} Or have it read around a mask: --window.") from error
        return window(whole, len(whole)), mask
    longest = max((len(spelling(tokenizer, word)) for word in words), default=1)
    seen = window(whole, checkpoint.config.max_position_embeddings, at=place[0], room=max(longest - len(place), 0))
    return seen, seen.slot_at(place[0])


def _listed(words: str | None) -> tuple[str, ...]:
    """The candidates of an option: a list with commas, or a file with one a line."""
    if words is None:
        return ()
    parts = words.split(",")
    if words.startswith("@"):
        try:
            parts = Path(words[1:]).read_text(encoding="utf-8").split("\n")
        except OSError as error:
            raise TextError(f"{words[1:]} cannot be read ({error.strerror or error}).") from error
        except UnicodeDecodeError as error:
            raise TextError(f"{words[1:]} is no text in UTF-8: save it as such.") from error
    listed = tuple(dict.fromkeys(word for part in parts if (word := part.strip())))
    if not listed:
        raise TextError("--candidates holds no word.")
    return listed


__all__ = ["fill"]
