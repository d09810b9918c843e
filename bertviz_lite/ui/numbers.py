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


__all__ = ["NATS_PER_BIT", "probability", "short"]
