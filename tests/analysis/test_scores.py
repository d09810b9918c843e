"""Expected values: the table in guesser.py and hand arithmetic, or a plain loop over transformers that masks one
position at a time (Salazar et al. 2020) on the bundled checkpoint."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields

import numpy as np
import pytest
import torch
from guesser import ID, LONGEST, NOT_LANGUAGE, guesser, tokenizer
from numpy.testing import assert_allclose, assert_array_equal
from outside import Outside

from bertviz_lite import BERTForMaskedLM, Checkpoint
from bertviz_lite.analysis import TokenScores, _masked_rows, pseudo_loss, unmasked_loss
from bertviz_lite.errors import TextError

TOKENIZER = tokenizer()
Measure = Callable[..., TokenScores]
BOTH = pytest.mark.parametrize("measure", [pseudo_loss, unmasked_loss])

# Text, second text, and the positions to score, counted by hand from the pieces in the comment.
SENTENCES = [
    ("Hello world!", None, [1, 2, 3]),  # [CLS] hello world ! [SEP]
    ("The traveler lost the souvenir.", None, [1, 2, 3, 4, 5, 6, 7, 8]),  # … the so ##uven ##ir .
    ("The [UNK] sat ☃ here.", None, [1, 2, 3, 4, 5, 6]),  # both unknown: scored
    ("The [MASK] sat on [MASK].", None, [1, 3, 4, 6]),
    ("Is it cold?", "No [MASK] is.", [1, 2, 3, 4, 6, 8, 9]),  # [SEP] at 5, then no [MASK] is .
    ("a [SEP] b", None, [1, 2, 3]),  # a [SEP] that was typed is scored
]


@pytest.fixture(scope="module")
def model() -> BERTForMaskedLM:
    return guesser()


@BOTH
def test_every_number_by_hand(model: BERTForMaskedLM, measure: Measure) -> None:
    scores = measure(model, TOKENIZER.encode("as [MASK] [UNK]", "b"), exclude=NOT_LANGUAGE)
    assert scores.positions.tolist() == [1, 2, 4, 6]
    assert scores.ids.tolist() == [ID["a"], ID["##s"], ID["[UNK]"], ID["b"]]
    probs = [0.10, 0.02, 0.04, 0.20]
    assert_allclose(scores.loss_nats, [-math.log(p) for p in probs], rtol=1e-6)
    assert_allclose(scores.probs, probs, rtol=1e-6)
    assert scores.ranks.tolist() == [2, 5, 4, 1]  # b 0.2, a 0.1, c 0.05, . 0.03, ##s 0.02
    assert scores.best_ids.tolist() == 4 * [ID["b"]]
    assert_allclose(scores.best_probs, 4 * [0.20], rtol=1e-6)
    product = 0.10 * 0.02 * 0.04 * 0.20
    assert scores.sum_nats == pytest.approx(-math.log(product), rel=1e-6)
    assert scores.mean_nats == pytest.approx(-math.log(product) / 4, rel=1e-6)
    assert scores.perplexity == pytest.approx(product ** (-1 / 4), rel=1e-6)


@BOTH
def test_without_exclusions_all_rows_count_for_the_rank(model: BERTForMaskedLM, measure: Measure) -> None:
    scores = measure(model, TOKENIZER.encode("a c"))
    assert scores.ranks.tolist() == [4, 6]  # [MASK] 0.25, b 0.2, row 10 0.12; a 0.1; row 11 0.08
    assert scores.best_ids.tolist() == 2 * [ID["[MASK]"]]


@BOTH
def test_a_model_that_knows_nothing_loses_ln_v_everywhere(measure: Measure) -> None:
    scores = measure(guesser(11 * [1 / 11]), TOKENIZER.encode("a b c."))
    assert_allclose(scores.loss_nats, 4 * [math.log(11)], rtol=1e-6)
    assert scores.perplexity == pytest.approx(11, rel=1e-5)
    assert scores.ranks.tolist() == [1, 1, 1, 1]


@BOTH
def test_words_that_were_masked_are_scored_as_they_were_typed(bundled: Checkpoint, measure: Measure) -> None:
    typed = bundled.tokenizer.encode("The cat drank [MASK] milk.")
    whole, hidden = measure(bundled.model, typed), measure(bundled.model, typed.masked({1, 4}))
    for field in fields(TokenScores):
        assert_array_equal(getattr(hidden, field.name), getattr(whole, field.name))


def loop_over_transformers(outside: Outside, text: str, pair: str | None, at: list[int]) -> tuple[torch.Tensor, ...]:
    """Ids (N,) and ln of probability (N, V) at the positions `at`, each masked alone."""
    ids, segments = outside.ids(text, pair)
    rows = []
    for position in at:
        masked = ids.clone()
        masked[position] = outside.tokenizer.mask_token_id
        rows.append(outside.log_probs(masked, segments)[position])
    return ids[at], torch.stack(rows)


def one_pass_of_transformers(outside: Outside, text: str, pair: str | None, at: list[int]) -> tuple[torch.Tensor, ...]:
    ids, segments = outside.ids(text, pair)
    return ids[at], outside.log_probs(ids, segments)[at]


@pytest.mark.parametrize(
    ("measure", "reference"), [(pseudo_loss, loop_over_transformers), (unmasked_loss, one_pass_of_transformers)]
)
@pytest.mark.parametrize(("text", "pair", "at"), SENTENCES)
def test_scores_are_those_of_transformers(
    bundled: Checkpoint,
    outside: Outside,
    measure: Measure,
    reference: Callable[..., tuple[torch.Tensor, ...]],
    text: str,
    pair: str | None,
    at: list[int],
) -> None:
    ids, log_probs = reference(outside, text, pair, at)
    own = log_probs.gather(-1, ids[:, None])
    scores = measure(bundled.model, bundled.tokenizer.encode(text, pair))
    assert scores.positions.tolist() == at
    assert_array_equal(scores.ids, ids)
    assert_allclose(scores.loss_nats, -own[:, 0], atol=1e-4)
    # A rank may differ only by ids that are, to 1e-4 nats, as likely.
    assert (torch.tensor(scores.ranks) >= 1 + (log_probs > own + 1e-4).sum(-1)).all()
    assert (torch.tensor(scores.ranks) <= 1 + (log_probs > own - 1e-4).sum(-1)).all()
    assert_array_equal(scores.best_ids, log_probs.argmax(-1))
    assert_allclose(scores.best_probs, log_probs.max(-1).values.exp(), atol=1e-5)
    assert scores.sum_nats == pytest.approx(-own.sum().item(), abs=1e-3)
    assert scores.mean_nats == pytest.approx(-own.mean().item(), abs=1e-4)
    assert scores.perplexity == pytest.approx(math.exp(-own.mean().item()), rel=1e-3)


def test_the_two_measures_differ_on_a_trained_model(bundled: Checkpoint) -> None:
    encoding = bundled.tokenizer.encode("The traveler lost the souvenir.")
    assert unmasked_loss(bundled.model, encoding).sum_nats < pseudo_loss(bundled.model, encoding).sum_nats - 5


@pytest.mark.parametrize("tokens_a_batch", [1, 20, 10**9])
def test_the_size_of_a_batch_changes_nothing(
    bundled: Checkpoint, monkeypatch: pytest.MonkeyPatch, tokens_a_batch: int
) -> None:
    encoding = bundled.tokenizer.encode("The museum, which opened in 1902, [MASK] a collection.", "Who opened it?")
    usual = pseudo_loss(bundled.model, encoding)
    monkeypatch.setattr(_masked_rows, "TOKENS_A_BATCH", tokens_a_batch)
    other = pseudo_loss(bundled.model, encoding)
    assert_array_equal(other.positions, usual.positions)
    assert_array_equal(other.best_ids, usual.best_ids)
    assert_allclose(other.loss_nats, usual.loss_nats, atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("rows_a_batch", "calls"),
    [(1, [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]), (2, [(2, 5), (4, 5), (5, 5)]), (99, [(5, 5)])],
)
def test_progress_is_told_after_every_batch(
    model: BERTForMaskedLM, monkeypatch: pytest.MonkeyPatch, rows_a_batch: int, calls: list[tuple[int, int]]
) -> None:
    encoding = TOKENIZER.encode("a b c a b")
    monkeypatch.setattr(_masked_rows, "TOKENS_A_BATCH", rows_a_batch * len(encoding))
    told: list[tuple[int, int]] = []
    pseudo_loss(model, encoding, progress=lambda done, of: told.append((done, of)))
    assert told == calls


@BOTH
@pytest.mark.parametrize("text", ["", "  ", "[MASK]", "[MASK] [MASK]"])
def test_nothing_to_score_is_a_text_error(model: BERTForMaskedLM, measure: Measure, text: str) -> None:
    with pytest.raises(TextError, match="no token to score"):
        measure(model, TOKENIZER.encode(text))


@BOTH
def test_a_text_of_just_the_models_length_fits_and_one_token_more_does_not(
    model: BERTForMaskedLM, measure: Measure
) -> None:
    assert len(measure(model, TOKENIZER.encode("a " * (LONGEST - 2))).ids) == 6
    with pytest.raises(TextError, match=r"9 tokens.* at most 8\b"):
        measure(model, TOKENIZER.encode("a " * (LONGEST - 1)))


@BOTH
def test_nan_weights_give_nan_and_no_crash(measure: Measure) -> None:
    scores = measure(guesser(12 * [math.nan]), TOKENIZER.encode("a b"), exclude=NOT_LANGUAGE)
    assert np.isnan(scores.loss_nats).all()
    assert np.isnan([scores.sum_nats, scores.mean_nats, scores.perplexity]).all()


def test_an_impossible_token_has_an_infinite_loss() -> None:
    scores = pseudo_loss(guesser([0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.0]), TOKENIZER.encode("a c"))
    assert scores.loss_nats.tolist() == [pytest.approx(math.log(2)), math.inf]
    assert scores.probs.tolist() == [pytest.approx(0.5), 0.0]
    assert scores.ranks.tolist() == [1, 3]
    assert scores.perplexity == math.inf


def test_a_huge_loss_overflows_to_an_infinite_perplexity() -> None:
    one = np.array([1])
    scores = TokenScores(one, one, np.array([800], np.float32), one, one, np.array([1], np.float32))
    assert (scores.sum_nats, scores.mean_nats, scores.perplexity) == (800.0, 800.0, math.inf)
