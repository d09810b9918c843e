"""The learning rate at shares of the budget, worked out by hand."""

from __future__ import annotations

import math

import pytest

from bertviz_lite.errors import ConfigError
from bertviz_lite.training import SCHEDULES, learning_rate


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_warms_up_peaks_and_ends_at_zero(schedule: str) -> None:
    rates = [learning_rate(share, peak=4.0, schedule=schedule, warmup=0.2) for share in (0, 0.05, 0.1, 0.2, 1, 1.5)]
    assert rates == pytest.approx([0, 1, 2, 4, 0, 0])


@pytest.mark.parametrize(
    ("schedule", "half_way", "late"),
    [("linear", 0.5, 0.1), ("cosine", 0.5, (1 - math.cos(math.pi * 0.1)) / 2), ("wsd", 1.0, 0.5)],
)
def test_decays(schedule: str, half_way: float, late: float) -> None:
    assert learning_rate(0.5, peak=1, schedule=schedule, warmup=0) == pytest.approx(half_way)
    assert learning_rate(0.9, peak=1, schedule=schedule, warmup=0) == pytest.approx(late)


def test_unknown_schedule() -> None:
    with pytest.raises(ConfigError, match="linear, cosine, wsd"):
        learning_rate(0.5, peak=1, schedule="square", warmup=0)
