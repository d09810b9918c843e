"""A sentence as the model met sentences in pre-training: what was drawn, what was asked, what it answered.

The draws are those of `training.masking`, which pre-training itself uses. Notation: T tokens, N draws.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lite.analysis._rows import TOKENS_A_BATCH, Progress
from bertviz_lite.analysis.scoring import TokenScores, labelled_loss, scored_positions
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.training import KINDS, NOT_SELECTED, MaskedBatch, MaskingRule, mask


@dataclass(frozen=True)
class TrainingExample:
    """One draw of a sentence.

    Attributes:
        input_ids: (T,) what the model reads.
        labels: (T,) the right id where a token is asked for, -100 elsewhere.
        kinds: (T,) what became of each token, an index of `training.KINDS`.
        scores: the tokens asked for, in reading order; None where the draw selected none.
        loss_nats: the model's own `loss` for these labels; 0 where the draw selected none.
    """

    input_ids: NDArray[np.int64]
    labels: NDArray[np.int64]
    kinds: NDArray[np.int8]
    scores: TokenScores | None
    loss_nats: float


@dataclass(frozen=True)
class Draws:
    """Many draws of a sentence, without a model.

    Attributes:
        counts: (N, 4) tokens of each of `training.KINDS` in each draw.
    """

    counts: NDArray[np.int64]

    @property
    def n_selected(self) -> NDArray[np.int64]:
        """(N,) tokens asked for in each draw."""
        total: NDArray[np.int64] = self.counts.sum(1) - self.counts[:, NOT_SELECTED]
        return total


@dataclass(frozen=True)
class LossByKind:
    """What tokens cost in many training examples of one sentence, by what became of them.

    Attributes:
        mean_nats: (4,) by index of `training.KINDS`; NaN where no token was of a kind, and where nothing was asked.
        counts: (4,) how many tokens a mean is taken over.
    """

    mean_nats: NDArray[np.float64]
    counts: NDArray[np.int64]


def training_example(
    model: BERTForMaskedLM,
    encoding: Encoding,
    rule: MaskingRule,
    seed: int,
    *,
    n_pieces: int | None = None,
    exclude: Collection[int] = (),
) -> TrainingExample:
    """Make one training example of a text as it was typed, and ask the model for its labels.

    Args:
        seed: decides the draw; the same seed gives the first of `draws` too.
        n_pieces: a random token is one of this many ids; by default of all rows, those without a piece included.
        exclude: ids that do not count for ranks and are never the first choice.

    Raises:
        TextError: there is no token that could be selected, or the text is longer than the model reads.
    """
    batch = _draw(model, encoding, rule, seed, 1, n_pieces)
    labels = batch.labels[0].tolist()
    read = replace(encoding, ids=tuple(batch.input_ids[0].tolist()))
    asked = batch.kinds.any().item()
    scores = labelled_loss(model, read, labels, exclude=exclude) if asked else None
    with torch.inference_mode():
        loss = model(**read.tensors(), labels=batch.labels).loss
    assert loss is not None  # noqa: S101 - labels were given
    return TrainingExample(
        input_ids=batch.input_ids[0].numpy(),
        labels=batch.labels[0].numpy(),
        kinds=batch.kinds[0].numpy(),
        scores=scores,
        loss_nats=float(loss),
    )


def draws(model: BERTForMaskedLM, encoding: Encoding, rule: MaskingRule, seed: int, n: int = 1000) -> Draws:
    """Draw a text n times and count; the model gives its vocabulary and length alone.

    Raises:
        TextError: as in `training_example`.
    """
    kinds = _draw(model, encoding, rule, seed, n).kinds.long()  # (n, T)
    return Draws(torch.stack([(kinds == kind).sum(1) for kind in range(len(KINDS))], 1).numpy())


@torch.inference_mode()
def loss_by_kind(
    model: BERTForMaskedLM,
    encoding: Encoding,
    rule: MaskingRule,
    seed: int,
    n: int = 64,
    *,
    n_pieces: int | None = None,
    progress: Progress | None = None,
) -> LossByKind:
    """The mean loss of masked, random and kept tokens over n training examples of a text.

    Args:
        n_pieces: as in `training_example`.
        progress: `progress(done, all)` is called between batches, in examples.

    Raises:
        TextError: as in `training_example`.
    """
    batch = _draw(model, encoding, rule, seed, n, n_pieces)
    segments = torch.tensor(encoding.segment_ids)
    sums, counts = torch.zeros(len(KINDS), dtype=torch.float64), torch.zeros(len(KINDS), dtype=torch.int64)
    done = 0
    size = max(1, TOKENS_A_BATCH // len(encoding))
    for start in range(0, n, size):
        rows = slice(start, start + size)
        inputs, kinds = batch.input_ids[rows], batch.kinds[rows]
        at = kinds.nonzero()  # (M, 2)
        if len(at):
            logits = model(inputs, torch.ones_like(inputs), segments.expand_as(inputs), positions=at).logits
            losses = F.cross_entropy(logits.float(), batch.labels[rows][at[:, 0], at[:, 1]], reduction="none")
            of = kinds[at[:, 0], at[:, 1]].long()
            sums.index_add_(0, of, losses.double())
            counts += of.bincount(minlength=len(KINDS))
        done += len(inputs)
        if progress is not None:
            progress(done, n)
    return LossByKind((sums / counts).numpy(), counts.numpy())


def expected_n_selected(model: BERTForMaskedLM, encoding: Encoding, rule: MaskingRule) -> NDArray[np.float64]:
    """(T + 1,) probability that a draw selects 0, 1, … T tokens, from the rule by arithmetic.

    Raises:
        TextError: as in `training_example`.
    """
    at = scored_positions(model, encoding)
    sizes = list(Counter(encoding.word_ids[i] for i in at).values()) if rule.whole_words else [1] * len(at)
    n_tokens = len(encoding)
    if rule.independent:
        probs = np.ones(1)
        for size in sizes:  # one word more: with it, or without
            grown = np.zeros(len(probs) + size)
            grown[: len(probs)] += (1 - rule.rate) * probs
            grown[size:] += rule.rate * probs
            probs = grown
    else:
        n = int(rule.n_predictions(torch.tensor([n_tokens])))
        probs = np.array(_greedy(tuple(sorted(Counter(sizes).items())), n))
    probs = np.pad(probs, (0, n_tokens + 1 - len(probs)))
    if rule.at_least_one:  # one word, each as likely, where nothing was drawn
        none, probs[0] = probs[0], 0.0
        for size in sizes:
            probs[size] += none / len(sizes)
    return probs


@lru_cache(maxsize=20_000)
def _greedy(words: tuple[tuple[int, int], ...], room: int) -> tuple[float, ...]:
    """Probability of each number of tokens when words are drawn until none of those left fits; (size, how many)."""
    fitting = [(size, count) for size, count in words if size <= room and count]
    probs = np.zeros(room + 1)
    if not fitting:
        probs[0] = 1.0
    total = sum(count for _, count in fitting)
    for drawn, count in fitting:
        left = tuple((size, n - (size == drawn)) for size, n in fitting)
        after = np.array(_greedy(left, room - drawn))
        probs[drawn : drawn + len(after)] += count / total * after
    return tuple(probs.tolist())


def _draw(
    model: BERTForMaskedLM, encoding: Encoding, rule: MaskingRule, seed: int, n: int, n_pieces: int | None = None
) -> MaskedBatch:
    candidates = torch.zeros(len(encoding), dtype=torch.bool)
    candidates[list(scored_positions(model, encoding))] = True
    words = torch.tensor([0 if word is None else word for word in encoding.word_ids])
    return mask(
        _rows(torch.tensor(encoding.typed_ids), n),
        _rows(candidates, n),
        mask_id=encoding.mask_id,
        vocab_size=n_pieces or model.config.vocab_size,
        rule=rule,
        generator=torch.Generator().manual_seed(seed),
        word_ids=_rows(words, n),
    )


def _rows(values: Tensor, n: int) -> Tensor:
    return values.repeat(n, 1)  # (n, T)


__all__ = [
    "Draws",
    "LossByKind",
    "TrainingExample",
    "draws",
    "expected_n_selected",
    "loss_by_kind",
    "training_example",
]
