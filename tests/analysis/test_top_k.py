"""Expected values: the table in guesser.py and hand arithmetic, or transformers on the bundled checkpoint."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from guesser import ID, LONGEST, NOT_LANGUAGE, PROBS, guesser, tokenizer
from numpy.testing import assert_allclose, assert_array_equal
from outside import Outside

from bertviz_lite import BERTForMaskedLM, Checkpoint
from bertviz_lite.analysis import MaskPredictions, top_k
from bertviz_lite.analysis.predictions import NO_ID
from bertviz_lite.errors import InputError, TextError

TOKENIZER = tokenizer()
ENTROPY = -sum(p * math.log(p) for p in PROBS.values())

SENTENCES = [
    ("The cat drank a bowl of [MASK].", None),
    ("[MASK] opened the [MASK] and closed the [MASK].", None),
    ("[MASK][MASK]", None),
    ("Where is the [MASK]?", "It is [MASK] the table."),
]


@pytest.fixture(scope="module")
def model() -> BERTForMaskedLM:
    return guesser()


def test_without_exclusions_every_row_of_the_vocabulary_may_come_back(model: BERTForMaskedLM) -> None:
    found = top_k(model, TOKENIZER.encode("a [MASK] c [MASK]"), 3)
    assert found.positions.tolist() == [2, 4]
    assert found.ids.tolist() == 2 * [[ID["[MASK]"], ID["b"], 10]]
    assert_allclose(found.probs, 2 * [[0.25, 0.20, 0.12]], rtol=1e-6)
    assert_allclose(found.covered_probs, [0.57, 0.57], rtol=1e-6)
    assert_allclose(found.entropy_nats, [ENTROPY, ENTROPY], rtol=1e-6)


def test_excluded_ids_never_come_back_and_probabilities_are_not_rescaled(model: BERTForMaskedLM) -> None:
    found = top_k(model, TOKENIZER.encode("[MASK]"), 2, exclude=NOT_LANGUAGE)
    assert found.ids.tolist() == [[ID["b"], ID["a"]]]
    assert_allclose(found.probs, [[0.20, 0.10]], rtol=1e-6)
    assert_allclose(found.covered_probs, [0.30], rtol=1e-6)
    assert_allclose(found.entropy_nats, [ENTROPY], rtol=1e-6)


@pytest.mark.parametrize("k", [5, 6, 10**6])
def test_k_beyond_what_is_allowed_gives_what_is_allowed(model: BERTForMaskedLM, k: int) -> None:
    found = top_k(model, TOKENIZER.encode("[MASK]"), k, exclude=NOT_LANGUAGE)
    assert found.ids.tolist() == [[ID[piece] for piece in ("b", "a", "c", ".", "##s")]]
    assert found.probs.shape == (1, 5)


def test_k_beyond_the_vocabulary_gives_all_of_it_and_all_the_probability(model: BERTForMaskedLM) -> None:
    found = top_k(model, TOKENIZER.encode("[MASK]"), 13)
    assert sorted(found.ids[0].tolist()) == list(range(12))
    assert (np.diff(found.probs[0]) <= 0).all()
    assert_allclose(found.covered_probs, [1.0], rtol=1e-6)


def test_exclusions_outside_the_vocabulary_exclude_nothing(model: BERTForMaskedLM) -> None:
    found = top_k(model, TOKENIZER.encode("[MASK]"), 99, exclude={-1, -12, 12, 10**9})
    assert sorted(found.ids[0].tolist()) == list(range(12))


def test_when_everything_is_excluded_nothing_comes_back(model: BERTForMaskedLM) -> None:
    found = top_k(model, TOKENIZER.encode("[MASK]"), 3, exclude=range(12))
    assert found.ids.shape == found.probs.shape == (1, 0)
    assert found.covered_probs.tolist() == [0.0]


@pytest.mark.parametrize(
    ("exclude", "rank"),
    [
        ((), 6),  # behind [MASK], b, row 10, a and row 11; [CLS] and [SEP] are as likely as c
        (NOT_LANGUAGE, 3),  # behind b and a
        ({ID["b"]}, 5),
        ({ID["c"]}, 6),  # itself excluded: the rank it would have
    ],
)
def test_the_original_is_ranked_among_the_allowed_ids(model: BERTForMaskedLM, exclude: set[int], rank: int) -> None:
    hidden = TOKENIZER.encode("a c").masked({1})
    found = top_k(model, hidden, 1, exclude=exclude)
    assert found.positions.tolist() == [2]
    assert found.original_ids.tolist() == [ID["c"]]
    assert found.original_ranks.tolist() == [rank]
    assert_allclose(found.original_probs, [0.05], rtol=1e-6)


def test_originals_of_a_hidden_word_a_typed_mask_and_an_unknown(model: BERTForMaskedLM) -> None:
    hidden = TOKENIZER.encode("as [MASK] b ☃").masked({0, 3})  # the pieces of word 0 are a and ##s
    found = top_k(model, hidden, 2, exclude=NOT_LANGUAGE)
    assert found.positions.tolist() == [1, 2, 3, 5]
    assert found.original_ids.tolist() == [ID["a"], ID["##s"], NO_ID, ID["[UNK]"]]
    assert_allclose(found.original_probs, [0.10, 0.02, math.nan, 0.04], rtol=1e-6)
    assert found.original_ranks.tolist() == [2, 5, NO_ID, 4]


def test_a_model_that_knows_nothing_has_entropy_ln_v() -> None:
    found = top_k(guesser(11 * [1 / 11]), TOKENIZER.encode("a c").masked({0}), 4)
    assert_allclose(found.entropy_nats, [math.log(11)], rtol=1e-6)
    assert_allclose(found.perplexity, [11], rtol=1e-6)
    assert_allclose(found.probs, [4 * [1 / 11]], rtol=1e-6)
    assert found.original_ranks.tolist() == [1]  # equals share the better rank


def test_a_piece_that_is_impossible_leaves_the_entropy_a_number() -> None:
    found = top_k(guesser([*10 * [0.1], 0.0, 0.0]), TOKENIZER.encode("[MASK]"), 12)
    assert_allclose(found.entropy_nats, [math.log(10)], rtol=1e-6)
    assert_allclose(np.sort(found.probs), [[0, 0, *10 * [0.1]]], rtol=1e-6)


@pytest.mark.parametrize("k", [0, -1])
def test_fewer_than_one_prediction_is_an_input_error(model: BERTForMaskedLM, k: int) -> None:
    with pytest.raises(InputError, match=f"k = {k}"):
        top_k(model, TOKENIZER.encode("[MASK]"), k)


@pytest.mark.parametrize("text", ["", "a b", "[mask]"])
def test_nothing_masked_is_a_text_error_that_says_what_to_write(model: BERTForMaskedLM, text: str) -> None:
    with pytest.raises(TextError, match=r"Nothing is masked.*\[MASK\]"):
        top_k(model, TOKENIZER.encode(text))


def test_a_text_of_just_the_models_length_fits_and_one_token_more_does_not(model: BERTForMaskedLM) -> None:
    fits = TOKENIZER.encode("[MASK] " * (LONGEST - 2))
    assert top_k(model, fits, 1).positions.tolist() == [1, 2, 3, 4, 5, 6]
    with pytest.raises(TextError, match=r"11 tokens.* at most 8\b.* 3 tokens"):
        top_k(model, TOKENIZER.encode("[MASK] " * 9))


def test_large_numbers_are_easy_to_read(bundled: Checkpoint) -> None:
    with pytest.raises(TextError, match=r"1,202 tokens.* at most 512\b.* 690 tokens"):
        top_k(bundled.model, bundled.tokenizer.encode("cat " * 1200))


def test_nan_weights_give_nan_and_no_crash() -> None:
    found = top_k(guesser(12 * [math.nan]), TOKENIZER.encode("a b").masked({0}), 2, exclude=NOT_LANGUAGE)
    assert np.isnan(found.probs).all()
    assert np.isnan(found.entropy_nats).all()
    assert np.isnan(found.original_probs).all()
    assert found.original_ranks.tolist() == [5], "NaN ranks last among the five that are allowed"


def expected_at_masks(outside: Outside, text: str, pair: str | None) -> tuple[list[int], torch.Tensor]:
    """Positions of the masks, and ln of probability there (M, V)."""
    ids, segments = outside.ids(text, pair)
    at = (ids == outside.tokenizer.mask_token_id).nonzero()[:, 0]
    return at.tolist(), outside.log_probs(ids, segments)[at]


@pytest.mark.parametrize(("text", "pair"), SENTENCES)
@pytest.mark.parametrize("exclude_special", [False, True])
def test_predictions_are_those_of_transformers(
    bundled: Checkpoint, outside: Outside, text: str, pair: str | None, exclude_special: bool
) -> None:
    positions, log_probs = expected_at_masks(outside, text, pair)
    exclude = set(outside.tokenizer.all_special_ids) if exclude_special else set()
    allowed = log_probs.clone()
    allowed[:, list(exclude)] = -math.inf
    best = allowed.topk(20)

    found = top_k(bundled.model, bundled.tokenizer.encode(text, pair), 20, exclude=exclude)
    assert found.positions.tolist() == positions
    assert_allclose(found.probs, best.values.exp(), atol=1e-5)
    # The same ids too, where two neighbours are not nearly as likely as each other.
    assert_allclose(log_probs.gather(-1, torch.tensor(found.ids)).exp(), best.values.exp(), atol=1e-5)
    assert_array_equal(found.ids[:, 0], best.indices[:, 0])
    assert not exclude & set(found.ids.ravel().tolist())
    assert_allclose(found.entropy_nats, torch.special.entr(log_probs.exp()).sum(-1), atol=1e-4)


def test_originals_are_those_of_transformers(bundled: Checkpoint, outside: Outside) -> None:
    text = "She cut the bread with a sharp knife."
    ids, segments = outside.ids(text)
    hidden_ids = ids.clone()
    at = [1, 4, 8]  # She, bread, knife
    hidden_ids[at] = outside.tokenizer.mask_token_id
    log_probs = outside.log_probs(hidden_ids, segments)[at]  # (3, V)
    own = log_probs.gather(-1, ids[at][:, None])

    found: MaskPredictions = top_k(bundled.model, bundled.tokenizer.encode(text).masked({0, 3, 7}))
    assert found.positions.tolist() == at
    assert_array_equal(found.original_ids, ids[at])
    assert_allclose(found.original_probs, own[:, 0].exp(), atol=1e-5)
    assert_array_equal(found.original_ranks, 1 + (log_probs > own).sum(-1))
