"""Held-out losses against transformers, probes against a softmax by hand, and what is refused."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
import transformers
from small_texts import recipe

import bertviz_lite
from bertviz_lite.training import MaskingRule, pretrain
from bertviz_lite.training.corpus import find_sources
from bertviz_lite.training.evaluation import choose_probes, evaluate, held_out_set, predict_probes
from bertviz_lite.training.examples import Masker
from bertviz_lite.training.store import TokenStore, open_store

transformers.logging.set_verbosity(logging.CRITICAL)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    out = tmp_path_factory.mktemp("evaluated") / "model"
    pretrain(recipe(corpus, tokens=3000), out)
    return out


@pytest.fixture(scope="module")
def store(trained: Path, corpus: Path) -> TokenStore:
    return open_store(trained / "run" / "store", find_sources([corpus]), bertviz_lite.load(trained).tokenizer)


def test_losses_and_accuracy_are_those_of_transformers(trained: Path, corpus: Path, store: TokenStore) -> None:
    ours = bertviz_lite.load(trained)
    theirs = transformers.BertForMaskedLM.from_pretrained(trained).eval()
    masker = Masker(ours.tokenizer, ours.config, MaskingRule())
    held_out = held_out_set(store.held_out, masker, recipe(corpus).batches)
    found = evaluate(ours.model, held_out)
    assert set(found) == {"meadow", "village"}
    for source, batches in held_out.examples.items():
        logits, labels = [], []
        for batch in batches:
            with torch.no_grad():
                out = theirs(batch.input_ids, attention_mask=(batch.input_ids != 0).long()).logits
            logits.append(out[batch.labels != -100])
            labels.append(batch.labels[batch.labels != -100])
        all_logits, all_labels = torch.cat(logits), torch.cat(labels)
        assert found[source]["loss_nats"] == pytest.approx(F.cross_entropy(all_logits, all_labels).item(), abs=1e-5)
        assert found[source]["accuracy"] == (all_logits.argmax(1) == all_labels).double().mean().item()


def test_the_held_out_set_is_the_same_every_time(trained: Path, corpus: Path, store: TokenStore) -> None:
    ours = bertviz_lite.load(trained)
    masker = Masker(ours.tokenizer, ours.config, MaskingRule())
    sets = [held_out_set(store.held_out, masker, recipe(corpus, seed=seed).batches) for seed in (0, 9)]
    for source, batches in sets[0].examples.items():
        for a, b in zip(batches, sets[1].examples[source], strict=True):
            assert torch.equal(a.input_ids, b.input_ids)
            assert torch.equal(a.labels, b.labels)


def test_probes_are_answered_with_the_likeliest_pieces(trained: Path) -> None:
    ours = bertviz_lite.load(trained)
    theirs = transformers.BertForMaskedLM.from_pretrained(trained).eval()
    text = "The [MASK] helps the [MASK]."
    (found,) = predict_probes(ours.model, ours.tokenizer, [text])
    ids = torch.tensor([ours.tokenizer.encode(text).ids])
    with torch.no_grad():
        logits = theirs(ids).logits[0, ids[0] == 4]
    logits[:, :5] = -torch.inf  # special tokens
    probs, best = logits.softmax(-1).topk(5)
    assert found["text"] == text
    assert [m["pieces"] for m in found["masks"]] == [[ours.tokenizer.piece(int(i)) for i in row] for row in best]
    assert [m["probs"] for m in found["masks"]] == [pytest.approx(row.tolist(), abs=1e-4) for row in probs]


def test_probes_are_chosen_from_all_over_the_held_out_text(trained: Path, store: TokenStore) -> None:
    tokenizer = bertviz_lite.load(trained).tokenizer
    probes = choose_probes(store.held_out, tokenizer)
    assert 1 <= len(probes) <= 5
    assert all(len(tokenizer.encode(probe).mask_positions) == 1 for probe in probes)
