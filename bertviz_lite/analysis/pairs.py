"""Minimal pairs: which of two sentences a model prefers, and which words decide.

As in BLiMP (Warstadt et al. 2020, arXiv 1912.00582): the sentence with the smaller loss is the preferred one.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from difflib import SequenceMatcher

from bertviz_lite.analysis.scoring import Metric, TokenScores, score_all
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Encoding


@dataclass(frozen=True)
class Aligned:
    """Words of the two sentences that stand for each other: one in both, or what stands in its place.

    Attributes:
        words_a, words_b: numbers of the words; one of the two may be empty.
        loss_a_nats, loss_b_nats: what they cost; 0 of no word.
        same: whether both sentences have this word.
    """

    words_a: tuple[int, ...]
    words_b: tuple[int, ...]
    loss_a_nats: float
    loss_b_nats: float
    same: bool

    @property
    def difference_nats(self) -> float:
        """How much more it costs in the second sentence: above 0 it speaks for the first."""
        return self.loss_b_nats - self.loss_a_nats


@dataclass(frozen=True)
class PairScores:
    """Two sentences under one metric; the parts add up to the difference of the sums.

    Attributes:
        a, b: the scores of the first and the second sentence.
        parts: the words of both in reading order, those of one place together.
    """

    a: TokenScores
    b: TokenScores
    parts: tuple[Aligned, ...]

    @property
    def difference_nats(self) -> float:
        """Loss of the second less loss of the first: above 0 the model prefers the first."""
        return self.b.sum_nats - self.a.sum_nats


def compare_pair(
    model: BERTForMaskedLM, a: Encoding, b: Encoding, metric: Metric = "pll", *, exclude: Collection[int] = ()
) -> PairScores:
    """Score two sentences and align their words.

    Args:
        metric, exclude: as in `score`.

    Raises:
        InputError, TextError: as in `score`, for either sentence.
    """
    scores_a, scores_b = score_all(model, [a, b], metric, exclude=exclude)
    losses_a, losses_b = _by_word(a, scores_a), _by_word(b, scores_b)
    parts = [
        Aligned(
            words_a=words_a,
            words_b=words_b,
            loss_a_nats=sum(losses_a.get(word, 0.0) for word in words_a),
            loss_b_nats=sum(losses_b.get(word, 0.0) for word in words_b),
            same=same,
        )
        for words_a, words_b, same in _places(a, b)
    ]
    return PairScores(scores_a, scores_b, tuple(parts))


def _by_word(encoding: Encoding, scores: TokenScores) -> dict[int | None, float]:
    """Loss in nats of every scored word."""
    losses: dict[int | None, float] = {}
    for position, loss in zip(scores.positions.tolist(), scores.loss_nats.tolist(), strict=True):
        word = encoding.word_ids[position]
        losses[word] = losses.get(word, 0.0) + loss
    return losses


def _places(a: Encoding, b: Encoding) -> list[tuple[tuple[int, ...], tuple[int, ...], bool]]:
    """Words of a, words of b, whether they are the same; a place that differs holds all words up to the next match."""
    spelled_a, spelled_b = (
        [tuple(e.typed_ids[i] for i in e.word_positions(word)) for word in range(e.n_words)] for e in (a, b)
    )
    places: list[tuple[tuple[int, ...], tuple[int, ...], bool]] = []
    matcher = SequenceMatcher(a=spelled_a, b=spelled_b, autojunk=False)
    for kind, start_a, end_a, start_b, end_b in matcher.get_opcodes():
        words_a, words_b = tuple(range(start_a, end_a)), tuple(range(start_b, end_b))
        if kind == "equal":
            places += [((i,), (j,), True) for i, j in zip(words_a, words_b, strict=True)]
        else:
            places.append((words_a, words_b, False))
    return places


__all__ = ["Aligned", "PairScores", "compare_pair"]
