"""Expected values: cosines worked out by hand, and torch's own in double precision over the bundled embedding."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.testing import assert_allclose

import bertviz_lite
from bertviz_lite.analysis import neighbours, row_norms
from bertviz_lite.errors import InputError

# Seen from row 0: 45°, the same way, right angle, no direction, backwards.
ROWS = ((2.0, 0.0), (3.0, 3.0), (0.5, 0.0), (0.0, 7.0), (0.0, 0.0), (-1.0, 0.0))
HALF = 2**-0.5


def model_of(rows: tuple[tuple[float, float], ...]) -> bertviz_lite.BERTForMaskedLM:
    config = bertviz_lite.BERTConfig(
        vocab_size=len(rows), hidden_size=2, num_hidden_layers=1, num_attention_heads=1, intermediate_size=3
    )
    model = bertviz_lite.BERTForMaskedLM(config).eval()
    with torch.no_grad():
        model.bert.embeddings.word_embeddings.weight.copy_(torch.tensor(rows))
    return model


def test_neighbours_by_hand() -> None:
    found = neighbours(model_of(ROWS), 0, 3)
    assert found.ids.tolist() == [2, 1, 3]
    assert_allclose(found.cosines, [1, HALF, 0], atol=1e-6)


def test_rows_of_zeros_come_last() -> None:
    found = neighbours(model_of(ROWS), 0, 5)
    assert found.ids.tolist() == [2, 1, 3, 5, 4]


def test_a_row_is_no_neighbour_of_itself_and_k_has_a_bound() -> None:
    for i in range(len(ROWS)):
        found = neighbours(model_of(ROWS), i, 50)
        assert sorted([*found.ids.tolist(), i]) == list(range(len(ROWS)))


def test_neighbours_in_the_bundled_embedding(bundled: bertviz_lite.Checkpoint) -> None:
    rows = bundled.model.bert.embeddings.word_embeddings.weight.detach().double()
    at = bundled.tokenizer.id("house")
    assert at is not None
    cosines = F.cosine_similarity(rows, rows[at][None])
    cosines[at] = -2
    best = cosines.topk(15)
    found = neighbours(bundled.model, at, 15)
    assert found.ids.tolist() == best.indices.tolist()
    assert_allclose(found.cosines, best.values, atol=1e-5)


def test_row_norms(bundled: bertviz_lite.Checkpoint) -> None:
    assert_allclose(row_norms(model_of(ROWS)), [2, 18**0.5, 0.5, 7, 0, 1], rtol=1e-6)
    rows = bundled.model.bert.embeddings.word_embeddings.weight.detach().numpy().astype(np.float64)
    assert_allclose(row_norms(bundled.model), np.linalg.norm(rows, axis=1), rtol=1e-5)


@pytest.mark.parametrize("token", [-1, 6])
def test_an_id_outside_the_vocabulary_is_told(token: int) -> None:
    with pytest.raises(InputError, match=f"no id {token}.*0 to 5"):
        neighbours(model_of(ROWS), token)
