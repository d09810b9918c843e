"""Many texts: each scored, those that cannot be reported by line, and what they cost together.

Definitions of the sums: Salazar et al. 2020 (arXiv 1910.14659). Sums over texts come first and ratios last, so a
corpus's pseudo-perplexity is not the mean of its sentences'.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from bertviz_lite.analysis._rows import Progress, require_numbers
from bertviz_lite.analysis.scoring import Metric, TokenScores, score_all, scored_positions
from bertviz_lite.errors import BertvizError, CheckpointError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.texts import Line
from bertviz_lite.tokenizer import Encoding, Tokenizer

# Texts that are scored together: enough that those of one length meet, few enough that stopping loses seconds.
_LINES_TOGETHER = 128
_TOKENS_TOGETHER = 1 << 13
_CHARACTERS_A_TOKEN = 5  # of English, spaces included


@dataclass(frozen=True)
class Totals:
    """What one text, or a corpus, costs; add two to get both together.

    Attributes:
        sum_nats: Σ loss.
        n_tokens: scored tokens.
        n_words: words they belong to, as the tokenizer splits them: punctuation marks are words.
        n_characters: of the text, spaces between included, masks that were typed left out.
    """

    sum_nats: float = 0.0
    n_tokens: int = 0
    n_words: int = 0
    n_characters: int = 0

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.sum_nats + other.sum_nats,
            self.n_tokens + other.n_tokens,
            self.n_words + other.n_words,
            self.n_characters + other.n_characters,
        )

    @property
    def mean_nats(self) -> float:
        """Σ loss / tokens; NaN of nothing."""
        return self._per(self.n_tokens)

    @property
    def nats_per_word(self) -> float:
        """Σ loss / words; NaN of nothing."""
        return self._per(self.n_words)

    @property
    def perplexity(self) -> float:
        """exp(Σ loss / tokens); the pseudo-perplexity where the metric is `pll`."""
        return _exp(self.mean_nats)

    @property
    def word_perplexity(self) -> float:
        """exp(Σ loss / words): the value by which models of different vocabularies can be compared."""
        return _exp(self.nats_per_word)

    @property
    def bits_per_character(self) -> float:
        """Σ loss / ln 2 / characters; NaN of nothing."""
        return self._per(self.n_characters) / math.log(2)

    def _per(self, n: int) -> float:
        return self.sum_nats / n if n else math.nan


@dataclass(frozen=True)
class ScoredLine:
    """A line of a file with its scores, or with the sentence that says why it has none.

    Attributes:
        line: the line, with its number.
        pieces: (N,) the vocabulary's spelling of the scored tokens.
        scores, totals: None where `error` is told.
        error: why it could not be scored; None where it was.
    """

    line: Line
    pieces: tuple[str, ...] = ()
    scores: TokenScores | None = None
    totals: Totals | None = None
    error: str | None = None


def totals(encoding: Encoding, positions: Collection[int], sum_nats: float) -> Totals:
    """The sums of one text, of which the tokens at `positions` cost `sum_nats` together."""
    typed_masks = [i for i, token in enumerate(encoding.typed_ids) if token == encoding.mask_id]
    hidden = sum(end - start for start, end in (encoding.offsets[i] for i in typed_masks))
    return Totals(
        sum_nats=sum_nats,
        n_tokens=len(positions),
        n_words=len({encoding.word_ids[i] for i in positions}),
        n_characters=len(encoding.text.strip()) + len((encoding.pair or "").strip()) - hidden,
    )


def score_lines(
    model: BERTForMaskedLM,
    tokenizer: Tokenizer,
    lines: Iterable[Line],
    metric: Metric = "pll",
    *,
    exclude: Collection[int] = (),
    progress: Progress | None = None,
) -> Iterator[ScoredLine]:
    """Score line by line, in the order given, reading ahead only as far as one group of lines.

    To stop, stop asking; to resume, give the lines that are left.

    Args:
        metric, exclude: as in `score`.
        progress: called between batches with the tokens done and all tokens of the group at work.

    Raises:
        InputError: there is no such metric.
    """
    for group in _groups(model, tokenizer, lines, metric):
        encodings = [entry for _, entry in group if isinstance(entry, Encoding)]
        found = iter(score_all(model, encodings, metric, exclude=exclude, progress=progress))
        for line, entry in group:
            yield _scored(line, entry, next(found)) if isinstance(entry, Encoding) else ScoredLine(line, error=entry)


def work(text: str, metric: Metric, longest: int) -> int:
    """About how much a text costs beside others, to tell the time left: passes times their length.

    Args:
        longest: tokens that the model reads; a text that is surely longer costs next to nothing.
    """
    if len(text) > longest * _CHARACTERS_A_TOKEN:
        return 1
    return 1 + len(text) ** (1 if metric == "unmasked" else 2)


_Group = list[tuple[Line, Encoding | str]]  # an encoding, or why there is none


def _groups(model: BERTForMaskedLM, tokenizer: Tokenizer, lines: Iterable[Line], metric: Metric) -> Iterator[_Group]:
    group: _Group = []
    n_tokens = 0
    for line in lines:
        entry = _entry(model, tokenizer, line)
        group.append((line, entry))
        if isinstance(entry, Encoding):
            n_tokens += len(entry) * (1 if metric == "unmasked" else len(entry))
        if len(group) >= _LINES_TOGETHER or n_tokens >= _TOKENS_TOGETHER:
            yield group
            group, n_tokens = [], 0
    if group:
        yield group


def _entry(model: BERTForMaskedLM, tokenizer: Tokenizer, line: Line) -> Encoding | str:
    if not line.text.strip():
        return "The line is empty."
    try:
        encoding = tokenizer.encode(line.text)
        scored_positions(model, encoding)
    except BertvizError as error:
        return str(error)
    return encoding


def _scored(line: Line, encoding: Encoding, scores: TokenScores) -> ScoredLine:
    try:
        require_numbers(scores.loss_nats)
    except CheckpointError as error:
        return ScoredLine(line, error=str(error))
    if np.isinf(scores.loss_nats).any():
        return ScoredLine(line, error="The model gives a token of this text no probability at all.")
    at = scores.positions.tolist()
    return ScoredLine(line, tuple(encoding.typed_pieces[i] for i in at), scores, totals(encoding, at, scores.sum_nats))


def _exp(nats: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(nats))


__all__ = ["ScoredLine", "Totals", "score_lines", "totals", "work"]
