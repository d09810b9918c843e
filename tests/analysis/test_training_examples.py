"""Training examples against transformers' own loss, and the expected draws against enumeration by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from guesser import ID, PROBS, guesser
from guesser import tokenizer as small_tokenizer
from outside import Outside

from bertviz_lite import Checkpoint
from bertviz_lite.analysis import draws, expected_n_selected, loss_by_kind, training_example
from bertviz_lite.errors import TextError
from bertviz_lite.training import KEPT, MASKED, RANDOM, RULES, MaskingRule

TEXT = "The unbelievable cat drank a bowl of milk, and then it slept for hours on the windowsill."


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_the_loss_is_that_of_transformers(bundled: Checkpoint, outside: Outside, rule: MaskingRule) -> None:
    encoding = bundled.tokenizer.encode(TEXT)
    for seed in range(3):
        drawn = training_example(bundled.model, encoding, rule, seed)
        assert drawn.scores is not None
        ids, labels = torch.tensor(drawn.input_ids)[None], torch.tensor(drawn.labels)[None]
        with torch.no_grad():
            theirs = float(outside.model(input_ids=ids, labels=labels).loss)
        assert drawn.loss_nats == pytest.approx(theirs, abs=1e-4)
        assert drawn.scores.mean_nats == pytest.approx(theirs, abs=1e-4)
        asked = np.flatnonzero(drawn.labels != -100)
        assert drawn.scores.positions.tolist() == asked.tolist() == np.flatnonzero(drawn.kinds).tolist()
        assert drawn.labels[asked].tolist() == [encoding.ids[i] for i in asked]


def test_the_first_of_many_draws_is_the_example(bundled: Checkpoint) -> None:
    encoding = bundled.tokenizer.encode(TEXT)
    drawn = training_example(bundled.model, encoding, RULES["google"], 5)
    counted = draws(bundled.model, encoding, RULES["google"], 5, 1)
    assert counted.counts[0].tolist() == np.bincount(drawn.kinds, minlength=4).tolist()


def test_losses_by_kind_are_those_of_the_examples_one_by_one(bundled: Checkpoint, outside: Outside) -> None:
    """A plain loop over transformers: the same draws, one pass each."""
    encoding = bundled.tokenizer.encode(TEXT)
    rule = MaskingRule(rate=0.4, masked_share=0.4, random_share=0.3)
    told: list[tuple[int, int]] = []
    found = loss_by_kind(bundled.model, encoding, rule, 1, 60, progress=lambda *now: told.append(now))
    losses: dict[int, list[float]] = {MASKED: [], RANDOM: [], KEPT: []}
    for inputs, labels, kinds in _examples(encoding.ids, encoding.special_mask, rule, 1, 60, bundled):
        log_probs = outside.log_probs(inputs, torch.zeros_like(inputs))
        for at in np.flatnonzero(kinds):
            losses[int(kinds[at])].append(-float(log_probs[at, labels[at]]))
    assert {kind: len(each) for kind, each in losses.items()} == dict(enumerate(found.counts.tolist()[1:], 1))
    for kind, each in losses.items():
        assert found.mean_nats[kind] == pytest.approx(np.mean(each), abs=1e-4)
    assert math.isnan(found.mean_nats[0])
    assert told[-1] == (60, 60)
    assert len(told) > 1


def _examples(
    ids: tuple[int, ...], special: tuple[bool, ...], rule: MaskingRule, seed: int, n: int, bundled: Checkpoint
) -> Iterator[tuple[torch.Tensor, torch.Tensor, np.ndarray]]:
    from bertviz_lite.training import mask  # noqa: PLC0415 - beside its only use

    rows = torch.tensor(ids).repeat(n, 1)
    batch = mask(
        rows,
        ~torch.tensor(special).repeat(n, 1),
        mask_id=bundled.tokenizer.mask_id,
        vocab_size=30522,
        rule=rule,
        generator=torch.Generator().manual_seed(seed),
    )
    yield from zip(batch.input_ids, batch.labels, batch.kinds.numpy(), strict=True)


def test_a_model_that_knows_its_table() -> None:
    """−ln of the table's probability, whatever was drawn."""
    encoding = small_tokenizer().encode("a b a b")
    drawn = training_example(guesser(), encoding, MaskingRule(rate=1.0, masked_share=0.5, random_share=0.5), 0)
    assert drawn.scores is not None
    expected = -(2 * math.log(PROBS["a"]) + 2 * math.log(PROBS["b"])) / 4
    assert drawn.loss_nats == pytest.approx(expected, abs=1e-6)
    assert set(drawn.labels.tolist()) == {-100, ID["a"], ID["b"]}


def test_a_draw_that_selects_nothing_costs_nothing() -> None:
    encoding = small_tokenizer().encode("a")
    rule = MaskingRule(rate=0.01, independent=True, at_least_one=False)
    drawn = training_example(guesser(), encoding, rule, 0)
    assert (drawn.scores, drawn.loss_nats) == (None, 0.0)
    assert drawn.input_ids.tolist() == list(encoding.ids)


@pytest.mark.parametrize("text", ["", "[MASK]"])
def test_a_text_without_tokens_is_told(text: str) -> None:
    encoding = small_tokenizer().encode(text)
    for ask in (training_example, draws, loss_by_kind):
        with pytest.raises(TextError, match="no token"):
            ask(guesser(), encoding, RULES["google"], 0)


def test_independent_draws_are_binomial(bundled: Checkpoint) -> None:
    encoding = bundled.tokenizer.encode("one two three four five")
    probs = expected_n_selected(bundled.model, encoding, RULES["transformers"])
    assert probs[:6].tolist() == pytest.approx([math.comb(5, n) * 0.15**n * 0.85 ** (5 - n) for n in range(6)])
    assert probs[6:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("independent", [True, False])
@pytest.mark.parametrize("at_least_one", [True, False])
@pytest.mark.parametrize("rate", [0.15, 0.35, 0.8])
def test_whole_words_against_enumeration(
    bundled: Checkpoint, independent: bool, at_least_one: bool, rate: float
) -> None:
    """Every subset, or every order, of five words of 1 to 4 pieces."""
    encoding = bundled.tokenizer.encode("the windowsill drank xylophones of")
    sizes = [len(encoding.word_positions(w)) for w in range(encoding.n_words)]
    assert sorted(sizes) == [1, 1, 1, 2, 4]
    rule = MaskingRule(rate=rate, whole_words=True, independent=independent, at_least_one=at_least_one)
    expected = np.zeros(len(encoding) + 1)
    if independent:
        for chosen in itertools.product([0, 1], repeat=5):
            n = sum(size for size, c in zip(sizes, chosen, strict=True) if c)
            expected[n] += math.prod(rate if c else 1 - rate for c in chosen)
        if at_least_one:
            none, expected[0] = expected[0], 0.0
            for size in sizes:
                expected[size] += none / 5
    else:
        room = max(round(rate * len(encoding)), int(at_least_one))
        for order in itertools.permutations(sizes):
            left = room
            for size in order:
                left -= size if size <= left else 0
            expected[room - left] += 1 / math.factorial(5)
    found = expected_n_selected(bundled.model, encoding, rule)
    assert found.tolist() == pytest.approx(expected.tolist())

    seen = np.bincount(draws(bundled.model, encoding, rule, 0, 4000).n_selected, minlength=len(expected)) / 4000
    margin = 5 * np.sqrt(expected * (1 - expected) / 4000) + 1e-9  # five standard errors
    assert (abs(seen - expected) <= margin).all()


def test_random_tokens_are_pieces_where_the_vocabulary_is_padded() -> None:
    """The table's last two rows belong to no piece; among all twelve, 800 draws would hit them."""
    encoding = small_tokenizer().encode("a b a b")
    rule = MaskingRule(rate=1.0, masked_share=0.0, random_share=1.0)
    seen = [training_example(guesser(), encoding, rule, seed, n_pieces=10).input_ids for seed in range(200)]
    assert set(np.concatenate([ids[1:-1] for ids in seen]).tolist()) == set(range(10))
