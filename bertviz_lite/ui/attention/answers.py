"""What the Attention page asks of a model, through the gate; no more than one layer's maps are kept at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from bertviz_lite.analysis import (
    LayerAttention,
    MapChange,
    Survey,
    each_layer,
    layer_attention,
    map_change,
    mean_map,
)
from bertviz_lite.analysis import attention_flow as follow_flow
from bertviz_lite.analysis import rollout as roll_out
from bertviz_lite.analysis import survey as look_over
from bertviz_lite.analysis.units import Floats
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui.answers import kept, progress

Head = tuple[int, int]


@dataclass(frozen=True)
class Side:
    """One of two that are compared: a model and the text that it reads."""

    checkpoint: Checkpoint
    encoding: Encoding

    @property
    def key(self) -> tuple[str, Encoding]:
        """What tells it from others."""
        return self.checkpoint.report.digest, self.encoding


def survey(checkpoint: Checkpoint, encoding: Encoding) -> Survey:
    """All heads small, and their numbers."""

    def ask() -> Survey:
        with progress("Looking over all heads, layer by layer") as told:
            return look_over(checkpoint.model, encoding, progress=told)

    return kept(("survey", checkpoint.report.digest, encoding), ask)


def layer(checkpoint: Checkpoint, encoding: Encoding, number: int) -> LayerAttention:
    """One layer's maps with their queries and keys: any of its heads opens without asking again."""
    return kept(
        ("layer", checkpoint.report.digest, encoding, number),
        partial(layer_attention, checkpoint.model, encoding, number),
    )


def mean(checkpoint: Checkpoint, encoding: Encoding, heads: Sequence[Head]) -> Floats:
    """(T, T) the mean map of some heads."""
    return kept(
        ("mean", checkpoint.report.digest, encoding, tuple(heads)),
        lambda: mean_map(each_layer(checkpoint.model, encoding), heads),
    )


def rollout(checkpoint: Checkpoint, encoding: Encoding) -> Floats:
    """(L, T, T) attention followed down to the embeddings."""
    return kept(
        ("rollout", checkpoint.report.digest, encoding), lambda: roll_out(each_layer(checkpoint.model, encoding))
    )


def flow(checkpoint: Checkpoint, encoding: Encoding, position: int) -> Floats:
    """(T,) what could pass from each token to one."""

    def ask() -> Floats:
        with progress("Asking how much could flow, token by token") as told:
            return follow_flow(each_layer(checkpoint.model, encoding), position, progress=told)

    return kept(("flow", checkpoint.report.digest, encoding, position), ask)


def change(first: Side, second: Side, head_first: Head, head_second: Head) -> MapChange:
    """One head's map less another's."""
    maps = [
        layer(side.checkpoint, side.encoding, at).weights[head]
        for side, (at, head) in ((first, head_first), (second, head_second))
    ]
    return map_change(maps[0], maps[1], first.encoding.pieces, second.encoding.pieces)


def moved(first: Side, second: Side) -> Floats:
    """(L, H) share of each head's attention that goes elsewhere in the second, mean over the tokens.

    Raises:
        InputError: the two differ in tokens, in layers or in heads.
    """

    def ask() -> Floats:
        walks = [each_layer(side.checkpoint.model, side.encoding) for side in (first, second)]
        names = first.encoding.pieces, second.encoding.pieces
        return np.stack([map_change(a, b, *names).moved_prob.mean(-1) for a, b in zip(*walks, strict=False)])

    return kept(("moved", first.key, second.key), ask)


__all__ = ["Head", "Side", "change", "flow", "layer", "mean", "moved", "rollout", "survey"]
