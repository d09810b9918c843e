"""Expected values: words and marks told by eye, sums and means by hand, and a plain loop over the pieces."""

from __future__ import annotations

import numpy as np
import pytest
from guesser import tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bertviz_lite import Checkpoint
from bertviz_lite.analysis import merge, token_units, word_units
from bertviz_lite.errors import InputError

PIECES = st.lists(st.sampled_from(["a", "as", "b", "bss", ".", "[MASK]"]), max_size=6).map(" ".join)


def test_tokens_one_by_one() -> None:
    units = token_units(tokenizer().encode("as b.", "bs"))
    assert units.labels == ("[CLS]", "a", "##s", "b", ".", "[SEP]", "b", "##s", "[SEP]")
    assert units.positions == tuple((i,) for i in range(9))
    assert units.segments.tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 1]
    assert np.flatnonzero(units.cls).tolist() == [0]
    assert np.flatnonzero(units.sep).tolist() == [5, 8]
    assert np.flatnonzero(units.punctuation).tolist() == [4]
    assert units.of_kind(("sep", "punctuation")).nonzero()[0].tolist() == [4, 5, 8]
    assert not units.of_kind(()).any()
    # ##s and b come twice; [SEP] too, but it is no word.
    assert np.argwhere(units.twins()).tolist() == [[2, 7], [3, 6], [6, 3], [7, 2]]


def test_words_with_their_pieces_together() -> None:
    units = word_units(tokenizer().encode("as bss.", "as"))
    assert units.labels == ("[CLS]", "as", "bss", ".", "[SEP]", "as", "[SEP]")
    assert units.positions == ((0,), (1, 2), (3, 4, 5), (6,), (7,), (8, 9), (10,))
    assert units.segments.tolist() == [0, 0, 0, 0, 0, 1, 1]
    assert np.flatnonzero(units.punctuation).tolist() == [3]
    assert np.argwhere(units.twins()).tolist() == [[1, 5], [5, 1]]
    kept = units.where(~units.of_kind(("cls", "sep", "punctuation")))
    assert kept.labels == ("as", "bss", "as")
    assert kept.ids == units.ids[1:3] + units.ids[5:6]


def test_a_word_is_shown_as_typed_and_a_hidden_one_by_its_masks(bundled: Checkpoint) -> None:
    typed = bundled.tokenizer.encode("A Souvenir, [MASK]!")
    assert word_units(typed).labels == ("[CLS]", "A", "Souvenir", ",", "[MASK]", "!", "[SEP]")
    n_pieces = len(typed.word_positions(1))
    assert word_units(typed.masked([1])).labels[2] == " ".join(["[MASK]"] * n_pieces)


@pytest.mark.parametrize(
    ("text", "marks"),
    [("Wait – $5? [MASK] no.", {"–", "$", "?", "."}), ("[SEP] a", set()), ("“It’s”…", {"“", "’", "”", "…"})],
)
def test_punctuation_is_marks_and_signs(bundled: Checkpoint, text: str, marks: set[str]) -> None:
    units = token_units(bundled.tokenizer.encode(text))
    known = {label for label in units.labels if label != "[UNK]"}
    assert {units.labels[i] for i in np.flatnonzero(units.punctuation)} == marks & known


def test_special_tokens_that_were_typed_are_words() -> None:
    units = token_units(tokenizer().encode("[SEP] [CLS]"))
    assert units.sep.tolist() == [False, False, False, True]
    assert units.cls.tolist() == [True, False, False, False]


def test_columns_are_summed_and_rows_averaged() -> None:
    units = word_units(tokenizer().encode("as"))  # [CLS] (a ##s) [SEP]
    weights = np.array(
        [[0.5, 0.25, 0.125, 0.125], [0.0, 0.5, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]], np.float32
    )
    expected = [[0.5, 0.375, 0.125], [(0.0 + 1.0) / 2, (0.75 + 0.0) / 2, (0.25 + 0.0) / 2], [0.25, 0.5, 0.25]]
    assert merge(weights, units).tolist() == expected
    assert merge(weights[None, None], units).shape == (1, 1, 3, 3)
    assert (merge(weights, token_units(tokenizer().encode("as"))) == weights).all()


@given(PIECES, st.none() | PIECES, st.integers(0, 99))
@settings(deadline=None)
def test_merged_rows_still_sum_to_1_and_are_those_of_a_loop(text: str, pair: str | None, seed: int) -> None:
    encoding = tokenizer().encode(text, pair)
    units, n = word_units(encoding), len(encoding)
    weights = np.random.default_rng(seed).dirichlet(np.full(n, 0.3), (2, n)).astype(np.float32)
    merged = merge(weights, units)
    assert_allclose(merged.sum(-1), 1, atol=1e-6)
    assert [i for positions in units.positions for i in positions] == list(range(n))
    for row, rows in enumerate(units.positions):
        for column, columns in enumerate(units.positions):
            by_hand = np.mean([sum(weights[1, i, j] for j in columns) for i in rows])
            assert_allclose(merged[1, row, column], by_hand, atol=1e-6)


@pytest.mark.parametrize("shape", [(3,), (3, 3), (4, 3), (2, 5, 5)])
def test_a_map_of_another_text_is_told(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="is not one of 4 tokens by 4"):
        merge(np.ones(shape, np.float32), word_units(tokenizer().encode("as")))
