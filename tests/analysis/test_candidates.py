"""Expected values: masks written out by hand for transformers, enumeration over a vocabulary of 12, arithmetic."""

from __future__ import annotations

import itertools
import math

import dice
import numpy as np
import pytest
import torch
from dice import TOKENIZER, log_probs
from guesser import ID, NOT_LANGUAGE, PROBS, guesser
from numpy.testing import assert_allclose
from outside import Outside

from bertviz_lite import Checkpoint
from bertviz_lite.analysis import candidates, slots, spelling
from bertviz_lite.errors import CheckpointError, InputError, TextError

MASK, CLS, SEP = ID["[MASK]"], ID["[CLS]"], ID["[SEP]"]

# Word, and for each of its pieces: the text with the later pieces masked, and which mask is asked (from 0).
BY_HAND = {
    "milk": [("the cat drank a bowl of [MASK].", 0, "milk")],
    "ice cream": [
        ("the cat drank a bowl of [MASK] [MASK].", 0, "ice"),
        ("the cat drank a bowl of ice [MASK].", 0, "cream"),
    ],
    "souvenir": [
        ("the cat drank a bowl of [MASK] [MASK] [MASK].", 0, "so"),
        ("the cat drank a bowl of so [MASK] [MASK].", 0, "##uven"),
        (None, 0, "##ir"),  # so ##uven [MASK]: no text spells it so; ids below
    ],
}


def test_whole_words_are_those_of_transformers_with_masks_by_hand(bundled: Checkpoint, outside: Outside) -> None:
    encoding = bundled.tokenizer.encode("The cat drank a bowl of [MASK].")
    found = candidates(bundled.model, bundled.tokenizer, encoding, list(BY_HAND))
    tokenizer = outside.tokenizer
    mask = tokenizer.mask_token_id
    for i, steps in enumerate(BY_HAND.values()):
        expected = []
        for text, asked, piece in steps:
            if text is None:
                left = tokenizer("the cat drank a bowl of")["input_ids"][:-1]
                row = [
                    *left,
                    *tokenizer.convert_tokens_to_ids(["so", "##uven"]),
                    mask,
                    *tokenizer(".")["input_ids"][1:],
                ]
            else:
                row = tokenizer(text)["input_ids"]
            ids = torch.tensor(row)
            at = int((ids == mask).nonzero()[asked, 0])
            all_log_probs = outside.log_probs(ids, torch.zeros_like(ids))[at]
            own = all_log_probs[tokenizer.convert_tokens_to_ids(piece)]
            assert found.ranks[i, len(expected)] == 1 + int((all_log_probs > own).sum())
            expected.append(float(own))
        assert found.n_pieces[i] == len(steps)
        assert_allclose(found.log_probs[i, : len(steps)], expected, atol=1e-4)
        assert np.isnan(found.log_probs[i, len(steps) :]).all()
        assert found.joint_log_probs[i] == pytest.approx(sum(expected), abs=1e-4)
    assert found.order.tolist() == [0, 1, 2]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_every_word_of_n_pieces_that_can_be_typed_is_scored_as_brute_force_scores_it(n: int) -> None:
    pieces = ["a", "b", "c", ".", "[UNK]", "[PAD]", "[CLS]", "[SEP]"]  # what can be typed, 8 of the 12 rows
    words = [" ".join(word) for word in itertools.product(pieces, repeat=n)]
    model = dice.ours()
    encoding = TOKENIZER.encode("b [MASK] c")
    found = candidates(model, TOKENIZER, encoding, words)
    assert found.unknown.sum() == sum("[UNK]" in word for word in words)
    for i, word in enumerate(words):
        if found.unknown[i]:
            assert math.isnan(found.joint_log_probs[i])
            continue
        joint, ids = 0.0, [ID[piece] for piece in word.split()]
        for step, piece in enumerate(ids):
            row = [CLS, ID["b"], *ids[:step], *[MASK] * (n - step), ID["c"], SEP]
            joint += float(_cached(tuple(row), 2 + step)[piece])
        assert found.joint_log_probs[i] == pytest.approx(joint, abs=1e-4)


_seen: dict[tuple[tuple[int, ...], int], torch.Tensor] = {}


def _cached(row: tuple[int, ...], at: int) -> torch.Tensor:
    if (row, at) not in _seen:
        _seen[row, at] = log_probs(list(row), at)
    return _seen[row, at]


def test_a_hidden_word_is_replaced_whole_and_other_masks_stay() -> None:
    hidden = TOKENIZER.encode("as b [MASK]").masked({0, 1})
    assert slots(hidden) == ((1, 2), (3,), (4,))
    found = candidates(dice.ours(), TOKENIZER, hidden, ["c"], slot=0)
    expected = log_probs([CLS, MASK, MASK, MASK, SEP], 1)[ID["c"]]
    assert found.joint_log_probs[0] == pytest.approx(float(expected), abs=1e-4)
    found = candidates(dice.ours(), TOKENIZER, hidden, ["a b"], slot=2)
    row = [CLS, MASK, MASK, MASK, MASK, MASK, SEP]
    expected = log_probs(row, 4)[ID["a"]] + log_probs([*row[:4], ID["a"], MASK, SEP], 5)[ID["b"]]
    assert found.joint_log_probs[0] == pytest.approx(float(expected), abs=1e-4)


def test_ranks_and_order_by_hand() -> None:
    found = candidates(guesser(), TOKENIZER, TOKENIZER.encode("[MASK]"), ["c", "as", "b", "☃"], exclude=NOT_LANGUAGE)
    assert found.words == ("c", "as", "b", "☃")
    assert found.ids.tolist() == [[ID["c"], -1], [ID["a"], ID["##s"]], [ID["b"], -1], [ID["[UNK]"], -1]]
    assert found.ranks.tolist() == [[3, -1], [2, 5], [1, -1], [-1, -1]]
    assert found.unknown.tolist() == [False, False, False, True]
    assert_allclose(
        found.joint_log_probs, np.log([PROBS["c"], PROBS["a"] * PROBS["##s"], PROBS["b"], np.nan]), rtol=1e-5
    )
    assert found.order.tolist() == [2, 0, 1, 3]
    at_start = {ID["b"], ID["##s"]}
    found = candidates(
        guesser(), TOKENIZER, TOKENIZER.encode("[MASK]"), ["c", "cs"], exclude=NOT_LANGUAGE, exclude_at_start=at_start
    )
    assert found.ranks.tolist() == [[2, -1], [2, 5]], "b and ##s count again inside a word"


def test_neither_the_order_of_the_words_nor_the_batches_change_a_score(
    bundled: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoding = bundled.tokenizer.encode("He bought a [MASK] and a [MASK].")
    words = ["book", "ice cream", "souvenir", "ice bucket", "hat", "new red car"]
    whole = candidates(bundled.model, bundled.tokenizer, encoding, words, slot=1)
    monkeypatch.setattr("bertviz_lite.analysis._rows.TOKENS_A_BATCH", 1)
    turned = candidates(bundled.model, bundled.tokenizer, encoding, words[::-1], slot=1)
    assert_allclose(turned.joint_log_probs[::-1], whole.joint_log_probs, atol=1e-4)
    for i, word in enumerate(words):
        alone = candidates(bundled.model, bundled.tokenizer, encoding, [word], slot=1)
        assert alone.joint_log_probs[0] == pytest.approx(whole.joint_log_probs[i], abs=1e-4)


def test_a_thousand_words_of_one_piece_cost_one_pass(bundled: Checkpoint, outside: Outside) -> None:
    words = [p for p in bundled.tokenizer.pieces if p is not None and p.isascii() and p.isalpha()][2000:3000]
    told: list[tuple[int, int]] = []
    encoding = bundled.tokenizer.encode("The [MASK] is here.")
    found = candidates(
        bundled.model, bundled.tokenizer, encoding, words, progress=lambda done, n: told.append((done, n))
    )
    assert told == [(1, 1)]
    ids = torch.tensor(encoding.ids)
    expected = outside.log_probs(ids, torch.zeros_like(ids))[2]
    assert_allclose(found.joint_log_probs, expected[found.ids[:, 0]], atol=1e-4)
    at_rank = expected.sort(descending=True).values[found.ranks[:, 0] - 1]
    assert_allclose(at_rank, found.joint_log_probs, atol=1e-4)


def test_what_cannot_be_scored_is_said() -> None:
    encoding = TOKENIZER.encode("a [MASK]")
    for word in ("", "  "):
        with pytest.raises(TextError, match="is no word"):
            candidates(guesser(), TOKENIZER, encoding, ["a", word])
    with pytest.raises(TextError, match="holds the mask"):
        candidates(guesser(), TOKENIZER, encoding, ["a [MASK]"])
    with pytest.raises(InputError, match="no masked place 2: the text has 1"):
        candidates(guesser(), TOKENIZER, encoding, ["a"], slot=1)
    with pytest.raises(TextError, match="Nothing is masked"):
        candidates(guesser(), TOKENIZER, TOKENIZER.encode("a"), ["a"])
    with pytest.raises(TextError, match=r"'a b c a b c' in its place the text is 9 tokens long.*at most 8"):
        candidates(guesser(), TOKENIZER, encoding, ["b", "a b c a b c"])
    with pytest.raises(CheckpointError, match="NaN"):
        candidates(guesser(12 * [math.nan]), TOKENIZER, encoding, ["a"])


def test_no_words_at_all_are_no_error() -> None:
    found = candidates(guesser(), TOKENIZER, TOKENIZER.encode("[MASK]"), [])
    assert found.joint_log_probs.shape == found.order.shape == (0,)


def test_a_spelling_has_no_ends() -> None:
    assert spelling(TOKENIZER, "as b") == (ID["a"], ID["##s"], ID["b"])
