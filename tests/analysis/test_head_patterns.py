"""Expected values: heads drawn by hand that do one thing, and shares counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from guesser import tokenizer
from numpy.testing import assert_allclose

from bertviz_lite import Checkpoint
from bertviz_lite.analysis import PATTERNS, head_statistics, named_heads, survey, token_units

ENCODING = tokenizer().encode("a b a c.")  # [CLS] a b a c . [SEP]
N = len(ENCODING)
ONES = np.eye(N, dtype=np.float32)
HEADS = {
    "previous token": ONES[[0, *range(N - 1)]],
    "next token": ONES[[*range(1, N), N - 1]],
    "same token elsewhere": ONES[[0, 3, 2, 1, 4, 5, 6]],
    "separator": ONES[[N - 1] * N],
    "[CLS]": ONES[[0] * N],
    "broad": np.full((N, N), 1 / N, np.float32),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_head_that_does_one_thing_bears_its_name(name: str) -> None:
    weights = np.stack([0.5 * ONES + 0.5 * np.full((N, N), 1 / N), ONES])[:, None]  # neither does any
    weights = np.concatenate([weights, np.stack([ONES, HEADS[name]])[:, None]], 1).astype(np.float32)
    (found,) = named_heads(head_statistics(weights, token_units(ENCODING)))
    assert (found.layer, found.head, found.pattern.name) == (1, 1, name)
    assert_allclose(found.score, 1, atol=1e-6)


def test_the_score_must_pass_the_threshold() -> None:
    for share, named in ((0.5, False), (0.501, True)):
        weights = np.float32(share) * HEADS["separator"] + np.float32(1 - share) * ONES
        heads = named_heads(head_statistics(weights[None, None], token_units(ENCODING)))
        # [SEP] looks at itself either way: 6 of 7 tokens give it `share`, one gives it all.
        score = (6 * share + 1) / 7
        assert score > 0.5
        assert [head.pattern.name for head in heads] == ["separator"]
        assert_allclose(heads[0].score, score, rtol=1e-5)
        previous = np.float32(share) * HEADS["previous token"] + np.float32(1 - share) * ONES
        statistics = head_statistics(previous[None, None], token_units(ENCODING))
        assert [head.pattern.name for head in named_heads(statistics)] == ["previous token"] * named


def test_best_score_first_and_a_head_may_bear_two_names() -> None:
    previous = [np.float32(share) * HEADS["previous token"] + np.float32(1 - share) * ONES for share in (0.6, 0.9)]
    two_tokens = token_units(tokenizer().encode(""))
    heads = named_heads(head_statistics(np.stack(previous)[None], token_units(ENCODING)))
    assert [(head.head, round(head.score, 3)) for head in heads] == [(1, 0.9), (0, 0.6)]
    both = named_heads(head_statistics(np.array([[[[1, 0], [1, 0]]]], np.float32), two_tokens))
    assert {head.pattern.name for head in both} == {"previous token", "[CLS]"}


def test_thresholds_and_measures_are_told() -> None:
    assert len({pattern.name for pattern in PATTERNS}) == len(PATTERNS)
    for pattern in PATTERNS:
        assert 0 < pattern.threshold < 1
        assert pattern.says


def test_the_bundled_model_has_a_previous_and_a_next_token_head(bundled: Checkpoint) -> None:
    """Counted on the maps: layer 0, head 2 looks back, layer 1, head 8 ahead."""
    encoding = bundled.tokenizer.encode("He plays the piano every day, and she sings.")
    found = survey(bundled.model, encoding).statistics
    best = {head.pattern.name: (head.layer, head.head) for head in reversed(named_heads(found))}
    assert best["previous token"] == (0, 2)
    assert best["next token"] == (1, 8)
