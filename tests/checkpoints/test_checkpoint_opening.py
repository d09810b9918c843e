"""What opens has the logits of the transformers model that it holds, and tells what was done to get there."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from opening_cases import CASES, EXTRAS, Opens, params
from small_files import DECODER, DECODER_BIAS, POSITIONS, files, holding, logits_of, put, reference, tensors_of
from torch.testing import assert_close

from bertviz_lite.checkpoints import Checkpoint, inspect, load, tie_sentence


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
        assert case.because in change.reason or not change.old.endswith((".gamma", ".beta"))
    assert inspect(tmp_path) == report


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
