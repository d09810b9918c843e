"""What counting reaches: by hand on a text of seven pieces, against dictionaries on a larger one; and a run's curve."""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from small_texts import curve, recipe

import bertviz_lite
from bertviz_lite.training import MaskedBatch, MaskingRule, pretrain, read_curve
from bertviz_lite.training.baselines import Follows, baselines
from bertviz_lite.training.corpus import find_sources
from bertviz_lite.training.evaluation import HeldOutSet, held_out_set
from bertviz_lite.training.examples import Masker
from bertviz_lite.training.store import Part, SourceRange, open_store

# 1 2 1 3 1 2 0: after 1 came 2 (twice) and 3 (once), so n(1) = 3 and u(1) = 2.
STREAM = np.array([1, 2, 1, 3, 1, 2, 0], np.uint16)
FREQUENCIES = np.array([2, 4, 3, 2, 1]) / 12  # each count and one more: no piece is impossible


def test_pairs_are_counted_and_smoothed_as_by_hand() -> None:
    follows = Follows({1.0: STREAM}, 5)
    np.testing.assert_allclose(follows.frequencies, FREQUENCIES)
    expected = (np.array([0, 0, 2, 1, 0]) + 2 * FREQUENCIES) / 5
    np.testing.assert_allclose(follows.given(1), expected)
    np.testing.assert_allclose(follows.given(4), FREQUENCIES)  # never seen: frequencies are all there is


def test_a_source_that_is_read_twice_as_often_counts_twice() -> None:
    twice, doubled = Follows({2.0: STREAM}, 5), Follows({1.0: STREAM}, 5)
    np.testing.assert_allclose(twice.given(1), (np.array([0, 0, 4, 2, 0]) + 2 * twice.frequencies) / 8)
    assert twice.frequencies[1] > doubled.frequencies[1]


def test_losses_by_hand() -> None:
    part = Part(STREAM, np.array([0, 7]), (SourceRange("only", 0, 1),))
    example = MaskedBatch(
        input_ids=torch.tensor([[1, 4, 1]]), labels=torch.tensor([[-100, 2, -100]]), kinds=torch.tensor([[0, 1, 0]])
    )
    found = baselines(part, {}, HeldOutSet({"only": [example]}), 5)
    after = (np.array([0, 0, 2, 1, 0]) + 2 * FREQUENCIES) / 5
    before = (np.array([0, 0, 1, 1, 0]) + 2 * FREQUENCIES) / 4  # before 1 stood 2 and 3, once each
    both = after * before / FREQUENCIES
    assert found.even_nats == pytest.approx(math.log(5))
    assert found.frequency_nats == pytest.approx(-math.log(3 / 12))
    assert found.left_nats == pytest.approx(-math.log(after[2]))
    assert found.both_nats == pytest.approx(-math.log(both[2] / both.sum()))


def test_a_corpus_is_counted_as_dictionaries_count_it(corpus: Path, tmp_path: Path) -> None:
    pretrain(recipe(corpus, tokens=300), tmp_path / "run")
    ours = bertviz_lite.load(tmp_path / "run")
    store = open_store(tmp_path / "run" / "run" / "store", find_sources([corpus]), ours.tokenizer)
    held_out = held_out_set(store.held_out, Masker(ours.tokenizer, ours.config, MaskingRule()), recipe(corpus).batches)
    n = len(ours.tokenizer)
    found = baselines(store.train, {"village": 0.0}, held_out, n)

    meadow = next(s for s in store.train.sources if s.name == "meadow")
    stream = store.train.tokens[store.train.starts[meadow.first] : store.train.starts[meadow.end]].tolist()
    single, pairs = Counter(stream), Counter(pairwise(stream))
    frequency = {w: (single[w] + 1) / (len(stream) + n) for w in range(n)}
    seen_after = Counter(a for a, _ in pairs)
    total_after = Counter(stream[:-1])
    sources = []
    for batches in held_out.examples.values():
        losses = []
        for batch in batches:
            for row, at in (batch.labels >= 0).nonzero().tolist():
                w, left = int(batch.labels[row, at]), int(batch.input_ids[row, at - 1])
                u = seen_after[left]
                p = (pairs[left, w] + u * frequency[w]) / (total_after[left] + u) if u else frequency[w]
                losses.append((-math.log(frequency[w]), -math.log(p)))
        sources.append(np.mean(losses, axis=0))
    assert [found.frequency_nats, found.left_nats] == pytest.approx(np.mean(sources, axis=0).tolist(), abs=1e-9)
    assert found.both_nats < found.left_nats < found.frequency_nats < found.even_nats


def test_the_curve_is_that_of_the_log(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    pretrain(recipe(corpus, tokens=1500, evaluate_tokens=500), out)
    rows, found = curve(out), read_curve(out / "run")
    assert found.tokens.tolist() == [row["tokens"] for row in rows if "loss_nats" in row]
    assert found.loss_nats.tolist() == [row["loss_nats"] for row in rows if "loss_nats" in row]
    looked = [row for row in rows if row.get("held_out")]
    assert len(looked) >= 4
    assert found.held_out_tokens.tolist() == [row["tokens"] for row in looked]
    means = [(r["held_out"]["meadow"]["loss_nats"] + r["held_out"]["village"]["loss_nats"]) / 2 for r in looked]
    assert found.held_out_nats.tolist() == pytest.approx(means)
    assert not len(read_curve(tmp_path).tokens)
    (tmp_path / "log.jsonl").write_text(json.dumps({"step": 0, "tokens": 0, "note": "nothing yet"}) + "\n")
    assert not len(read_curve(tmp_path).held_out_nats)
