"""Expected values: worked out by hand on small maps, and what must hold of any map."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from guesser import tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bertviz_lite.analysis import PAIRINGS, MapChoice, Pairing, pair_mask, shown_map, token_units
from bertviz_lite.errors import InputError, TextError

# [CLS] a . [SEP]
MAP = np.array(
    [[0.5, 0.125, 0.125, 0.25], [0.25, 0.25, 0.5, 0.0], [0.5, 0.0, 0.0, 0.5], [0.0, 0.0, 1.0, 0.0]], np.float32
)
TEXTS = st.lists(st.sampled_from(["a", "as", "b", ".", "[MASK]"]), max_size=5).map(" ".join)
CHOICES = st.builds(
    MapChoice,
    unit=st.sampled_from(["tokens", "words"]),
    without=st.sets(st.sampled_from(["cls", "sep", "punctuation"])).map(tuple),
    pairing=st.sampled_from([None, *PAIRINGS]),
    renormalised=st.booleans(),
)


def test_unasked_a_map_is_shown_as_it_is() -> None:
    shown = shown_map(MAP, tokenizer().encode("a."))
    assert (shown.weights == MAP).all()
    assert shown.rows.labels == shown.columns.labels == ("[CLS]", "a", ".", "[SEP]")
    assert not shown.gone_prob.any()
    assert not shown.bare.any()


def test_what_is_left_out_is_told_and_nothing_is_rescaled() -> None:
    shown = shown_map(MAP, tokenizer().encode("a."), MapChoice(without=("cls", "sep")))
    assert shown.weights.tolist() == [[0.25, 0.5], [0.0, 0.0]]
    assert shown.rows.labels == ("a", ".")
    assert shown.gone_prob.tolist() == [0.25, 1.0]
    assert shown.bare.tolist() == [False, True]


def test_renormalised_rows_sum_to_1_and_a_bare_row_stays_empty() -> None:
    shown = shown_map(MAP[None], tokenizer().encode("a."), MapChoice(without=("cls", "sep"), renormalised=True))
    assert_allclose(shown.weights, [[[1 / 3, 2 / 3], [0, 0]]], rtol=1e-6)
    assert shown.gone_prob.tolist() == [[0.25, 1.0]]
    assert shown.bare.tolist() == [[False, True]]


def test_nothing_may_be_left_at_all() -> None:
    shown = shown_map(MAP, tokenizer().encode(". ."), MapChoice(without=("cls", "sep", "punctuation")))
    assert shown.weights.shape == (0, 0)
    assert (len(shown.rows), len(shown.columns), shown.bare.shape) == (0, 0, (0,))


def test_one_sentence_looks_at_the_other() -> None:
    encoding = tokenizer().encode("a", "b .")  # [CLS] a [SEP] b . [SEP]
    weights = np.arange(36, dtype=np.float32).reshape(6, 6) / 36
    expected = {"a_to_a": weights[:3, :3], "a_to_b": weights[:3, 3:], "b_to_a": weights[3:, :3]}
    expected["b_to_b"] = weights[3:, 3:]
    for pairing, part in expected.items():
        shown = shown_map(weights, encoding, MapChoice(pairing=pairing))
        assert (shown.weights == part).all()
        assert shown.rows.labels == (("[CLS]", "a", "[SEP]") if pairing[0] == "a" else ("b", ".", "[SEP]"))
        assert shown.columns.labels == (("[CLS]", "a", "[SEP]") if pairing[-1] == "a" else ("b", ".", "[SEP]"))
        cells = np.zeros((6, 6), bool)
        cells[:3, 3:] = pairing == "a_to_b"
        cells[3:, :3] = pairing == "b_to_a"
        cells[:3, :3] = pairing == "a_to_a"
        cells[3:, 3:] = pairing == "b_to_b"
        assert (pair_mask(token_units(encoding), pairing) == cells).all()
    marks_out = shown_map(weights, encoding, MapChoice(pairing="a_to_b", without=("sep", "punctuation")))
    assert marks_out.weights.tolist() == weights[:2, 3:4].tolist()


def test_the_four_pairings_cover_every_cell_once() -> None:
    units = token_units(tokenizer().encode("a", "b ."))
    assert (sum(pair_mask(units, pairing).astype(int) for pairing in PAIRINGS) == 1).all()


def test_one_sentence_alone_has_no_pairs() -> None:
    for pairing in PAIRINGS:
        with pytest.raises(TextError, match="only one sentence"):
            shown_map(MAP, tokenizer().encode("a."), MapChoice(pairing=pairing))


def test_an_unknown_pairing_is_named() -> None:
    unknown: Pairing = "b_to_c"  # type: ignore[assignment]
    with pytest.raises(InputError, match=r"'b_to_c'.* a_to_a, a_to_b"):
        shown_map(MAP, tokenizer().encode("a."), MapChoice(pairing=unknown))


@given(TEXTS, TEXTS, CHOICES, st.integers(0, 99))
@settings(deadline=None)
def test_rows_sum_to_1_after_every_choice(text: str, pair: str, choice: MapChoice, seed: int) -> None:
    encoding = tokenizer().encode(text, pair)
    if not any(encoding.segment_ids):
        return
    n = len(encoding)
    weights = np.random.default_rng(seed).dirichlet(np.full(n, 0.1), (2, n)).astype(np.float32)
    shown = shown_map(weights, encoding, choice)
    assert np.isfinite(shown.weights).all()
    assert shown.weights.shape == (2, len(shown.rows), len(shown.columns))
    sums = shown.weights.sum(-1)
    assert_allclose(sums, np.where(shown.bare, 0, 1) if choice.renormalised else 1 - shown.gone_prob, atol=2e-6)
    shown_at = [positions[0] for positions in shown.columns.positions]
    assert shown_at == sorted(shown_at)


def test_each_kind_of_token_goes_alone_or_with_others() -> None:
    encoding = tokenizer().encode("a.")
    kinds = {"cls": "[CLS]", "sep": "[SEP]", "punctuation": "."}
    for n in range(4):
        for gone in itertools.combinations(kinds, n):
            left = shown_map(MAP, encoding, MapChoice(without=gone)).rows.labels
            assert set(left) == {"[CLS]", "a", ".", "[SEP]"} - {kinds[kind] for kind in gone}
