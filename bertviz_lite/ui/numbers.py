"""Numbers as people read them: 22.7 M, 0.87, 3.2 nats."""

from __future__ import annotations

import math

NATS_PER_BIT = math.log(2)


def short(n: int) -> str:
    """A count with three digits and a unit: 950, 30.5 k, 22.7 M, 1.34 G."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if n >= 0.9995 * size:
            return f"{n / size:.3g} {unit}"
    return str(n)


def probability(p: float) -> str:
    """0.873, 0.0042, 3e-07."""
    return f"{p:.3f}" if p >= 0.01 else f"{p:.2g}"


def times(ratio: float) -> str:
    """How many times as likely: 1.3, 41, 12,000, 3e+07."""
    if ratio >= 1e6:
        return f"{ratio:.0e}"
    return f"{ratio:.1f}" if ratio < 9.95 else f"{float(f'{ratio:.2g}'):,.0f}"


def nats(value: float) -> str:
    """A log-probability with a true minus: −5.83."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


__all__ = ["NATS_PER_BIT", "nats", "probability", "short", "times"]
