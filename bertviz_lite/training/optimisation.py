"""One step of learning: masked loss at the selected positions, gradients added over batches and processes, AdamW."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch

from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.training.masking import MaskedBatch
from bertviz_lite.training.workers import Workers

_BETAS, _EPSILON = (0.9, 0.98), 1e-6


@dataclass(frozen=True)
class StepResult:
    """What a step saw.

    Attributes:
        loss_nats: mean over the selected tokens of all its batches, in all processes.
        gradient_norm: before clipping.
    """

    loss_nats: float
    gradient_norm: float

    @property
    def is_finite(self) -> bool:
        """Whether the numbers are numbers; if not, the step was not taken."""
        return abs(self.loss_nats) < torch.inf and self.gradient_norm < torch.inf


def adamw(model: BERTForMaskedLM, decay: float) -> torch.optim.AdamW:
    """AdamW that lets matrices decay, but not biases and norms."""
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=_BETAS, eps=_EPSILON, fused=True)


class Stepper:
    """Takes optimiser steps in one precision, alone or with other processes."""

    def __init__(
        self, model: BERTForMaskedLM, optimizer: torch.optim.AdamW, workers: Workers, *, precision: str, clip: float
    ) -> None:
        self.model, self.optimizer, self.workers = model, optimizer, workers
        self.precision, self._clip = precision, clip

    def step(self, batches: Sequence[MaskedBatch], lr: float) -> StepResult:
        """Learn from some batches at once; a loss or gradient that is not finite leaves the weights as they were."""
        self.model.train()
        loss = self._gradients(batches)
        parameters = list(self.model.parameters())
        norm = torch.nn.utils.clip_grad_norm_(parameters, self._clip).item()
        result = StepResult(loss, norm)
        if result.is_finite:
            for group in self.optimizer.param_groups:
                group["lr"] = lr
            self.optimizer.step()
        self.optimizer.zero_grad()
        return result

    def _gradients(self, batches: Sequence[MaskedBatch]) -> float:
        """Leave the gradient of the mean loss over all batches in the parameters, and return that loss."""
        n_selected = max(1, sum(len(batch.positions) for batch in batches))
        total = torch.zeros(1)
        for batch in batches:
            rows = self.workers.rows(len(batch.input_ids))
            inputs, labels, at = batch.input_ids[rows], batch.labels[rows], batch.kinds[rows].nonzero()
            if not len(at):
                continue
            with self._autocast():
                loss = self.model(inputs, labels=labels, positions=at).loss * (len(at) / n_selected)
            loss.backward()
            total += loss.detach()
        for parameter in self.model.parameters():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        self.workers.add([total, *(p.grad for p in self.model.parameters() if p.grad is not None)])
        return total.item()

    def _autocast(self) -> AbstractContextManager[object]:
        return torch.autocast("cpu", torch.bfloat16) if self.precision == "bfloat16" else nullcontext()

    def measure_precision(self, batch: MaskedBatch) -> dict[str, float]:
        """Seconds that forward and backward take in each precision; the weights stay as they are."""
        seconds = {}
        self.model.train()
        for self.precision in ("float32", "bfloat16"):
            self._gradients([batch])  # the first pass of a precision allocates and compiles
            start = time.perf_counter()
            self._gradients([batch])
            seconds[self.precision] = time.perf_counter() - start
            self.optimizer.zero_grad()
        return seconds


__all__ = ["StepResult", "Stepper", "adamw"]
