"""Expected values: the guesser's table and arithmetic by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from guesser import ID, LONGEST, NOT_LANGUAGE, guesser, tokenizer
from numpy.testing import assert_allclose

from bertviz_lite import BERTForMaskedLM, Checkpoint
from bertviz_lite.analysis import METRICS, Totals, corpus, pseudo_loss, score, score_lines, totals, work
from bertviz_lite.errors import InputError
from bertviz_lite.texts import Line

TOKENIZER = tokenizer()
A, B, C, S, UNK = (-math.log(p) for p in (0.10, 0.20, 0.05, 0.02, 0.04))


def lines(*texts: str) -> list[Line]:
    return [Line(number, text) for number, text in enumerate(texts, start=1)]


@pytest.fixture(scope="module")
def model() -> BERTForMaskedLM:
    return guesser()


def test_sums_by_word_and_character(model: BERTForMaskedLM) -> None:
    encoding = TOKENIZER.encode(" as b [MASK]", "c")  # words as, b, [MASK], c
    scores = pseudo_loss(model, encoding)
    sums = totals(encoding, scores.positions.tolist(), scores.sum_nats)
    total = A + S + B + C
    assert (sums.n_tokens, sums.n_words, sums.n_characters) == (4, 3, len("as b ") + len("c"))
    assert sums.sum_nats == pytest.approx(total)
    assert sums.mean_nats == pytest.approx(total / 4)
    assert sums.nats_per_word == pytest.approx(total / 3)
    assert sums.perplexity == pytest.approx(math.exp(total / 4))
    assert sums.word_perplexity == pytest.approx(math.exp(4 / 3 * math.log(math.exp(total / 4))))
    assert sums.bits_per_character == pytest.approx(total / math.log(2) / 6)


def test_a_corpus_is_not_the_mean_of_its_sentences() -> None:
    both = Totals(10.0, 2, 2, 9) + Totals(1.0, 8, 6, 30)
    assert both == Totals(11.0, 10, 8, 39)
    assert both.perplexity == pytest.approx(math.exp(1.1))
    assert sum([both, both], Totals()).perplexity == pytest.approx(math.exp(1.1))


def test_nothing_costs_nan_and_a_huge_loss_infinity() -> None:
    nothing = Totals()
    assert all(map(math.isnan, (nothing.mean_nats, nothing.perplexity, nothing.bits_per_character)))
    assert Totals(1e6, 1, 1, 1).perplexity == math.inf


def test_lines_come_back_in_order_each_with_its_scores_or_its_reason(model: BERTForMaskedLM) -> None:
    given = lines("a b", "", "a " * LONGEST, "[MASK]", "☃", "c")
    found = list(score_lines(model, TOKENIZER, given, exclude=NOT_LANGUAGE))
    assert [scored.line for scored in found] == given
    assert [scored.pieces for scored in found] == [("a", "b"), (), (), (), ("[UNK]",), ("c",)]
    assert found[0].totals == Totals(pytest.approx(A + B), 2, 2, 3)
    assert found[4].totals.sum_nats == pytest.approx(UNK)
    assert found[5].scores.ids.tolist() == [ID["c"]]
    assert found[5].scores.ranks.tolist() == [3]  # b, a, c
    assert found[1].error == "The line is empty."
    assert "10 tokens long" in found[2].error
    assert "no token to score" in found[3].error
    assert all((scored.error is None) == (scored.totals is not None) for scored in found)


def test_broken_weights_are_a_sentence_for_every_line() -> None:
    found = list(score_lines(guesser(12 * [math.nan]), TOKENIZER, lines("a", "b")))
    assert [scored.totals for scored in found] == [None, None]
    assert all("NaN" in scored.error for scored in found)


def test_an_impossible_token_is_told_since_no_sum_holds_it() -> None:
    sure = guesser([0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.0])
    possible, impossible = score_lines(sure, TOKENIZER, lines("a b", "a c"))
    assert possible.totals.sum_nats == pytest.approx(2 * math.log(2))
    assert "no probability at all" in impossible.error


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("together", [1, 2, 100])
def test_a_file_gives_the_scores_of_its_sentences(
    bundled: Checkpoint, monkeypatch: pytest.MonkeyPatch, metric: str, together: int
) -> None:
    texts = ["It rained all day, so we stayed.", "No.", "", "The unbelievable souvenir vanished.", "Is it cold?"]
    monkeypatch.setattr(corpus, "_LINES_TOGETHER", together)
    found = list(score_lines(bundled.model, bundled.tokenizer, lines(*texts), metric))
    assert found[2].totals is None
    for text, scored in zip(texts, found, strict=True):
        if text:
            alone = score(bundled.model, bundled.tokenizer.encode(text), metric)
            assert_allclose(scored.scores.loss_nats, alone.loss_nats, atol=1e-4, rtol=0)


def test_stopping_costs_no_more_than_one_group(model: BERTForMaskedLM, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []

    def endless() -> Iterator[Line]:
        number = 0
        while True:
            number += 1
            taken.append(number)
            yield Line(number, "a b")

    monkeypatch.setattr(corpus, "_LINES_TOGETHER", 3)
    scorer = score_lines(model, TOKENIZER, endless())
    assert [next(scorer).line.number for _ in range(4)] == [1, 2, 3, 4]
    assert taken == [1, 2, 3, 4, 5, 6]


def test_long_lines_make_small_groups(model: BERTForMaskedLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "_TOKENS_TOGETHER", 32)
    told: list[tuple[int, int]] = []
    texts = lines("a b", "a b", "c")  # 4 tokens: 16 of the 32 each
    list(score_lines(model, TOKENIZER, texts, progress=lambda done, n: told.append((done, n))))
    assert told == [(4, 4), (1, 1)]


def test_an_unknown_metric(model: BERTForMaskedLM) -> None:
    with pytest.raises(InputError, match="no metric"):
        list(score_lines(model, TOKENIZER, lines("a"), "best"))


def test_work_grows_with_passes_times_length() -> None:
    assert work("a" * 100, "pll", 512) / work("a" * 10, "pll", 512) == pytest.approx(100, rel=0.02)
    assert work("a" * 100, "unmasked", 512) / work("a" * 10, "unmasked", 512) == pytest.approx(10, rel=0.1)
    assert work("a" * 10_000, "pll", 512) < work("a" * 10, "pll", 512), "too long a text is not scored"
