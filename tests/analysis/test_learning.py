"""Probes and losses by class: against transformers, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from guesser import guesser, tokenizer
from outside import Outside

from bertviz_lite import Checkpoint
from bertviz_lite.analysis import TOKEN_CLASSES, loss_by_class, probe_margins, token_class
from bertviz_lite.bundled import Probe
from bertviz_lite.errors import TextError

PROBES = (
    Probe("The keys to the house [MASK] on the table.", "are", "is"),
    Probe("Fish live in the [MASK].", "sky", "water"),
    Probe("She drank a glass of [MASK].", "milk", "bread", "She ate a slice of [MASK]."),
    Probe("She ate a slice of [MASK].", "milk", "bread", "She drank a glass of [MASK]."),
)


def odds(outside: Outside, text: str, probe: Probe) -> float:
    ids, segments = outside.ids(text)
    log_probs = outside.log_probs(ids, segments)[int((ids == outside.tokenizer.mask_token_id).nonzero())]
    right, wrong = outside.tokenizer.convert_tokens_to_ids([probe.right, probe.wrong])
    return float(log_probs[right] - log_probs[wrong])


def test_a_margin_is_a_difference_of_log_probabilities(bundled: Checkpoint, outside: Outside) -> None:
    expected = [odds(outside, p.text, p) - (odds(outside, p.twin, p) if p.twin else 0) for p in PROBES]
    found = probe_margins(bundled.model, bundled.tokenizer, PROBES)
    assert found == pytest.approx(expected, abs=2e-3)
    assert found[0] > 0 > found[1]
    assert found[2] > 0
    assert found[3] == pytest.approx(-found[2], abs=1e-4)


def test_who_says_the_same_everywhere_knows_no_twins() -> None:
    margins = probe_margins(
        guesser(), tokenizer(), [Probe("a [MASK]", "b", "c"), Probe("a [MASK]", "b", "c", "[MASK] c")]
    )
    assert margins == pytest.approx([math.log(0.20 / 0.05), 0], abs=1e-5)


@pytest.mark.parametrize(
    ("probe", "told"),
    [
        (Probe("No mask.", "a", "the"), "exactly one"),
        (Probe("[MASK] and [MASK].", "a", "the"), "exactly one"),
        (Probe("A [MASK].", "a", "the", "No mask."), "No mask"),
        (Probe("A [MASK].", "hippopotamuses", "cat"), "hippopotamuses"),
        (Probe("A [MASK].", "cat", "[SEP]"), "SEP"),
    ],
)
def test_a_probe_that_cannot_be_asked_is_told(bundled: Checkpoint, probe: Probe, told: str) -> None:
    with pytest.raises(TextError, match=told):
        probe_margins(bundled.model, bundled.tokenizer, [probe])


def test_every_piece_has_a_class() -> None:
    pieces = {"The": 1, "herself": 1, "n": 2, "2,5": 2, "café": 2, "##s": 3, "##.": 3, ".": 0, "“": 0, "…": 0}
    assert {piece: token_class(piece) for piece in pieces} == {p: TOKEN_CLASSES[i] for p, i in pieces.items()}


def test_losses_by_class_are_means_of_what_the_guesser_says() -> None:
    # Whatever it reads, the guesser says a with 0.10, b with 0.20, ##s with 0.02 and . with 0.03.
    texts = [tokenizer().encode("a bs."), tokenizer().encode("a b")]
    found = loss_by_class(guesser(), tokenizer(), texts)
    nats = {"a": -math.log(0.10), "b": -math.log(0.20), "##s": -math.log(0.02), ".": -math.log(0.03)}
    assert found["function words"] == pytest.approx(nats["a"], abs=1e-4)
    assert found["content words"] == pytest.approx(nats["b"], abs=1e-4)
    assert found["word endings"] == pytest.approx(nats["##s"], abs=1e-4)
    assert found["punctuation"] == pytest.approx(nats["."], abs=1e-4)
    alone = loss_by_class(guesser(), tokenizer(), texts[1:])
    assert np.isnan(alone["punctuation"])
    assert not np.isnan(alone["content words"])


def test_means_are_over_all_texts(bundled: Checkpoint, outside: Outside) -> None:
    texts = ["The cat drank milk.", "It was late, and nobody was there."]
    sums: dict[str, list[float]] = {}
    for text in texts:
        ids, segments = outside.ids(text)
        for at in range(1, len(ids) - 1):
            hidden = ids.clone()
            hidden[at] = outside.tokenizer.mask_token_id
            loss = -float(outside.log_probs(hidden, segments)[at, ids[at]])
            sums.setdefault(token_class(outside.tokenizer.convert_ids_to_tokens(int(ids[at]))), []).append(loss)
    found = loss_by_class(bundled.model, bundled.tokenizer, [bundled.tokenizer.encode(text) for text in texts])
    assert {n: v for n, v in found.items() if not math.isnan(v)} == {
        name: pytest.approx(float(torch.tensor(losses).mean()), abs=1e-3) for name, losses in sums.items()
    }
