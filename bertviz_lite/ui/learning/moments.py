"""The moments of a training that a page can show: the bundled ones, opened once for the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from bertviz_lite.bundled.learning import MOMENTS, counted_nats
from bertviz_lite.bundled.learning import moments as saved_moments
from bertviz_lite.checkpoints import Checkpoint, load
from bertviz_lite.training import Curve, read_curve
from bertviz_lite.ui import numbers


@dataclass(frozen=True)
class Moment:
    """A model after some training.

    Attributes:
        tokens: that it had read.
        held_out_nats: its loss on held-out text.
    """

    tokens: int
    held_out_nats: float
    checkpoint: Checkpoint

    @property
    def name(self) -> str:
        """The tokens read, in two digits: 0, 30 k, 45 M."""
        return numbers.short(int(float(f"{self.tokens:.2g}")))


@dataclass(frozen=True)
class Training:
    """What can be watched of a training.

    Attributes:
        moments: from the first to the last; one vocabulary.
        levels: held-out losses that counting reaches, in nats, by name, from the worst on.
        right_share, class_nats: measures of each moment, by kind of probe and by class of token; may be empty.
    """

    moments: Sequence[Moment]
    curve: Curve
    levels: Mapping[str, float]
    right_share: Mapping[str, Sequence[float]]
    class_nats: Mapping[str, Sequence[float]]


_LEVELS = {
    "even_nats": "blind guess",
    "frequency_nats": "frequency",
    "left_nats": "left neighbour",
    "both_nats": "both neighbours",
}


@st.cache_resource(show_spinner="Opening the moments …")
def bundled_training() -> Training:
    """The training that ships."""
    saved = saved_moments()
    moments = [Moment(m.tokens, m.held_out_nats, load(m.weights, name=f"after {m.tokens:,} tokens")) for m in saved]
    counted = counted_nats()
    return Training(
        moments=tuple(moments),
        curve=read_curve(MOMENTS),
        levels={name: counted[key] for key, name in _LEVELS.items()},
        right_share={kind: [m.right_share[kind] for m in saved] for kind in saved[0].right_share},
        class_nats={name: [m.class_nats[name] for m in saved] for name in saved[0].class_nats},
    )


__all__ = ["Moment", "Training", "bundled_training"]
