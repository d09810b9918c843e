"""A prepared run: steps until its budget is used, evaluates, keeps checkpoints and saves its state on the way.

Everything that a step depends on lies in the state, so an interrupted run and an uninterrupted one are the same run.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path

import torch

from bertviz_lite.checkpoints import write_folder
from bertviz_lite.errors import TrainingError
from bertviz_lite.training._files import replace_with, write_text
from bertviz_lite.training.evaluation import check_probes, choose_probes, evaluate, held_out_set, predict_probes
from bertviz_lite.training.examples import Masker, Numbered, draw_seed, read_examples
from bertviz_lite.training.journal import Journal
from bertviz_lite.training.masking import MaskingRule
from bertviz_lite.training.optimisation import Stepper, StepResult, adamw
from bertviz_lite.training.preparation import Prepared
from bertviz_lite.training.recipe import Recipe
from bertviz_lite.training.schedule import learning_rate
from bertviz_lite.training.state import STATE, Counters, load_state, save_state
from bertviz_lite.training.workers import Workers

RUN, CHECKPOINTS, RECIPE, WEIGHTS = "run", "checkpoints", "recipe.json", "model.safetensors"
_SMOOTHING = 0.95  # of the loss and the speed that are shown


class Run:
    """A prepared run: everything that its steps share."""

    def __init__(
        self,
        recipe: Recipe,
        out: Path,
        prepared: Prepared,
        journal: Journal,
        workers: Workers,
        asked_to_stop: Callable[[], bool],
    ) -> None:
        self.recipe, self.out, self.journal, self.workers = recipe, out, journal, workers
        self.model, self.tokenizer = prepared.model, prepared.tokenizer
        self._asked_to_stop = asked_to_stop
        self.optimizer = adamw(self.model, recipe.decay)
        self.masker = Masker(self.tokenizer, self.model.config, recipe.masking)
        self.probes = recipe.probes or choose_probes(prepared.store.held_out, self.tokenizer)
        check_probes(self.probes, self.tokenizer, self.model.config.max_position_embeddings)
        usual = Masker(self.tokenizer, self.model.config, MaskingRule())  # whatever the run's own rule: to compare
        self.held_out = held_out_set(prepared.store.held_out, usual, recipe.batches)
        self._resumed = (out / RUN / STATE).is_file()
        self.now = load_state(out / RUN, self.model, self.optimizer) if self._resumed else Counters()
        journal.rewind(self.now.step if self._resumed else -1)
        self._looked_at = -1
        journal.tell(uniform_nats=prepared.store.uniform_nats, unigram_nats=prepared.store.unigram_nats)
        examples = read_examples(
            prepared.store.train, self.masker, recipe.batches, recipe.seed, self.now.epoch, self.now.batch
        )
        self._next = next(examples)  # now: a text that is too short is told before anything is saved
        self.examples = chain([self._next], examples)
        self.stepper = Stepper(self.model, self.optimizer, workers, precision=recipe.precision, clip=recipe.clip)

    def go(self) -> None:
        """Train until the budget is used or somebody asks to stop."""
        if self.workers.agree([self.now.step])[0] != self.now.step:
            raise TrainingError(f"This process does not see the leading one's files: {self.out} must be one for all.")
        self._choose_precision()
        if not self._resumed:
            self._look()
            self._write_row(0.0, looked=True)
            self._keep_checkpoint()
            self._save_state()
        share = self.recipe.share(self.now.tokens, self.now.seconds)
        begun = {"step": self.now.step, "tokens": self.now.tokens, "seconds": self.now.seconds, "share": share}
        self.journal.tell(now=True, phase="training", message="", **begun)
        began, before = time.monotonic(), self.now.seconds
        saved = began
        while True:
            seconds, stop = self.workers.agree((before + time.monotonic() - began, float(self._must_stop())))
            self.now.seconds = seconds
            if stop or self.recipe.share(self.now.tokens, seconds) >= 1:
                break
            self._step()
            if time.monotonic() - saved >= 60 * self.recipe.save_minutes:
                self._save_state()
                saved = time.monotonic()
        self._end(stopped=bool(stop))

    def _must_stop(self) -> bool:
        return self._asked_to_stop() or self.journal.asked_to_stop()

    def _step(self) -> None:
        """One step, and what is due after it."""
        now, recipe = self.now, self.recipe
        turn = recipe.turn(now.tokens, now.seconds)
        lr = learning_rate(
            recipe.share(now.tokens, now.seconds), peak=recipe.peak_lr, schedule=recipe.schedule, warmup=recipe.warmup
        )
        start = time.monotonic()
        torch.manual_seed(draw_seed(recipe.seed, now.step, self.workers.rank))  # of dropout
        batches = [next(self.examples) for _ in range(recipe.accumulate)]
        result = self.stepper.step([batch.examples for batch in batches], lr)
        if not result.is_finite:
            raise TrainingError(
                f"The loss or its gradient was no finite number at step {now.step + 1}, with learning rate {lr:.2g}. "
                f"The last good state, in {self.out / RUN}, is kept; start again with a lower learning rate."
            )
        self._count(batches, result)
        seconds = now.seconds + time.monotonic() - start
        self._tell(batches, result, lr, seconds)
        if due := recipe.turn(now.tokens, seconds) > turn:
            self._look()
        if due or now.step % recipe.log_steps == 0:
            self._write_row(lr, looked=due)
        if now.step in recipe.checkpoint_steps:
            self._keep_checkpoint()

    def _count(self, batches: list[Numbered], result: StepResult) -> None:
        now, last = self.now, batches[-1]
        now.step += 1
        now.tokens += sum(batch.n_tokens for batch in batches)
        now.epoch, now.batch = last.epoch, last.index + 1
        now.losses_nats = (*now.losses_nats, result.loss_nats)

    def _tell(self, batches: list[Numbered], result: StepResult, lr: float, seconds: float) -> None:
        told, now, recipe = self.journal.progress, self.now, self.recipe
        speed = sum(batch.n_tokens for batch in batches) / max(seconds - now.seconds, 1e-9)
        speed = _smooth(told.tokens_per_second, speed)
        left = (recipe.tokens - now.tokens) / speed if recipe.tokens else 60 * (recipe.minutes or 0) - seconds
        self.journal.tell(
            step=now.step,
            tokens=now.tokens,
            seconds=seconds,
            seconds_left=max(0.0, left),
            share=recipe.share(now.tokens, seconds),
            lr=lr,
            loss_nats=_smooth(told.loss_nats, result.loss_nats),
            tokens_per_second=speed,
            example=self.masker.shown(batches[-1].examples),
        )

    def _look(self) -> None:
        """Evaluate, in the leading process alone: the others wait at their next step."""
        self._looked_at = self.now.step
        if self.workers.leads:
            held_out = evaluate(self.model, self.held_out)
            probes = predict_probes(self.model, self.tokenizer, self.probes)
            self.journal.tell(now=True, held_out=held_out, probes=probes)

    def _write_row(self, lr: float, *, looked: bool) -> None:
        now = self.now
        row = {"step": now.step, "tokens": now.tokens, "minutes": round(now.seconds / 60, 4), "lr": lr}
        if now.losses_nats:
            row["loss_nats"] = sum(now.losses_nats) / len(now.losses_nats)
        now.losses_nats = ()
        seen = {"held_out": self.journal.progress.held_out, "probes": self.journal.progress.probes} if looked else {}
        self.journal.row(**row, **seen)

    def _keep_checkpoint(self) -> None:
        if self.workers.leads and self.now.step in self.recipe.checkpoint_steps:
            folder = self.out / CHECKPOINTS / f"step-{self.now.step:06d}"
            replace_with(folder, self._write_folder)

    def _write_folder(self, folder: Path) -> None:
        model = copy.deepcopy(self.model).half() if self.recipe.half else self.model
        write_folder(model, self.tokenizer, folder)

    def _save_state(self) -> None:
        if self.workers.leads:
            save_state(self.out / RUN, self.model, self.optimizer, self.now)

    def _choose_precision(self) -> None:
        """Where the recipe leaves it open, the quicker of two on this machine; kept in the recipe of the run."""
        if self.recipe.precision != "auto":
            return
        self.journal.tell(now=True, message="Measuring which precision is quicker.")
        seconds = self.stepper.measure_precision(self._next.examples)
        quicker = self.workers.agree([float(seconds["bfloat16"] < seconds["float32"])])[0]
        self.stepper.precision = "bfloat16" if quicker else "float32"
        self.recipe = replace(self.recipe, precision=self.stepper.precision)
        if self.workers.leads:
            write_text(self.out / RUN / RECIPE, self.recipe.to_json())
        measured = ", ".join(f"{name} {taken:.2f} s" for name, taken in seconds.items())
        self.journal.row(step=self.now.step, note=f"A batch takes {measured}: training in {self.stepper.precision}.")

    def _end(self, *, stopped: bool) -> None:
        self._save_state()
        self.journal.tell(seconds=self.now.seconds)
        if stopped:
            self.journal.tell(now=True, phase="stopped", message="Stopped with its state saved.")
            return
        if self._looked_at != self.now.step:
            self._look()
            self._write_row(0.0, looked=True)
        if self.workers.leads:
            self._write_model()
        self.journal.tell(now=True, phase="done", message="", share=1.0, seconds_left=0.0)

    def _write_model(self) -> None:
        """The trained model into DIR, its weights last; a run killed in between ends again when it is resumed."""
        whole = self.out / RUN / "final"
        replace_with(whole, self._write_folder)
        for file in sorted(whole.iterdir(), key=lambda f: f.name == WEIGHTS):
            file.replace(self.out / file.name)
        whole.rmdir()
        (self.out / RUN / STATE).unlink()


def _smooth(old: float | None, new: float) -> float:
    return new if old is None else _SMOOTHING * old + (1 - _SMOOTHING) * new


__all__ = ["CHECKPOINTS", "RECIPE", "RUN", "WEIGHTS", "Run"]
