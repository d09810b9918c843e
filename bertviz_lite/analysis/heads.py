"""One number per attention head: how sharp it is, how far it looks, and at what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertviz_lite.analysis.units import Floats, Units
from bertviz_lite.errors import InputError


@dataclass(frozen=True)
class HeadStatistics:
    """Summaries of L layers by H heads for one text; all arrays are (L, H), means over the queries.

    Attributes:
        previous_prob, next_prob: attention on the token just before, just after; the first, or last, has none.
        self_prob: attention of a token on itself.
        special_prob: attention on the tokens marked as special ([CLS], [SEP]).
        cls_prob, sep_prob: attention on the first token if it is special; on all other special tokens.
        punctuation_prob: attention on punctuation marks.
        same_prob: attention on the same token elsewhere, over the tokens that have one; NaN where no token has.
        entropy_nats: 0 = all on one token, ln T = all tokens alike.
        evenness: entropy as a share of ln T: 0 = all on one token, 1 = all tokens alike.
        distance_tokens: mean |query - key|, weighted by attention.
    """

    previous_prob: Floats
    next_prob: Floats
    self_prob: Floats
    special_prob: Floats
    cls_prob: Floats
    sep_prob: Floats
    punctuation_prob: Floats
    same_prob: Floats
    entropy_nats: Floats
    evenness: Floats
    distance_tokens: Floats


def head_statistics(weights: Floats, units: Units) -> HeadStatistics:
    """Summarise every head of one encoded text.

    Args:
        weights: (L, H, T, T) probabilities, queries by keys; rows sum to 1.
        units: what the T rows and columns stand for, tokens or words.

    Raises:
        InputError: the maps are not square, have fewer than two tokens, or are not of these units.

    Source: entropy and distance as in Clark et al. 2019, "What does BERT look at?", sections 3.1 and 3.2.
    """
    _require_maps(weights, units)
    n_tokens = len(units)
    position = np.arange(n_tokens, dtype=np.float32)
    distance = np.abs(position[:, None] - position[None, :])  # (T, T)
    twins = units.twins()  # (T, T)
    has_twin = twins.any(-1)
    log_weights = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    entropy = -(weights * log_weights).sum(-1).mean(-1)  # (L, H)
    nan = np.full_like(entropy, np.nan)
    return HeadStatistics(
        previous_prob=np.diagonal(weights, -1, -2, -1).mean(-1),
        next_prob=np.diagonal(weights, 1, -2, -1).mean(-1),
        self_prob=np.diagonal(weights, 0, -2, -1).mean(-1),
        special_prob=weights[..., units.of_kind(("cls", "sep"))].sum(-1).mean(-1),
        cls_prob=weights[..., units.cls].sum(-1).mean(-1),
        sep_prob=weights[..., units.sep].sum(-1).mean(-1),
        punctuation_prob=weights[..., units.punctuation].sum(-1).mean(-1),
        same_prob=(weights * twins).sum(-1)[..., has_twin].mean(-1) if has_twin.any() else nan,
        entropy_nats=entropy,
        evenness=entropy / np.float32(np.log(n_tokens)),
        distance_tokens=(weights * distance).sum(-1).mean(-1),
    )


def leaders(values: Floats, n: int) -> list[tuple[int, int]]:
    """(layer, head) of the n largest of (L, H) values, largest first."""
    order = np.argsort(-values, axis=None, kind="stable")[:n]
    layers, heads = np.unravel_index(order, values.shape)
    return list(zip(layers.tolist(), heads.tolist(), strict=True))


def first_look(statistics: HeadStatistics) -> tuple[int, int]:
    """(layer, head) of the head worth a first look: the sharpest of those that look at other words than the ones
    beside them, rather than at [CLS], [SEP], punctuation or themselves.
    """
    s = statistics
    elsewhere = 1 - s.special_prob - s.punctuation_prob - s.previous_prob - s.next_prob - s.self_prob
    return leaders(elsewhere * (1 - s.evenness), 1)[0]


def _require_maps(weights: Floats, units: Units) -> None:
    if weights.ndim != 4 or weights.shape[-1] != weights.shape[-2]:
        raise InputError(f"attention must be (layers, heads, T, T), not {weights.shape}.")
    n_tokens = weights.shape[-1]
    if n_tokens < 2:
        raise InputError("One token has nothing to look at: give a text of at least two tokens.")
    if len(units) != n_tokens:
        raise InputError(f"{len(units)} tokens do not fit maps of {n_tokens}.")


__all__ = ["HeadStatistics", "first_look", "head_statistics", "leaders"]
