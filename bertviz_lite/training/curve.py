"""The loss of a run as it fell, read from its log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bertviz_lite.training.journal import read_log

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """Losses in nats of the selected tokens.

    Attributes:
        tokens, loss_nats: (N,) tokens read, and the mean training loss since the row before.
        held_out_tokens, held_out_nats: (M,) tokens read, and the mean over the sources of the held-out text.
    """

    tokens: Floats
    loss_nats: Floats
    held_out_tokens: Floats
    held_out_nats: Floats


def read_curve(folder: Path) -> Curve:
    """The curve of the run whose log lies in a folder; empty where there is none."""
    rows = read_log(folder)
    trained = [(row["tokens"], row["loss_nats"]) for row in rows if "loss_nats" in row]
    looked = [(row["tokens"], mean_nats(row["held_out"])) for row in rows if row.get("held_out")]
    columns = [np.array(pairs, np.float64).reshape(-1, 2).T for pairs in (trained, looked)]
    return Curve(*columns[0], *columns[1])


def mean_nats(held_out: Mapping[str, Mapping[str, float]]) -> float:
    """Mean loss over the sources of an evaluation, each counted alike."""
    return float(np.mean([source["loss_nats"] for source in held_out.values()]))


__all__ = ["Curve", "mean_nats", "read_curve"]
