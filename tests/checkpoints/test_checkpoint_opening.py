"""What opens has the logits of the transformers model that it holds, and tells what was done to get there."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from opening_cases import CASES, Opens, params
from small_files import (
    DECODER,
    POSITIONS,
    VOCABULARY,
    WORDS,
    files,
    holding,
    logits_of,
    put,
    reference,
    tensors_of,
    told,
)
from torch.testing import assert_close
from transformers import BertForMaskedLM

from bertviz_lite.checkpoints import Checkpoint, inspect, load, tie_sentence
from bertviz_lite.errors import CheckpointError


@pytest.mark.parametrize("case", params(CASES))
def test_it_opens_with_the_logits_of_transformers(case: Opens, tmp_path: Path) -> None:
    checkpoint = load(put(tmp_path, case.files()))
    assert_close(logits_of(checkpoint.model), logits_of(case.model()), atol=1e-5, rtol=1e-5)
    assert_right_state(checkpoint, tied=case.model().config.tie_word_embeddings)
    report = checkpoint.report
    assert report.missing == report.problems == ()
    said = " ".join(report.inferred + report.notes)
    assert bool(said) == bool(case.says), said
    for word in case.says:
        assert word in said
    assert {u.name for u in report.unused} == set(case.unused)
    assert all(u.reason for u in report.unused)
    assert bool(report.renamed) == bool(case.because)
    for change in report.renamed:
        assert change.old != change.new
        assert change.new in reference().state_dict()
        assert case.because in change.reason
    assert told(inspect(tmp_path)) == told(report)


def assert_right_state(checkpoint: Checkpoint, *, tied: bool) -> None:
    model, head = checkpoint.model, checkpoint.model.cls.predictions
    assert not model.training
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert {p.device.type for p in model.parameters()} == {"cpu"}
    assert all(p.requires_grad and p.is_leaf for p in model.parameters())
    assert model.config == checkpoint.config == checkpoint.report.config
    assert checkpoint.config.tie_word_embeddings == checkpoint.report.tied == tied
    assert (head.decoder.weight is model.bert.embeddings.word_embeddings.weight) == tied
    assert head.decoder.bias is head.bias
    assert checkpoint.report.parameters.total == model.num_parameters()
    assert tie_sentence(model).startswith("**Tied**" if tied else "**Untied**")


@pytest.mark.parametrize("n", [99, 100, 104, 128])
def test_rows_that_no_piece_belongs_to_are_never_predicted(n: int, tmp_path: Path) -> None:
    checkpoint = load(put(tmp_path, files(tensors_of(reference(vocab_size=n)))))
    assert checkpoint.excluded_ids == frozenset(range(99, n))


def test_a_piece_written_twice_leaves_an_id_that_is_never_predicted(tmp_path: Path) -> None:
    checkpoint = load(put(tmp_path, files(vocabulary=(*VOCABULARY[:60], VOCABULARY[7], *VOCABULARY[61:]))))
    assert checkpoint.excluded_ids == {7}
    assert any("twice" in note for note in checkpoint.report.notes)


@pytest.mark.parametrize("kind", ["relative_key", "relative_key_query"])
def test_relative_positions_are_used_or_refused_by_name(kind: str, tmp_path: Path) -> None:
    """With distances of zero and no absolute positions, it is a model whose position embedding is zero."""
    tensors = tensors_of() | {POSITIONS: torch.zeros(40, 32)}
    distances = {
        f"bert.encoder.layer.{n}.attention.self.distance_embedding.weight": torch.zeros(79, 8) for n in range(3)
    }
    given = tensors | {POSITIONS: torch.ones(40, 32)} | distances
    try:
        checkpoint = load(put(tmp_path, files(given, config={"position_embedding_type": kind})))
    except CheckpointError as error:
        assert kind in str(error)
        return
    assert distances.keys() <= {t.name for t in checkpoint.report.tensors}
    assert_close(logits_of(checkpoint.model), logits_of(holding(tensors)), atol=1e-5, rtol=1e-5)
    distances[next(iter(distances))] += torch.linspace(-1, 1, 79)[:, None]
    put(tmp_path, files(given, config={"position_embedding_type": kind}))
    assert (logits_of(load(tmp_path).model) - logits_of(checkpoint.model)).abs().max() > 0.01


def test_the_bundled_model_opens_with_the_logits_of_transformers(bundled_folder: Path) -> None:
    checkpoint = load()
    assert_right_state(checkpoint, tied=True)
    assert checkpoint.report.missing == checkpoint.report.problems == checkpoint.report.inferred == ()
    assert checkpoint.report.digest == inspect(bundled_folder).digest
    theirs = BertForMaskedLM.from_pretrained(bundled_folder, dtype=torch.float32).eval()
    inputs = checkpoint.tokenizer.encode("The capital of France is [MASK].").tensors()
    with torch.no_grad():
        assert_close(checkpoint.model(**inputs).logits, theirs(**inputs).logits, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize("alone", [True, False], ids=["alone", "with its alias in float32"])
def test_eight_bit_floats_are_opened_or_refused_by_name(dtype: torch.dtype, alone: bool, tmp_path: Path) -> None:
    tensors = tensors_of() | {WORDS: tensors_of()[WORDS].to(dtype)}
    if not alone:
        tensors[DECODER] = tensors_of()[WORDS]
    try:
        checkpoint = load(put(tmp_path, files(tensors)))
    except CheckpointError as error:
        assert WORDS in str(error)
        return
    if alone:
        assert_close(logits_of(checkpoint.model), logits_of(holding(tensors)), atol=1e-5, rtol=1e-5)
