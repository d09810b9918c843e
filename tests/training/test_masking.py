"""Masking: invariants on any batch, rates within their binomial bounds, counts by Google's formula worked out here."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bertviz_lite.errors import ConfigError, InputError
from bertviz_lite.training.masking import (
    KEPT,
    MASKED,
    NOT_SELECTED,
    RANDOM,
    RULES,
    MaskedBatch,
    MaskingRule,
    mask,
)

PAD, CLS, SEP, MASK, VOCAB = 0, 1, 2, 3, 50
NAMES = tuple(RULES)


def batch(lengths: list[int], seed: int = 0) -> tuple[Tensor, Tensor]:
    """Sequences [CLS] … [SEP] of these lengths, padded; ordinary ids are 4 and above."""
    ids = torch.full((len(lengths), max(lengths)), PAD)
    generator = torch.Generator().manual_seed(seed)
    for row, n in enumerate(lengths):
        ids[row, :n] = torch.randint(4, VOCAB, (n,), generator=generator)
        ids[row, 0], ids[row, n - 1] = CLS, SEP
    return ids, ids >= 4


def words_of(ids: Tensor, seed: int = 0) -> Tensor:
    """Words of one to four pieces."""
    starts = torch.rand(ids.shape, generator=torch.Generator().manual_seed(seed)) < 0.5
    starts[:, 0] = True
    return starts.cumsum(1) - 1


def masked(ids: Tensor, candidates: Tensor, rule: MaskingRule, seed: int = 0, **more: Any) -> MaskedBatch:  # noqa: ANN401
    generator = torch.Generator().manual_seed(seed)
    return mask(ids, candidates, mask_id=MASK, vocab_size=VOCAB, rule=rule, generator=generator, **more)


lengths_of_a_batch = st.lists(st.integers(2, 30), min_size=1, max_size=6)


@given(lengths_of_a_batch, st.integers(0, 2**31), st.sampled_from(NAMES), st.floats(0.01, 1))
def test_only_candidates_are_touched_and_every_label_is_the_original(
    lengths: list[int], seed: int, name: str, rate: float
) -> None:
    ids, candidates = batch(lengths, seed)
    rule = replace(RULES[name], rate=rate)
    found = masked(ids, candidates, rule, seed, word_ids=words_of(ids, seed), lengths=torch.tensor(lengths))
    selected = found.kinds != NOT_SELECTED
    assert not (selected & ~candidates).any()
    assert torch.equal(found.labels, torch.where(selected, ids, torch.tensor(-100)))
    untouched = (found.kinds == NOT_SELECTED) | (found.kinds == KEPT)
    assert torch.equal(found.input_ids[untouched], ids[untouched])
    assert (found.input_ids[found.kinds == MASKED] == MASK).all()
    assert torch.equal(found.positions, selected.nonzero())
    if rule.at_least_one:
        assert torch.equal(selected.any(1), candidates.any(1))


@given(lengths_of_a_batch, st.integers(0, 2**31), st.floats(0.01, 1), st.integers(1, 25))
def test_a_fixed_number_follows_googles_formula(lengths: list[int], seed: int, rate: float, limit: int) -> None:
    ids, candidates = batch(lengths, seed)
    found = masked(ids, candidates, MaskingRule(rate, max_predictions=limit), seed, lengths=torch.tensor(lengths))
    n = [min(limit, max(1, round(rate * length)), length - 2) for length in lengths]
    assert (found.kinds != NOT_SELECTED).sum(1).tolist() == n


def test_google_at_the_length_of_its_own_files() -> None:
    ids, candidates = batch([128, 20, 10, 3])
    found = masked(ids, candidates, RULES["google"], lengths=torch.tensor([128, 20, 10, 3]))
    # 0.15 × 128 = 19.2; × 20 = 3; × 10 = 1.5, which Python rounds to 2; × 3 = 0.45, raised to 1
    assert (found.kinds != NOT_SELECTED).sum(1).tolist() == [19, 3, 2, 1]


@given(lengths_of_a_batch, st.integers(0, 2**31), st.booleans(), st.floats(0.05, 1))
def test_whole_words_stay_together(lengths: list[int], seed: int, independent: bool, rate: float) -> None:
    ids, candidates = batch(lengths, seed)
    words = words_of(ids, seed)
    rule = MaskingRule(rate, whole_words=True, independent=independent)
    selected = masked(ids, candidates, rule, seed, word_ids=words, lengths=torch.tensor(lengths)).kinds != NOT_SELECTED
    for row in range(len(lengths)):
        for word in range(int(words[row].max()) + 1):
            pieces = selected[row][(words[row] == word) & candidates[row]]
            assert pieces.all() or not pieces.any()


@given(lengths_of_a_batch, st.integers(0, 2**31), st.floats(0.05, 1))
def test_whole_words_fill_the_number_as_far_as_words_fit(lengths: list[int], seed: int, rate: float) -> None:
    ids, candidates = batch(lengths, seed)
    words = words_of(ids, seed)
    rule = MaskingRule(rate, whole_words=True, at_least_one=False)
    selected = masked(ids, candidates, rule, seed, word_ids=words, lengths=torch.tensor(lengths)).kinds != NOT_SELECTED
    for row, length in enumerate(lengths):
        left = round(rate * length) - int(selected[row].sum())
        assert left >= 0
        unused = words[row][candidates[row] & ~selected[row]]
        assert all(int((unused == word).sum()) > left for word in unused.unique())


@settings(deadline=None)
@given(st.integers(0, 2**31), st.sampled_from([0.15, 0.4]), st.sampled_from([(0.8, 0.1), (0.5, 0.5), (0.0, 0.3)]))
def test_rates_lie_within_binomial_bounds(seed: int, rate: float, shares: tuple[float, float]) -> None:
    ids, candidates = batch([64] * 400)
    rule = MaskingRule(rate, *shares, independent=True, at_least_one=False)
    kinds = masked(ids, candidates, rule, seed).kinds[candidates]

    def expect(count: int, n: int, p: float) -> None:
        assert abs(count - n * p) <= 6 * math.sqrt(n * p * (1 - p)) + 1e-9  # missed once in 500 million

    n = int((kinds != NOT_SELECTED).sum())
    expect(n, len(kinds), rate)
    for kind, share in ((MASKED, shares[0]), (RANDOM, shares[1]), (KEPT, 1 - shares[0] - shares[1])):
        expect(int((kinds == kind).sum()), n, share)


def test_every_place_and_every_random_id_is_equally_likely() -> None:
    ids, candidates = batch([12] * 20_000)
    found = masked(ids, candidates, MaskingRule(0.25, 0.0, 1.0))  # 3 of 10 candidates
    counts = (found.kinds != NOT_SELECTED).sum(0)[1:-1]
    assert counts.sum() == 60_000
    assert ((counts - 6000).abs() <= 6 * math.sqrt(20_000 * 0.3 * 0.7)).all()
    drawn = found.input_ids[found.kinds == RANDOM].bincount(minlength=VOCAB)
    assert len(drawn) == VOCAB
    assert ((drawn - 1200).abs() <= 6 * math.sqrt(60_000 / VOCAB)).all()


def test_the_generator_decides_everything() -> None:
    ids, candidates = batch([30] * 8)
    a, b, c = (masked(ids, candidates, RULES["google"], seed) for seed in (5, 5, 6))
    assert torch.equal(a.kinds, b.kinds)
    assert torch.equal(a.input_ids, b.input_ids)
    assert not torch.equal(a.kinds, c.kinds)


def test_nothing_to_select() -> None:
    ids = torch.tensor([[CLS, SEP]])
    assert (masked(ids, ids >= 4, RULES["google"]).kinds == NOT_SELECTED).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"rate": 0.0},
        {"rate": 1.2},
        {"masked_share": -0.1},
        {"random_share": float("nan")},
        {"masked_share": 0.8, "random_share": 0.3},
        {"max_predictions": 0},
        {"max_predictions": 20, "independent": True},
    ],
)
def test_rules_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        MaskingRule(**wrong)


def test_inputs_that_do_not_fit_are_named() -> None:
    ids, candidates = batch([5, 4])
    whole = RULES["google whole words"]
    with pytest.raises(InputError, match="candidates"):
        masked(ids, candidates[:1], RULES["google"])
    with pytest.raises(InputError, match="ids must be int64"):
        masked(ids.int(), candidates, RULES["google"])
    with pytest.raises(InputError, match="whole_words needs word_ids"):
        masked(ids, candidates, whole)
    with pytest.raises(InputError, match="word_ids has shape"):
        masked(ids, candidates, whole, word_ids=ids[:1])
    with pytest.raises(InputError, match="0 to 4"):
        masked(ids, candidates, whole, word_ids=torch.full_like(ids, 5))
    with pytest.raises(InputError, match="mask_id"):
        mask(ids, candidates, mask_id=50, vocab_size=50, rule=whole, generator=torch.Generator())
