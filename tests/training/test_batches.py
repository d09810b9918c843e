"""Batches: what an epoch reads is counted token by token, padding is measured, order follows the seed."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from bertviz_lite.errors import TrainingError
from bertviz_lite.training.batches import BatchRule, Epoch, Frame
from bertviz_lite.training.store import Part, SourceRange

FRAME = Frame(cls_id=1, sep_id=2, pad_id=0)


def part(lengths: list[int], split: int | None = None) -> Part:
    """Sentences of these lengths; every token is different, from 10 on. `split` starts a second source."""
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n = len(lengths)
    ranges = (SourceRange("a", 0, split or n), *((SourceRange("b", split, n),) if split else ()))
    return Part(np.arange(10, 10 + starts[-1], dtype=np.uint32), starts, ranges)


def natural_lengths(n: int) -> list[int]:
    """Lengths spread like those of English sentences."""
    drawn = np.random.default_rng(0).lognormal(2.6, 0.6, n)
    return [int(x) for x in drawn.clip(3, 200)]


def rule(batch_tokens: int = 2048, max_length: int = 64, share: float = 0.5, **weights: float) -> BatchRule:
    return BatchRule(batch_tokens, max_length, share, weights)


def read(epoch: Epoch) -> Counter[int]:
    found: Counter[int] = Counter()
    for i in range(len(epoch)):
        ids = epoch[i].ids
        found.update(ids[ids >= 10].tolist())
    return found


def test_sequences_are_framed_and_padded_at_the_end() -> None:
    text = part([5, 3, 7, 4])
    batch = Epoch(text, FRAME, rule(share=1.0), 0, 0)[0]
    rows = [row[row != 0].tolist() for row in batch.ids]
    assert batch.lengths.tolist() == [len(row) for row in rows] == [9, 7, 6, 5]
    assert [row[:1] + row[-1:] for row in rows] == [[1, 2]] * 4
    assert sorted(row[1:-1] for row in rows) == [
        list(range(10, 15)),
        list(range(15, 18)),
        list(range(18, 25)),
        list(range(25, 29)),
    ]
    assert all((row[n:] == 0).all() for row, n in zip(batch.ids, batch.lengths, strict=True))


def test_sentences_alone_are_read_once_an_epoch_and_long_ones_left_to_windows() -> None:
    lengths = natural_lengths(3000)
    text = part(lengths)
    assert read(Epoch(text, FRAME, rule(share=1.0), 0, 0)) == Counter(
        int(token)
        for i, n in enumerate(lengths)
        if n <= 62
        for token in text.tokens[text.starts[i] : text.starts[i + 1]]
    )


@pytest.mark.parametrize("epoch", [0, 1, 2])
def test_windows_alone_are_full_and_cover_the_text_once(epoch: int) -> None:
    text = part(natural_lengths(3000))
    plan = Epoch(text, FRAME, rule(share=0.0), 0, epoch)
    found = read(plan)
    assert set(found.values()) == {1}
    assert len(found) >= len(text.tokens) - 4  # ends of less than three pieces are left out
    lengths = np.concatenate([plan[i].lengths.numpy() for i in range(len(plan))])
    assert (lengths != 64).sum() <= 2


def test_padding_stays_below_five_percent() -> None:
    plan = Epoch(part(natural_lengths(60_000)), FRAME, rule(6144, 128, 0.4), 0, 0)
    batches = [plan[i] for i in range(len(plan))]
    places = sum(batch.ids.numel() for batch in batches)
    tokens = sum(int(batch.lengths.sum()) for batch in batches)
    assert 1 - tokens / places < 0.05
    assert max(batch.ids.numel() for batch in batches) <= 6144
    sentences = sum(int(batch.lengths[batch.lengths < 128].sum()) for batch in batches)
    assert 0.36 < sentences / tokens < 0.44


def test_weights_say_how_often_a_source_is_read() -> None:
    text = part([10] * 4000, split=2000)
    for share in (1.0, 0.0, 0.5):
        found = read(Epoch(text, FRAME, rule(share=share, a=2.5, b=0.25), 0, 0))
        per_token = [sum(found[10 + i] for i in r) / 20_000 for r in (range(20_000), range(20_000, 40_000))]
        assert per_token[0] == pytest.approx(2.5, abs=0.15)  # about 320 windows: a standard deviation is 0.03
        assert per_token[1] == pytest.approx(0.25, abs=0.15)


def test_a_weight_of_zero_leaves_a_source_out() -> None:
    found = read(Epoch(part([10] * 400, split=200), FRAME, rule(b=0.0), 0, 0))
    assert max(found) < 10 + 2000


def test_order_follows_seed_and_epoch() -> None:
    text = part(natural_lengths(2000))
    plans = [Epoch(text, FRAME, rule(), *numbers) for numbers in ((0, 0), (0, 0), (0, 1), (1, 0))]
    first = [plan[3].ids.tolist() for plan in plans]
    assert first[0] == first[1]
    assert first[0] != first[2]
    assert first[0] != first[3]


def test_batches_of_one_length_do_not_come_in_a_row() -> None:
    plan = Epoch(part(natural_lengths(20_000)), FRAME, rule(share=1.0), 0, 0)
    widths = [plan[i].ids.shape[1] for i in range(len(plan))]
    rises = sum(a < b for a, b in pairwise(widths))
    assert 0.3 < rises / len(widths) < 0.7


def test_nothing_long_enough() -> None:
    with pytest.raises(TrainingError, match="long enough"):
        Epoch(part([1, 1]), FRAME, rule(), 0, 0)
    with pytest.raises(TrainingError, match="weight 0"):
        Epoch(part([10, 10]), FRAME, rule(a=0.0), 0, 0)
