"""Expected values: transformers on the bundled checkpoint, and log-odds worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from guesser import ID, NOT_LANGUAGE, PROBS, guesser, tokenizer
from numpy.testing import assert_allclose
from outside import Outside

from bertviz_lite import Checkpoint
from bertviz_lite.analysis import contrast, log_odds
from bertviz_lite.bundled import CONTRASTS
from bertviz_lite.errors import CheckpointError, InputError, TextError

TOKENIZER = tokenizer()
NURSE, DOCTOR = "The nurse said that [MASK] was tired.", "The doctor often said that [MASK] was tired."


def test_log_odds_by_hand() -> None:
    probs = np.array([0.5, 0.9, 0.1, 1e-30])
    assert_allclose(log_odds(np.log(probs)), [0, math.log(9), -math.log(9), math.log(1e-30)], atol=1e-6)
    assert np.isfinite(log_odds(np.zeros(1))).all(), "certainty has finite odds"
    assert log_odds(np.array([-np.inf]))[0] == -np.inf


def test_words_are_compared_as_transformers_has_them(bundled: Checkpoint, outside: Outside) -> None:
    encodings = [bundled.tokenizer.encode(text) for text in (NURSE, DOCTOR)]
    log_probs = []
    for text in (NURSE, DOCTOR):
        ids, segments = outside.ids(text)
        at = int((ids == outside.tokenizer.mask_token_id).nonzero()[0, 0])
        log_probs.append(outside.log_probs(ids, segments)[at])
    rare = bundled.tokenizer.id("souvenirs") or bundled.tokenizer.id("zinc")
    found = contrast(bundled.model, *encodings, 20, also={rare})
    union = {*log_probs[0].topk(20).indices.tolist(), *log_probs[1].topk(20).indices.tolist(), rare}
    assert set(found.ids.tolist()) == union
    for text in range(2):
        own = log_probs[text][found.ids]
        assert_allclose(found.log_probs[text], own, atol=1e-4)
        p = own.double().exp()
        assert_allclose(found.log_odds[text], (p / (1 - p)).log(), atol=1e-4)
        assert found.ranks[text].tolist() == [1 + int((log_probs[text] > value).sum()) for value in own]
    assert_allclose(found.log_odds_ratios, found.log_odds[0] - found.log_odds[1], atol=1e-6)
    assert (np.diff(found.log_odds_ratios) <= 0).all(), "what favours the first text most stands first"
    turned = contrast(bundled.model, *encodings[::-1], 20, also={rare})
    assert_allclose(turned.log_odds_ratios, -found.log_odds_ratios[::-1], atol=1e-5)


def test_where_context_does_not_matter_nothing_differs() -> None:
    found = contrast(guesser(), TOKENIZER.encode("[MASK] a"), TOKENIZER.encode("b [MASK]"), 2, exclude=NOT_LANGUAGE)
    assert sorted(found.ids.tolist()) == [ID["a"], ID["b"]]
    assert_allclose(found.log_odds_ratios, 0, atol=1e-5)
    assert sorted(found.ranks[0].tolist()) == [1, 2]
    assert_allclose(np.sort(found.log_probs[1]), np.log([PROBS["a"], PROBS["b"]]), rtol=1e-5)


def test_excluded_ids_are_not_compared_even_if_asked_for() -> None:
    encoding = TOKENIZER.encode("[MASK]")
    found = contrast(guesser(), encoding, encoding, 1, also={ID["[UNK]"], ID["c"]}, exclude=NOT_LANGUAGE)
    assert set(found.ids.tolist()) == {ID["b"], ID["c"]}


def test_what_cannot_be_compared_is_said() -> None:
    encoding = TOKENIZER.encode("[MASK]")
    with pytest.raises(InputError, match="k = 0"):
        contrast(guesser(), encoding, encoding, 0)
    with pytest.raises(TextError, match="Nothing is masked"):
        contrast(guesser(), encoding, TOKENIZER.encode("a"))
    with pytest.raises(TextError, match="at most 8"):
        contrast(guesser(), encoding, TOKENIZER.encode("[MASK] " * 9))
    with pytest.raises(CheckpointError, match="NaN"):
        contrast(guesser(12 * [math.nan]), encoding, encoding)


@pytest.mark.parametrize("preset", CONTRASTS, ids=lambda preset: preset.label)
def test_every_preset_has_a_mask_in_each_sentence_and_words_of_one_piece(bundled: Checkpoint, preset: object) -> None:
    for text in (preset.first, preset.second):
        assert len(bundled.tokenizer.encode(text).mask_positions) == 1
    words = [word.strip() for word in preset.words.split(",")]
    assert all(bundled.tokenizer.id(word) is not None for word in words)


@pytest.mark.parametrize("kind", ["bias", "agreement", "facts"])
def test_there_are_presets_of_every_kind(kind: str) -> None:
    assert [preset for preset in CONTRASTS if preset.kind == kind]


@pytest.mark.parametrize(("text", "word"), [(NURSE, "she")])
def test_asking_for_a_word_brings_it_in(bundled: Checkpoint, text: str, word: str) -> None:
    wanted = bundled.tokenizer.id(word)
    encoding = bundled.tokenizer.encode(text)
    assert wanted in contrast(bundled.model, encoding, encoding, 1, also={wanted}).ids
    assert torch.is_inference_mode_enabled() is False
