"""A small model as it was at ten moments of its training (moments/), and what was measured of it at each.

The folder also holds the run's log, and the probes and sentences that the measures were taken on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOMENTS = Path(__file__).parent / "moments"


@dataclass(frozen=True)
class Probe:
    """Two words, and the gaps that they belong in.

    Attributes:
        text: a sentence with one [MASK].
        right, wrong: the words; `right` fits better there.
        twin: a second sentence with one [MASK], where `wrong` fits better; without one, the text alone decides.
    """

    text: str
    right: str
    wrong: str
    twin: str = ""


@dataclass(frozen=True)
class Moment:
    """The model after some training.

    Attributes:
        step, tokens: how far it was; tokens read, padding not counted.
        weights: its file, which `bertviz_lite.load` opens.
        held_out_nats: mean loss of the selected tokens of held-out text, its sources alike.
        right_share: share of the probes it gets right, by kind; a blind guess has 0.5.
        class_nats: mean loss by class of token, each masked in turn, over sentences of our own.
    """

    step: int
    tokens: int
    weights: Path
    held_out_nats: float
    right_share: Mapping[str, float]
    class_nats: Mapping[str, float]


def moments() -> tuple[Moment, ...]:
    """The moments that ship, the untrained model first."""
    return tuple(Moment(weights=weights_file(entry["step"]), **entry) for entry in _read("measured.json")["moments"])


def weights_file(step: int) -> Path:
    """Where the weights after a step lie."""
    return MOMENTS / f"step-{step:06d}.safetensors"


def counted_nats() -> dict[str, float]:
    """Held-out losses that counting alone would reach, by the names of `training.baselines.Baselines`."""
    found: dict[str, float] = _read("measured.json")["baselines"]
    return found


def probes() -> dict[str, tuple[Probe, ...]]:
    """What a model can have learnt, by kind, from the simplest on."""
    return {kind: tuple(Probe(*entry) for entry in entries) for kind, entries in _read("probes.json").items()}


def learning_sentences() -> tuple[str, ...]:
    """Sentences of our own, none of which the model was trained on."""
    return tuple((MOMENTS / "sentences.txt").read_text(encoding="utf-8").splitlines())


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((MOMENTS / name).read_text(encoding="utf-8"))
    return content


__all__ = ["MOMENTS", "Moment", "Probe", "counted_nats", "learning_sentences", "moments", "probes", "weights_file"]
