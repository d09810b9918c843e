"""Heads that do one thing that has a name, each with the score that earned the name and the threshold it passed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertviz_lite.analysis.heads import HeadStatistics


@dataclass(frozen=True)
class Pattern:
    """A thing that heads are known to do.

    Attributes:
        name: for people.
        measure: the field of `HeadStatistics` that is the score.
        threshold: a head whose score is above it bears the name.
        says: what the score is.
    """

    name: str
    measure: str
    threshold: float
    says: str


# Half of the attention is what Clark et al. 2019, section 3.1, count such heads by; the other two thresholds are ours.
# In a model that was never trained to tell pairs apart, such as the bundled one, [CLS] is what [SEP] is in BERT.
PATTERNS = (
    Pattern("previous token", "previous_prob", 0.5, "mean attention on the token just before"),
    Pattern("next token", "next_prob", 0.5, "mean attention on the token just after"),
    Pattern("same token elsewhere", "same_prob", 0.4, "mean attention on the same token at other places"),
    Pattern("separator", "sep_prob", 0.5, "mean attention on [SEP]"),
    Pattern("[CLS]", "cls_prob", 0.5, "mean attention on [CLS]"),
    Pattern("broad", "evenness", 0.9, "mean entropy as a share of that of a head that looks at all tokens alike"),
)


@dataclass(frozen=True)
class NamedHead:
    """A head that bears a pattern's name; it may bear others too.

    Attributes:
        score: what earned it, above the pattern's threshold.
    """

    layer: int
    head: int
    pattern: Pattern
    score: float


def named_heads(statistics: HeadStatistics) -> tuple[NamedHead, ...]:
    """The heads that match a pattern for one text: pattern by pattern in the order of `PATTERNS`, best score first."""
    found: list[NamedHead] = []
    for pattern in PATTERNS:
        scores = getattr(statistics, pattern.measure)  # (L, H); NaN, where nothing could be asked, matches nothing
        matching = [
            NamedHead(layer, head, pattern, float(scores[layer, head]))
            for layer, head in np.argwhere(scores > pattern.threshold).tolist()
        ]
        found += sorted(matching, key=lambda head: -head.score)
    return tuple(found)


__all__ = ["PATTERNS", "NamedHead", "Pattern", "named_heads"]
