"""What pages ask of the model, through the gate, each answer kept while memory for answers lasts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
import streamlit as st
from cachetools import LRUCache
from numpy.typing import NDArray

from bertviz_lite.analysis import (
    AttentionMaps,
    Candidates,
    Case,
    Contrast,
    Filling,
    LossByKind,
    MaskPredictions,
    Metric,
    Neighbours,
    PairScores,
    Progress,
    ScoredLine,
    Stages,
    Strategy,
    TokenScores,
    TrainingExample,
    attention_maps,
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
from bertviz_lite.analysis import loss_by_kind as mean_loss_by_kind
from bertviz_lite.analysis import stages as follow_stages
from bertviz_lite.analysis import training_example as draw_example
from bertviz_lite.checkpoints import Checkpoint, Comparison, TensorStatistics, compare, tensor_statistics
from bertviz_lite.model import IGNORED_LABEL
from bertviz_lite.texts import Line
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.training import MaskingRule
from bertviz_lite.ui.gate import gate

Answer = TypeVar("Answer")

N_EXAMPLES = 64  # over which losses by kind are averaged
_ANSWER_BYTES = 256 << 20  # over all visitors; the least recently used go first


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
        return {
            "exclude": _excluded(checkpoint, self.special) | wrong_case_ids(tokenizer, self.case),
            "exclude_at_start": continuing_ids(tokenizer) if self.whole_words else frozenset(),
        }


def predictions(checkpoint: Checkpoint, encoding: Encoding, k: int, choice: Choice) -> MaskPredictions:
    """The k likeliest pieces at every mask."""
    return _kept(
        ("predictions", checkpoint.report.digest, encoding, k, choice),
        lambda: top_k(checkpoint.model, encoding, k, **choice.excluded(checkpoint)),
    )


def filling(checkpoint: Checkpoint, encoding: Encoding, strategy: Strategy, beams: int, choice: Choice) -> Filling:
    """All masks filled together; a progress bar shows where that takes many passes."""

    def ask() -> Filling:
        with _progress("Filling the masks") as told:
            more = choice.excluded(checkpoint)
            return fill(checkpoint.model, encoding, strategy, beams=beams, progress=told, **more)

    return _kept(("filling", checkpoint.report.digest, encoding, strategy, beams, choice), ask)


def candidates(
    checkpoint: Checkpoint, encoding: Encoding, words: tuple[str, ...], slot: int, choice: Choice
) -> Candidates:
    """Words scored whole at one masked place; a progress bar shows while they are put in."""

    def ask() -> Candidates:
        with _progress("Putting in the words") as told:
            more = choice.excluded(checkpoint)
            return score_candidates(
                checkpoint.model, checkpoint.tokenizer, encoding, words, slot=slot, progress=told, **more
            )

    return _kept(("candidates", checkpoint.report.digest, encoding, words, slot, choice), ask)


def contrast(checkpoint: Checkpoint, first: Encoding, second: Encoding, k: int, also: frozenset[int]) -> Contrast:
    """The same words at the first masked place of two texts."""
    exclude = _excluded(checkpoint, special=False)
    return _kept(
        ("contrast", checkpoint.report.digest, first, second, k, also),
        lambda: contrast_texts(checkpoint.model, first, second, k, also=also, exclude=exclude),
    )


def scores(checkpoint: Checkpoint, encoding: Encoding, metric: Metric) -> TokenScores:
    """The loss of every token; a progress bar shows while positions are masked in turn."""
    # What is masked on other pages is scored as it was typed: one text, one answer.
    plain = encoding.masked(())

    def ask() -> TokenScores:
        with _progress("Masking tokens in turn") as told:
            return score(checkpoint.model, plain, metric, exclude=_excluded(checkpoint, False), progress=told)

    return _kept(("scores", checkpoint.report.digest, plain, metric), ask)


def labelled(checkpoint: Checkpoint, encoding: Encoding) -> TokenScores:
    """The loss of the tokens that `encoding` hides, all hidden at once."""
    hidden = zip(encoding.ids, encoding.typed_ids, strict=True)
    labels = [IGNORED_LABEL if shown == typed else typed for shown, typed in hidden]
    exclude = _excluded(checkpoint, special=False)
    return _kept(
        ("labelled", checkpoint.report.digest, encoding),
        partial(labelled_loss, checkpoint.model, encoding, labels, exclude=exclude),
    )


def training_example(checkpoint: Checkpoint, encoding: Encoding, rule: MaskingRule, seed: int) -> TrainingExample:
    """One draw of the text, and what the model makes of it."""
    return _kept(
        ("example", checkpoint.report.digest, encoding, rule, seed),
        partial(draw_example, checkpoint.model, encoding, rule, seed, exclude=_excluded(checkpoint, special=False)),
    )


def loss_by_kind(checkpoint: Checkpoint, encoding: Encoding, rule: MaskingRule, seed: int) -> LossByKind:
    """The loss of masked, random and kept tokens over `N_EXAMPLES` draws."""

    def ask() -> LossByKind:
        with _progress("Asking for the labels of many examples") as told:
            return mean_loss_by_kind(checkpoint.model, encoding, rule, seed, N_EXAMPLES, progress=told)

    return _kept(("by kind", checkpoint.report.digest, encoding, rule, seed), ask)


def pair(checkpoint: Checkpoint, a: Encoding, b: Encoding, metric: Metric) -> PairScores:
    """Two sentences, word by word."""
    exclude = _excluded(checkpoint, special=False)
    return _kept(
        ("pair", checkpoint.report.digest, a, b, metric),
        partial(compare_pair, checkpoint.model, a, b, metric, exclude=exclude),
    )


def scored_lines(
    checkpoint: Checkpoint, lines: Sequence[Line], metric: Metric, told: Callable[[], None]
) -> Iterator[ScoredLine]:
    """The lines of a file as they are scored; nothing is kept. `told` is called between batches, and may raise."""

    def progress(*_: int) -> None:
        gate().give_way()
        told()

    exclude = _excluded(checkpoint, special=False)
    with gate().entered():
        yield from score_lines(
            checkpoint.model, checkpoint.tokenizer, lines, metric, exclude=exclude, progress=progress
        )


def attention(checkpoint: Checkpoint, encoding: Encoding) -> AttentionMaps:
    """All maps of all heads."""
    return _kept(
        ("attention", checkpoint.report.digest, encoding),
        partial(attention_maps, checkpoint.model, encoding),
    )


def stages(checkpoint: Checkpoint, encoding: Encoding, position: int) -> Stages:
    """The text at every stage, one position's prediction followed."""
    return _kept(
        ("stages", checkpoint.report.digest, encoding, position),
        partial(follow_stages, checkpoint.model, encoding, position),
    )


def statistics(checkpoint: Checkpoint) -> dict[str, TensorStatistics]:
    """Numbers about every tensor, by name."""
    return _kept(
        ("statistics", checkpoint.report.digest),
        lambda: {name: tensor_statistics(tensor) for name, tensor in checkpoint.tensors().items()},
    )


def norms(checkpoint: Checkpoint) -> NDArray[np.float32]:
    """(V,) length of every row of the word embedding."""
    return _kept(("norms", checkpoint.report.digest), partial(row_norms, checkpoint.model))


def near(checkpoint: Checkpoint, token_id: int) -> Neighbours:
    """The nearest rows of the word embedding."""
    return _kept(("near", checkpoint.report.digest, token_id), partial(neighbours, checkpoint.model, token_id, 15))


def comparison(a: Checkpoint, b: Checkpoint) -> Comparison:
    """Two checkpoints, tensor by tensor."""
    return _kept(("comparison", a.report.digest, b.report.digest, a.report.name, b.report.name), partial(compare, a, b))


@contextmanager
def _progress(label: str) -> Iterator[Progress]:
    """A bar for a long job, which lets others in between its batches."""
    bar = st.empty()

    def progress(done: int, n: int) -> None:
        gate().give_way()
        if done < n:
            bar.progress(done / n, f"{label}: {done:,} of {n:,}")

    try:
        yield progress
    finally:
        bar.empty()


def _excluded(checkpoint: Checkpoint, special: bool) -> frozenset[int]:
    return checkpoint.excluded_ids if special else checkpoint.excluded_ids | checkpoint.tokenizer.special_ids


@st.cache_resource(show_spinner=False)
def _answers() -> tuple[LRUCache[Hashable, Any], threading.Lock]:
    return LRUCache(_ANSWER_BYTES, getsizeof=_size), threading.Lock()


def _kept(key: Hashable, ask: Callable[[], Answer]) -> Answer:
    answers, lock = _answers()
    with lock:
        if key in answers:
            return cast(Answer, answers[key])
    with gate().entered():
        answer = ask()
    with lock:
        if _size(answer) <= answers.maxsize:
            answers[key] = answer
    return answer


def _size(answer: object) -> int:
    """Bytes of an array or of the arrays in a dataclass, however deep, and something for the rest."""
    if isinstance(answer, np.ndarray):
        return answer.nbytes
    parts = [getattr(answer, f.name) for f in fields(answer)] if is_dataclass(answer) else []
    return 1024 + sum(_size(part) for part in parts if isinstance(part, np.ndarray) or is_dataclass(part))


__all__ = [
    "N_EXAMPLES",
    "Choice",
    "attention",
    "candidates",
    "comparison",
    "contrast",
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
