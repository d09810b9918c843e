"""The training run: prepares, steps, evaluates, saves, and goes on where it was interrupted.

A run lives in one folder: DIR/run holds its recipe, state, log and status, DIR/checkpoints the moments that were kept,
and DIR itself, at the end, the trained model in the Hugging Face layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock, Timeout

from bertviz_lite.errors import BertvizError, TrainingError
from bertviz_lite.training._files import remove, write_text
from bertviz_lite.training.journal import Journal, Progress
from bertviz_lite.training.preparation import START, Prepared, prepare
from bertviz_lite.training.recipe import Recipe
from bertviz_lite.training.run import CHECKPOINTS, RECIPE, RUN, WEIGHTS, Run
from bertviz_lite.training.state import STATE
from bertviz_lite.training.workers import Workers


@dataclass(frozen=True)
class Hooks:
    """How the caller of a run hears of it and ends it.

    Attributes:
        listen: called with every change of the progress, in the leading process.
        stop: asked before every step; True ends the run with its state saved.
    """

    listen: Callable[[Progress], None] = lambda _: None
    stop: Callable[[], bool] = lambda: False


def pretrain(recipe: Recipe, out: Path, *, store: Path | None = None, hooks: Hooks | None = None) -> Progress:
    """Train a model by a recipe into a folder that is new or empty.

    Args:
        store: where tokenised corpora are kept, to be shared between runs; by default in the run's folder.

    Raises:
        TrainingError: the folder is in use, the text cannot be used, or the run had to stop; says what is kept.
        BertvizError: the recipe or the checkpoint to start from cannot be used.
    """
    workers = Workers()
    if workers.leads:
        if (out / RUN / STATE).is_file() or ((out / RUN / RECIPE).is_file() and (out / WEIGHTS).is_file()):
            raise TrainingError(f"{out} holds a run already: go on with it by --resume, or choose another folder.")
        # A run that failed before its first state leaves nothing worth keeping.
        if out.exists() and (not out.is_dir() or any(p.name not in (RUN, CHECKPOINTS) for p in out.iterdir())):
            raise TrainingError(f"{out} is there already and not an empty folder; choose another.")
    return _run(recipe, out, store, hooks or Hooks(), workers, fresh=True)


def resume(
    out: Path,
    *,
    minutes: float | None = None,
    tokens: int | None = None,
    store: Path | None = None,
    hooks: Hooks | None = None,
) -> Progress:
    """Go on with an interrupted run, with the batch that was next when its state was last saved.

    Args:
        minutes, tokens: another budget, what is used already included; the learning rate then follows that.

    Raises:
        TrainingError: there is no run in the folder, or as in `pretrain`.
        ConfigError: the budget is no budget.
    """
    recipe = read_recipe(out)
    if (out / WEIGHTS).is_file():
        raise TrainingError(f"The run in {out} has ended: the trained model lies there.")
    if minutes is not None or tokens is not None:
        recipe = replace(recipe, minutes=minutes, tokens=tokens)
    return _run(recipe, out, store, hooks or Hooks(), Workers(), fresh=False)


def read_recipe(out: Path) -> Recipe:
    """The recipe of the run in a folder.

    Raises:
        TrainingError: there is no run.
        ConfigError: its recipe is damaged.
    """
    try:
        return Recipe.from_json((out / RUN / RECIPE).read_text(encoding="utf-8"))
    except OSError as error:
        raise TrainingError(f"{out} holds no run that could be resumed.") from error


def _run(recipe: Recipe, out: Path, store: Path | None, hooks: Hooks, workers: Workers, *, fresh: bool) -> Progress:
    journal = Journal(out / RUN, hooks.listen, writes=workers.leads)

    def tell(message: str) -> None:
        journal.tell(message=message)
        if hooks.stop() or journal.asked_to_stop():
            raise _StopAskedError

    def made() -> Prepared:
        return prepare(recipe, out / RUN, store or out / RUN / "store", tell)

    try:
        with _alone_in(out / RUN, workers):
            if workers.leads:
                if fresh:
                    remove(out / RUN / START)
                write_text(out / RUN / RECIPE, recipe.to_json())
            try:
                journal.forget_stop()
                journal.tell(now=True, phase="preparing", message="Reading the text.")
                prepared = made() if workers.leads else None
                workers.agree([0.0])  # the others wait until the leader has made everything
                Run(recipe, out, prepared or made(), journal, workers, hooks.stop).go()
                workers.meet()
            except _StopAskedError:
                journal.tell(now=True, phase="stopped", message="Stopped before its first step.")
            except (BertvizError, OSError, MemoryError, RuntimeError) as error:
                failed = _as_ours(error, out)
                _tell_failure(journal, str(failed))
                raise failed from error
    finally:
        workers.leave()
    return journal.progress


@contextmanager
def _alone_in(folder: Path, workers: Workers) -> Iterator[None]:
    """Hold the folder's lock, which the system gives back even after a kill: two processes would undo each other."""
    if not workers.leads:
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "lock", timeout=0):
            yield
    except Timeout:
        raise TrainingError(f"Another process is training in {folder.parent}; wait for it, or stop it first.") from None
    except OSError as error:
        raise TrainingError(f"{folder} cannot be written ({error.strerror or error}).") from error


def _as_ours(error: Exception, out: Path) -> BertvizError:
    if isinstance(error, BertvizError):
        return error
    if isinstance(error, OSError):
        return TrainingError(f"{out} cannot be written ({error.strerror or error}).")
    if isinstance(error, MemoryError) or "allocate memory" in str(error):  # torch raises RuntimeError for that
        return TrainingError("There is not enough memory; fewer batch_tokens, or a smaller model, need less.")
    raise error


class _StopAskedError(Exception):
    """Somebody has asked to stop while the run was being prepared."""


def _tell_failure(journal: Journal, message: str) -> None:
    try:
        journal.tell(now=True, phase="failed", message=message)
    except BertvizError:
        return  # the disk is full: the caller is told all the same


__all__ = ["Hooks", "pretrain", "read_recipe", "resume"]
