"""Every metric against transformers: the masks of each are written out by hand, one pass a row."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from guesser import ID, LONGEST, guesser, tokenizer
from numpy.testing import assert_allclose, assert_array_equal
from outside import Outside

from bertviz_lite import BERTConfig, BERTForMaskedLM, Checkpoint
from bertviz_lite.analysis import METRICS, _masked_rows, labelled_loss, score, score_all, scoring
from bertviz_lite.errors import InputError, TextError

TEXT = "The souvenir is unbelievable."
# [CLS] the so ##uven ##ir is unbelievable . [SEP]: the second word has three pieces.
PIECES = ["[CLS]", "the", "so", "##uven", "##ir", "is", "unbelievable", ".", "[SEP]"]
# For every position that is asked for, the positions that are hidden.
MASKS = {
    "pll": {1: [1], 2: [2], 3: [3], 4: [4], 5: [5], 6: [6], 7: [7]},
    "word_l2r": {1: [1], 2: [2, 3, 4], 3: [3, 4], 4: [4], 5: [5], 6: [6], 7: [7]},
    "whole_word": {1: [1], 2: [2, 3, 4], 3: [2, 3, 4], 4: [2, 3, 4], 5: [5], 6: [6], 7: [7]},
    "l2r": {1: [1, 2, 3, 4, 5, 6, 7], 2: [2, 3, 4, 5, 6, 7], 3: [3, 4, 5, 6, 7], 4: [4, 5, 6, 7], 5: [5, 6, 7],
            6: [6, 7], 7: [7]},
    "unmasked": {1: [], 2: [], 3: [], 4: [], 5: [], 6: [], 7: []},
}  # fmt: skip


def by_hand(outside: Outside, text: str, pair: str | None, masks: dict[int, list[int]]) -> list[float]:
    """-ln of the probability of each asked token, from one pass of transformers each."""
    ids, segments = outside.ids(text, pair)
    losses = []
    for asked, hidden in masks.items():
        shown = ids.clone()
        shown[hidden] = outside.tokenizer.mask_token_id
        losses.append(-outside.log_probs(shown, segments)[asked, ids[asked]].item())
    return losses


def test_every_metric_has_its_masks_written_out() -> None:
    assert set(MASKS) == set(METRICS)


@pytest.mark.parametrize("metric", METRICS)
def test_a_metric_is_transformers_with_these_masks(bundled: Checkpoint, outside: Outside, metric: str) -> None:
    encoding = bundled.tokenizer.encode(TEXT)
    assert list(encoding.pieces) == PIECES
    scores = score(bundled.model, encoding, metric)
    assert scores.positions.tolist() == list(MASKS[metric])
    assert_allclose(scores.loss_nats, by_hand(outside, TEXT, None, MASKS[metric]), atol=1e-4, rtol=0)


def test_left_to_right_over_a_pair_leaves_the_separator_and_typed_masks(bundled: Checkpoint, outside: Outside) -> None:
    # [CLS] is it [MASK] ? [SEP] no . [SEP]
    masks = {1: [1, 2, 4, 6, 7], 2: [2, 4, 6, 7], 4: [4, 6, 7], 6: [6, 7], 7: [7]}
    scores = score(bundled.model, bundled.tokenizer.encode("Is it [MASK]?", "No."), "l2r")
    assert scores.positions.tolist() == list(masks)
    assert_allclose(scores.loss_nats, by_hand(outside, "Is it [MASK]?", "No.", masks), atol=1e-4, rtol=0)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", ["absolute", "relative_key", "relative_key_query"])
def test_the_shortened_last_layer_is_the_whole_one(metric: str, kind: str) -> None:
    """Random weights, all numbers; each row through the model's own forward."""
    torch.manual_seed(0)
    config = BERTConfig(
        vocab_size=12, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=7,
        max_position_embeddings=9, initializer_range=0.7, position_embedding_type=kind,
    )  # fmt: skip
    model = BERTForMaskedLM(config).eval()
    encoding = tokenizer().encode("as c.", "b")  # [CLS] a ##s c . [SEP] b [SEP]
    expected = []
    with torch.no_grad():
        for row in _masked_rows.rows_for(metric, encoding, (1, 2, 3, 4, 6)):
            ids = torch.tensor([encoding.ids])
            ids[0, list(row.masked)] = encoding.mask_id
            logits = model(ids, torch.ones_like(ids), torch.tensor([encoding.segment_ids])).logits[0]
            expected += [-logits.log_softmax(-1)[i, encoding.ids[i]].item() for i in row.asked]
    assert_allclose(score(model, encoding, metric).loss_nats, expected, atol=1e-5)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("tokens_a_batch", [1, 60, 10**9])
def test_company_order_and_padding_change_nothing(
    bundled: Checkpoint, monkeypatch: pytest.MonkeyPatch, metric: str, tokens_a_batch: int
) -> None:
    monkeypatch.setattr(_masked_rows, "TOKENS_A_BATCH", tokens_a_batch)
    texts = [TEXT, "No.", "The museum, which opened in 1902, houses a large collection of paintings.", "Is it cold?"]
    encodings = [bundled.tokenizer.encode(text) for text in texts]
    alone = [score(bundled.model, encoding, metric) for encoding in encodings]
    for order in ([0, 1, 2, 3], [2, 0, 3, 1]):
        together = score_all(bundled.model, [encodings[i] for i in order], metric)
        for i, scores in zip(order, together, strict=True):
            assert_array_equal(scores.positions, alone[i].positions)
            assert_array_equal(scores.ids, alone[i].ids)
            assert_allclose(scores.loss_nats, alone[i].loss_nats, atol=1e-4, rtol=0)


def test_few_logits_at_a_time_are_the_same_logits(bundled: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    encoding = bundled.tokenizer.encode(TEXT)
    usual = score(bundled.model, encoding, "unmasked")
    monkeypatch.setattr(scoring, "_LOGITS_AT_ONCE", 2 * bundled.config.vocab_size)
    few = score(bundled.model, encoding, "unmasked")
    assert_array_equal(few.ranks, usual.ranks)
    assert_allclose(few.loss_nats, usual.loss_nats, atol=1e-4, rtol=0)


def test_published_order_of_the_metrics(bundled: Checkpoint) -> None:
    """Word by word the later pieces give a word away (Kauf & Ivanova 2023): hiding them must cost."""
    encoding = bundled.tokenizer.encode("The traveler lost the souvenir.")
    sums = {metric: score(bundled.model, encoding, metric).sum_nats for metric in METRICS}
    assert sums["unmasked"] < sums["pll"] < sums["word_l2r"] < sums["whole_word"]


def test_an_unknown_metric_is_told_with_those_there_are(bundled: Checkpoint) -> None:
    with pytest.raises(InputError, match=r"no metric 'plll'; there are pll, word_l2r"):
        score(bundled.model, bundled.tokenizer.encode("a"), "plll")


def test_labelled_loss_is_transformers_own(bundled: Checkpoint, outside: Outside) -> None:
    """A masked, a random and a kept token, labelled as in pre-training."""
    typed = bundled.tokenizer.encode(TEXT, "It is.")
    ids = list(typed.ids)
    labels = [-100] * len(ids)
    for i, shown in ((2, typed.mask_id), (5, bundled.tokenizer.id("table")), (6, ids[6]), (10, typed.mask_id)):
        labels[i], ids[i] = typed.ids[i], shown
    pieces = tuple(bundled.tokenizer.piece(i) for i in ids)
    scores = labelled_loss(bundled.model, replace(typed, ids=tuple(ids), pieces=pieces), labels)
    with torch.no_grad():
        expected = outside.model(
            input_ids=torch.tensor([ids]),
            token_type_ids=torch.tensor([typed.segment_ids]),
            labels=torch.tensor([labels]),
        ).loss.item()
    assert scores.positions.tolist() == [2, 5, 6, 10]
    assert scores.mean_nats == pytest.approx(expected, abs=1e-4)


def test_labels_by_hand_and_labels_that_do_not_fit() -> None:
    model, encoding = guesser(), tokenizer().encode("a b")
    scores = labelled_loss(model, encoding, [-100, ID["c"], ID["b"], -100])
    assert scores.mean_nats == pytest.approx(-(math.log(0.05) + math.log(0.20)) / 2)
    with pytest.raises(TextError, match="No position has a label"):
        labelled_loss(model, encoding, [-100] * 4)
    with pytest.raises(InputError, match="labels"):
        labelled_loss(model, encoding, [5, 5])
    with pytest.raises(InputError, match="labels"):
        labelled_loss(model, encoding, [12, 5, 5, 5])
    with pytest.raises(TextError, match="at most"):
        labelled_loss(model, tokenizer().encode("a " * LONGEST), [5] * (LONGEST + 2))
