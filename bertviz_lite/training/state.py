"""The state from which a run resumes: weights, AdamW's moments and counters, in one file that is replaced whole.

The file is safetensors, so that reading a state runs no code.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from bertviz_lite.errors import TrainingError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.training._files import replace_with

STATE = "state.safetensors"
_MOMENTS = ("exp_avg", "exp_avg_sq")


@dataclass
class Counters:
    """How far a run has come.

    Attributes:
        step: optimiser steps done.
        tokens: tokens read, padding not counted.
        seconds: of training, over all its sittings.
        epoch, batch: the batch that is next.
        losses_nats: of the steps since the last row of the log.
    """

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    epoch: int = 0
    batch: int = 0
    losses_nats: tuple[float, ...] = ()


def save_state(folder: Path, model: BERTForMaskedLM, optimizer: torch.optim.AdamW, counters: Counters) -> None:
    """Put everything that a resumed run needs in the place of the last state.

    Raises:
        TrainingError: it cannot be written; the last state is still there.
    """
    tensors = {}
    for name, parameter in model.named_parameters():
        tensors[name] = parameter.detach()
        for moment in _MOMENTS:
            if moment in optimizer.state[parameter]:
                tensors[f"{moment}/{name}"] = optimizer.state[parameter][moment]
    about = {"counters": json.dumps(asdict(counters)), "format": "pt"}
    replace_with(folder / STATE, lambda fresh: save_file(tensors, fresh, about))


def saved_steps(folder: Path) -> int:
    """Steps of the state that lies in a folder; 0 where none does."""
    try:
        with safe_open(folder / STATE, "pt") as file:
            return _counters(file).step
    except (OSError, SafetensorError, ValueError, KeyError, TypeError):
        return 0


def load_state(folder: Path, model: BERTForMaskedLM, optimizer: torch.optim.AdamW) -> Counters:
    """Put a saved state into model and optimiser.

    Raises:
        TrainingError: there is no readable state.
    """
    try:
        with safe_open(folder / STATE, "pt") as file:
            counters = _counters(file)
            held = set(file.keys())
            for name, parameter in model.named_parameters():
                with torch.no_grad():
                    parameter.copy_(file.get_tensor(name))
                if f"{_MOMENTS[0]}/{name}" in held:
                    moments = {moment: file.get_tensor(f"{moment}/{name}") for moment in _MOMENTS}
                    optimizer.state[parameter] = {"step": torch.tensor(float(counters.step)), **moments}
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise TrainingError(f"The state of this run in {folder} cannot be read ({error}).") from error
    return counters


def _counters(file: Any) -> Counters:  # noqa: ANN401 - safetensors does not type what it opens
    counters = Counters(**json.loads(file.metadata()["counters"]))
    counters.losses_nats = tuple(counters.losses_nats)
    return counters


__all__ = ["STATE", "Counters", "load_state", "save_state", "saved_steps"]
