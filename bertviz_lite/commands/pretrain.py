"""`pretrain CORPUS… --out DIR`: trains a model on text, from scratch or from a checkpoint."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from bertviz_lite.commands._output import console
from bertviz_lite.errors import ConfigError
from bertviz_lite.training import Hooks, MaskingRule, Progress, Recipe, mean_nats, read_network
from bertviz_lite.training import pretrain as train
from bertviz_lite.training import resume as train_on

_MOST_THREADS = 1024


def _option(group: str, told: str, *names: str) -> Any:  # noqa: ANN401 - typer's own type is private
    return typer.Option(*names, help=told, rich_help_panel=group)


def pretrain(  # noqa: PLR0913, PLR0917 - one parameter an option
    out: Annotated[Path, typer.Option(help="Folder of the run; at the end the trained model lies there.")],
    corpus: Annotated[list[str] | None, typer.Argument(help="Text files or folders: .txt, .txt.gz, .txt.xz.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --out, as it was begun, or with another budget.")
    ] = False,
    minutes: Annotated[float | None, _option("Budget", "How long to train, sittings added up.")] = None,
    tokens: Annotated[int | None, _option("Budget", "Or how much to read.")] = None,
    init: Annotated[str | None, _option("Model", "Checkpoint to continue from; from scratch if left out.")] = None,
    config: Annotated[Path | None, _option("Model", "A config.json instead of the four sizes.")] = None,
    layers: Annotated[int, _option("Model", "Layers.")] = 4,
    hidden: Annotated[int, _option("Model", "Width.")] = 256,
    heads: Annotated[int, _option("Model", "Heads of a layer.")] = 4,
    vocab_size: Annotated[int, _option("Model", "The most pieces to learn from the text.")] = 8000,
    cased: Annotated[bool, _option("Model", "Tell capitals from small letters.", "--cased")] = False,
    flat_start: Annotated[bool, _option("Model", "Learn word frequencies too, to watch it.", "--flat-start")] = False,
    weight: Annotated[list[str] | None, _option("Text", "SOURCE=2 reads that file twice as often.")] = None,
    max_length: Annotated[int, _option("Text", "Tokens of the longest sequence.")] = 128,
    sentence_share: Annotated[float, _option("Text", "Share of the tokens read as single sentences.")] = 0.4,
    mask_rate: Annotated[float, _option("Text", "Share of the tokens to predict.")] = 0.15,
    whole_words: Annotated[bool, _option("Text", "Mask words, not pieces.", "--whole-words")] = False,
    batch_tokens: Annotated[int, _option("Learning", "Tokens of a batch, padding included.")] = 6144,
    accumulate: Annotated[int, _option("Learning", "Batches of a step.")] = 1,
    lr: Annotated[float | None, _option("Learning", "Peak rate; 1e-3 from scratch, 3e-4 continued.")] = None,
    schedule: Annotated[str, _option("Learning", "linear, cosine or wsd.")] = "linear",
    warmup: Annotated[float, _option("Learning", "Share of the budget until the peak.")] = 0.03,
    dropout: Annotated[float, _option("Learning", "Of hidden states and attention.")] = 0.0,
    seed: Annotated[int, _option("Learning", "Decides weights, order and masks.")] = 0,
    precision: Annotated[str, _option("Learning", "float32, bfloat16 or auto, which measures.")] = "auto",
    threads: Annotated[int | None, _option("While it runs", "Processor threads.")] = None,
    probe: Annotated[list[str] | None, _option("While it runs", "A sentence with [MASK] to follow.")] = None,
    evaluate_every: Annotated[int | None, _option("While it runs", "Tokens; by default 20 times in all.")] = None,
    checkpoint_at: Annotated[str, _option("While it runs", "Steps to keep a checkpoint of: 0,100,1000.")] = "",
    half: Annotated[bool, _option("While it runs", "Write checkpoints and the model in float16.", "--half")] = False,
    save_minutes: Annotated[float, _option("While it runs", "Between two saved states.")] = 5.0,
    store: Annotated[Path | None, _option("While it runs", "Where tokenised text is kept, to share it.")] = None,
) -> None:
    """Train a masked language model on text; Ctrl-C, SIGTERM or a file DIR/run/stop end it with its state saved."""
    if threads is not None:
        if not 1 <= threads <= _MOST_THREADS:
            raise ConfigError(f"--threads {threads}: choose from 1 to {_MOST_THREADS}.")
        torch.set_num_threads(threads)
    with _stop_signals() as asked, _Screen() as screen:
        hooks = Hooks(listen=screen.show, stop=asked.is_set)
        if resume:
            train_on(out, minutes=minutes, tokens=tokens, store=store, hooks=hooks)
        else:
            sizes = {"num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads}
            recipe = Recipe(
                corpus=tuple(corpus or ()),
                init=init,
                network=read_network(config) if config else sizes | {"vocab_size": vocab_size},
                lower_case=not cased,
                flat_start=flat_start,
                minutes=minutes,
                tokens=tokens,
                batch_tokens=batch_tokens,
                accumulate=accumulate,
                max_length=max_length,
                sentence_share=sentence_share,
                weights=dict(_weight(text) for text in weight or ()),
                masking=MaskingRule(mask_rate, whole_words=whole_words),
                lr=lr,
                schedule=schedule,
                warmup=warmup,
                dropout=dropout,
                seed=seed,
                precision=precision,
                evaluate_tokens=evaluate_every,
                save_minutes=save_minutes,
                checkpoint_steps=_steps(checkpoint_at),
                half=half,
                probes=tuple(probe or ()),
            )
            train(recipe, out, store=store, hooks=hooks)


def _weight(text: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    try:
        return name, float(number)
    except ValueError:
        raise ConfigError(f"--weight {text}: write a source and a number, as in stories=2.") from None


def _steps(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(step) for step in text.split(",") if step.strip())
    except ValueError:
        raise ConfigError(f"--checkpoint-at {text}: write steps with commas, as in 0,100,1000.") from None


@contextmanager
def _stop_signals() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C or SIGTERM sets; the second ends the process as ever."""
    asked = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, _: object) -> None:
        asked.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, ask)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Screen:
    """A bar on a terminal; a line for every evaluation elsewhere."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f} %"))
        screen = console()
        self._leads = os.environ.get("RANK", "0") == "0"  # of several processes one draws
        self._bar = Bar(*columns, console=screen, disable=not (screen.is_terminal and self._leads))
        self._task = self._bar.add_task("preparing", total=1.0)
        self._lines = not screen.is_terminal
        self._told: object = None

    def __enter__(self) -> _Screen:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, progress: Progress) -> None:
        """Draw what has changed."""
        told = _sentence(progress)
        self._bar.update(self._task, completed=progress.share, description=told)
        mark = (progress.phase, progress.message, id(progress.held_out))
        if self._lines and mark != self._told and progress.phase != "failed":
            self._told = mark
            with suppress(BrokenPipeError):  # nobody reads on, as after `| head`: training does
                typer.echo(told)


def _sentence(progress: Progress) -> str:
    parts = [progress.message or progress.phase]
    if progress.phase == "stopped":
        parts[0] += " Go on with --resume."
    if progress.loss_nats is not None:
        parts.append(
            f"step {progress.step:,}, {progress.tokens / 1e6:.2f} M tokens, loss {progress.loss_nats:.3f} nats"
        )
    if progress.held_out:
        parts.append(f"held out {mean_nats(progress.held_out):.3f}")
    if progress.tokens_per_second:
        parts.append(f"{progress.tokens_per_second:,.0f} tokens/s, {(progress.seconds_left or 0) / 60:.0f} min left")
    return " · ".join(parts)


__all__ = ["pretrain"]
