"""What pages ask of the model, through the gate, each answer kept while memory for answers lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bertviz_lite.analysis import (
    Candidates,
    Case,
    Contrast,
    Draws,
    Filling,
    LossByKind,
    MaskPredictions,
    Metric,
    Neighbours,
    PairScores,
    ScoredLine,
    Stages,
    Strategy,
    TokenScores,
    TrainingExample,
    compare_pair,
    continuing_ids,
    fill,
    labelled_loss,
    neighbours,
    row_norms,
    score,
    score_lines,
    top_k,
    wrong_case_ids,
)
from bertviz_lite.analysis import candidates as score_candidates
from bertviz_lite.analysis import contrast as contrast_texts
from bertviz_lite.analysis import draws as count_draws
from bertviz_lite.analysis import loss_by_kind as mean_loss_by_kind
from bertviz_lite.analysis import stages as follow_stages
from bertviz_lite.analysis import training_example as draw_example
from bertviz_lite.checkpoints import Checkpoint, Comparison, TensorStatistics, compare, tensor_statistics
from bertviz_lite.model import IGNORED_LABEL
from bertviz_lite.texts import Line
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.training import MaskingRule
from bertviz_lite.ui.answers import kept, progress
from bertviz_lite.ui.gate import gate

N_DRAWS = 1000
N_EXAMPLES = 64  # over which losses by kind are averaged


@dataclass(frozen=True)
class Choice:
    """Which pieces a visitor lets compete at a mask.

    Attributes:
        special: [UNK], [CLS] and their like too.
        whole_words: where a mask begins a word, no piece that continues one.
        case: see `analysis.filters`.
    """

    special: bool = False
    whole_words: bool = False
    case: Case = "any"

    def excluded(self, checkpoint: Checkpoint) -> dict[str, frozenset[int]]:
        """The ids to leave out, as `top_k` and `fill` take them."""
        tokenizer = checkpoint.tokenizer
        excluded = checkpoint.excluded_ids if self.special else checkpoint.not_language_ids
        return {
            "exclude": excluded | wrong_case_ids(tokenizer, self.case),
            "exclude_at_start": continuing_ids(tokenizer) if self.whole_words else frozenset(),
        }


def predictions(checkpoint: Checkpoint, encoding: Encoding, k: int, choice: Choice) -> MaskPredictions:
    """The k likeliest pieces at every mask."""
    return kept(
        ("predictions", checkpoint.report.digest, encoding, k, choice),
        lambda: top_k(checkpoint.model, encoding, k, **choice.excluded(checkpoint)),
    )


def filling(checkpoint: Checkpoint, encoding: Encoding, strategy: Strategy, beams: int, choice: Choice) -> Filling:
    """All masks filled together; a progress bar shows where that takes many passes."""

    def ask() -> Filling:
        with progress("Filling the masks") as told:
            more = choice.excluded(checkpoint)
            return fill(checkpoint.model, encoding, strategy, beams=beams, progress=told, **more)

    return kept(("filling", checkpoint.report.digest, encoding, strategy, beams, choice), ask)


def candidates(
    checkpoint: Checkpoint, encoding: Encoding, words: tuple[str, ...], slot: int, choice: Choice
) -> Candidates:
    """Words scored whole at one masked place; a progress bar shows while they are put in."""

    def ask() -> Candidates:
        with progress("Putting in the words") as told:
            more = choice.excluded(checkpoint)
            return score_candidates(
                checkpoint.model, checkpoint.tokenizer, encoding, words, slot=slot, progress=told, **more
            )

    return kept(("candidates", checkpoint.report.digest, encoding, words, slot, choice), ask)


def contrast(checkpoint: Checkpoint, first: Encoding, second: Encoding, k: int, also: frozenset[int]) -> Contrast:
    """The same words at the first masked place of two texts."""
    exclude = checkpoint.not_language_ids
    return kept(
        ("contrast", checkpoint.report.digest, first, second, k, also),
        lambda: contrast_texts(checkpoint.model, first, second, k, also=also, exclude=exclude),
    )


def scores(checkpoint: Checkpoint, encoding: Encoding, metric: Metric) -> TokenScores:
    """The loss of every token; a progress bar shows while positions are masked in turn."""
    # What is masked on other pages is scored as it was typed: one text, one answer.
    plain = encoding.masked(())

    def ask() -> TokenScores:
        with progress("Masking tokens in turn") as told:
            return score(checkpoint.model, plain, metric, exclude=checkpoint.not_language_ids, progress=told)

    return kept(("scores", checkpoint.report.digest, plain, metric), ask)


def labelled(checkpoint: Checkpoint, encoding: Encoding) -> TokenScores:
    """The loss of the tokens that `encoding` hides, all hidden at once."""
    hidden = zip(encoding.ids, encoding.typed_ids, strict=True)
    labels = [IGNORED_LABEL if shown == typed else typed for shown, typed in hidden]
    exclude = checkpoint.not_language_ids
    return kept(
        ("labelled", checkpoint.report.digest, encoding),
        partial(labelled_loss, checkpoint.model, encoding, labels, exclude=exclude),
    )


def training_example(checkpoint: Checkpoint, encoding: Encoding, rule: MaskingRule, seed: int) -> TrainingExample:
    """One draw of the text, and what the model makes of it."""
    return kept(
        ("example", checkpoint.report.digest, encoding, rule, seed),
        partial(
            draw_example,
            checkpoint.model,
            encoding,
            rule,
            seed,
            n_pieces=len(checkpoint.tokenizer),
            exclude=checkpoint.not_language_ids,
        ),
    )


def draws(checkpoint: Checkpoint, encoding: Encoding, rule: MaskingRule, seed: int) -> Draws:
    """`N_DRAWS` draws of the text, counted."""
    return kept(
        ("draws", checkpoint.report.digest, encoding, rule, seed),
        partial(count_draws, checkpoint.model, encoding, rule, seed, N_DRAWS),
    )


def loss_by_kind(checkpoint: Checkpoint, encoding: Encoding, rule: MaskingRule, seed: int) -> LossByKind:
    """The loss of masked, random and kept tokens over `N_EXAMPLES` draws."""

    def ask() -> LossByKind:
        with progress("Asking for the labels of many examples") as told:
            n_pieces = len(checkpoint.tokenizer)
            return mean_loss_by_kind(
                checkpoint.model, encoding, rule, seed, N_EXAMPLES, n_pieces=n_pieces, progress=told
            )

    return kept(("by kind", checkpoint.report.digest, encoding, rule, seed), ask)


def pair(checkpoint: Checkpoint, a: Encoding, b: Encoding, metric: Metric) -> PairScores:
    """Two sentences, word by word."""
    exclude = checkpoint.not_language_ids
    return kept(
        ("pair", checkpoint.report.digest, a, b, metric),
        partial(compare_pair, checkpoint.model, a, b, metric, exclude=exclude),
    )


def scored_lines(
    checkpoint: Checkpoint, lines: Sequence[Line], metric: Metric, told: Callable[[], None]
) -> Iterator[ScoredLine]:
    """The lines of a file as they are scored; nothing is kept. `told` is called between batches, and may raise."""

    def between(*_: int) -> None:
        gate().give_way()
        told()

    exclude = checkpoint.not_language_ids
    with gate().entered():
        yield from score_lines(checkpoint.model, checkpoint.tokenizer, lines, metric, exclude=exclude, progress=between)


def stages(checkpoint: Checkpoint, encoding: Encoding, position: int) -> Stages:
    """The text at every stage, one position's prediction followed."""
    return kept(
        ("stages", checkpoint.report.digest, encoding, position),
        partial(follow_stages, checkpoint.model, encoding, position),
    )


def statistics(checkpoint: Checkpoint) -> dict[str, TensorStatistics]:
    """Numbers about every tensor, by name."""
    return kept(
        ("statistics", checkpoint.report.digest),
        lambda: {name: tensor_statistics(tensor) for name, tensor in checkpoint.tensors().items()},
    )


def norms(checkpoint: Checkpoint) -> NDArray[np.float32]:
    """(V,) length of every row of the word embedding."""
    return kept(("norms", checkpoint.report.digest), partial(row_norms, checkpoint.model))


def near(checkpoint: Checkpoint, token_id: int) -> Neighbours:
    """The nearest rows of the word embedding."""
    return kept(("near", checkpoint.report.digest, token_id), partial(neighbours, checkpoint.model, token_id, 15))


def comparison(a: Checkpoint, b: Checkpoint) -> Comparison:
    """Two checkpoints, tensor by tensor."""
    return kept(("comparison", a.report.digest, b.report.digest, a.report.name, b.report.name), partial(compare, a, b))


__all__ = [
    "N_DRAWS",
    "N_EXAMPLES",
    "Choice",
    "candidates",
    "comparison",
    "contrast",
    "draws",
    "filling",
    "labelled",
    "loss_by_kind",
    "near",
    "norms",
    "pair",
    "predictions",
    "scored_lines",
    "scores",
    "stages",
    "statistics",
    "training_example",
]
