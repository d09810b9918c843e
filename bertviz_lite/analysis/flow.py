"""How much could pass from each token's start to one token, if attention were pipes: attention flow.

Abnar & Zuidema 2020, "Quantifying Attention Flow in Transformers", arXiv 2005.00928, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from bertviz_lite.analysis._rows import Progress
from bertviz_lite.analysis.rollout import Doubles, with_residual
from bertviz_lite.analysis.units import Floats
from bertviz_lite.errors import InputError

LONGEST_FLOW = 64  # tokens: a row of twelve layers then takes some seconds, and twice the tokens ten times as long

_DRY = 1e-6  # a pipe with less room is full: float32 knows a weight no better


def attention_flow(layers: Iterable[Floats], position: int, *, progress: Progress | None = None) -> Floats:
    """The largest flow from the start of every token to one token after the last layer. Tokens are the joints of a
    network whose pipes lead from layer to layer, as wide as A' of `rollout`: half the mean attention, half residual.

    Args:
        layers: (L, H, T, T), or (H, T, T) a layer at a time, as from `each_layer`.
        position: the token after the last layer.
        progress: `progress(done, all)` is called after each token.

    Returns:
        (T,) from 0 to 1, each token asked by itself: no distribution, and often much alike.

    Raises:
        InputError: there is no layer or no such token, or there are more than `LONGEST_FLOW` tokens.
    """
    mixed = [with_residual(maps) for maps in layers]  # L x (T, T)
    if not mixed:
        raise InputError("There is no layer to follow attention through.")
    n_tokens = len(mixed[0])
    if n_tokens > LONGEST_FLOW:
        raise InputError(
            f"Attention flow takes too long for {n_tokens} tokens: give a text of at most {LONGEST_FLOW}, or take the "
            "rollout, which has no limit."
        )
    if not 0 <= position < n_tokens:
        raise InputError(f"There is no token {position}: the text's go from 0 to {n_tokens - 1}.")
    flow = np.empty(n_tokens, np.float32)
    for start in range(n_tokens):
        flow[start] = _Pipes(mixed).largest_flow(len(mixed) * n_tokens + position, start)
        if progress is not None:
            progress(start + 1, n_tokens)
    return flow


class _Pipes:
    """Joint `layer * T + token` for the tokens after each layer, the start being layer 0; pipe e ^ 1 is e reversed.

    Dinic's method: the shortest ways are filled until none is left, then the next longer ones.
    """

    def __init__(self, mixed: list[Doubles]) -> None:
        n_tokens = len(mixed[0])
        self.leaving: list[list[int]] = [[] for _ in range((len(mixed) + 1) * n_tokens)]
        self.to: list[int] = []
        self.room: list[float] = []
        for layer, widths in enumerate(mixed, start=1):
            for (query, key), width in np.ndenumerate(widths):
                above, below = layer * n_tokens + query, (layer - 1) * n_tokens + key
                for joint, other, room in ((above, below, float(width)), (below, above, 0.0)):
                    self.leaving[joint].append(len(self.to))
                    self.to.append(other)
                    self.room.append(room)

    def largest_flow(self, source: int, sink: int) -> float:
        """Fill the pipes; they stay full."""
        total = 0.0
        while (steps := self._steps_from(source))[sink] >= 0:
            untried = [len(pipes) for pipes in self.leaving]
            while pushed := self._push(source, sink, math.inf, steps, untried):
                total += pushed
        return total

    def _steps_from(self, source: int) -> list[int]:
        """How many pipes with room lead to each joint; -1 where none do."""
        steps = [-1] * len(self.leaving)
        steps[source] = 0
        reached = [source]
        for joint in reached:
            for pipe in self.leaving[joint]:
                if self.room[pipe] > _DRY and steps[self.to[pipe]] < 0:
                    steps[self.to[pipe]] = steps[joint] + 1
                    reached.append(self.to[pipe])
        return steps

    def _push(self, joint: int, sink: int, most: float, steps: list[int], untried: list[int]) -> float:
        """Push what one shortest way takes, 0 where all are full; `untried` pipes of a joint are its first ones."""
        if joint == sink:
            return most
        while untried[joint]:
            pipe = self.leaving[joint][untried[joint] - 1]
            if self.room[pipe] > _DRY and steps[self.to[pipe]] == steps[joint] + 1:
                pushed = self._push(self.to[pipe], sink, min(most, self.room[pipe]), steps, untried)
                if pushed:
                    self.room[pipe] -= pushed
                    self.room[pipe ^ 1] += pushed
                    return pushed
            untried[joint] -= 1
        return 0.0


__all__ = ["LONGEST_FLOW", "attention_flow"]
