"""The learning rate from the share of the budget that is used: up from zero, then down to zero at the end.

The share may be of tokens or of minutes, so one rule serves runs that are measured in either.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from bertviz_lite.errors import ConfigError

_STABLE_UNTIL = 0.8


def _stable_then_linear(share: float) -> float:
    return min(1.0, (1 - share) / (1 - _STABLE_UNTIL))


# What is left of the peak rate at a share of the time after the warm-up.
_DECAYS: dict[str, Callable[[float], float]] = {
    "linear": lambda share: 1 - share,
    "cosine": lambda share: (1 + math.cos(math.pi * share)) / 2,
    "wsd": _stable_then_linear,  # warm-up, stable, decay (Hu et al. 2024, MiniCPM)
}
SCHEDULES = tuple(_DECAYS)


def learning_rate(share: float, *, peak: float, schedule: str, warmup: float) -> float:
    """The rate at a share of the budget, 0 to 1: linear from 0 to `peak` in the first `warmup`, then decaying to 0.

    Raises:
        ConfigError: there is no such schedule.
    """
    if schedule not in _DECAYS:
        raise ConfigError(f"There is no schedule {schedule!r}; choose from {', '.join(SCHEDULES)}.")
    share = min(max(share, 0.0), 1.0)
    if share < warmup:
        return peak * share / warmup
    return peak * _DECAYS[schedule]((share - warmup) / (1 - warmup) if warmup < 1 else 1.0)


__all__ = ["SCHEDULES", "learning_rate"]
