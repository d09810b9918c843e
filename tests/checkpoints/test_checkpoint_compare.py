"""Two checkpoints side by side. Expected values: changes made by hand, and cosines and norms in double precision."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from small_files import DECODER, DECODER_BIAS, VOCABULARY, WORDS, Tensors, files, put, reference, tensors_of

from bertviz_lite.checkpoints import Checkpoint, Comparison, compare, load

QUERY = "bert.encoder.layer.1.attention.self.query.weight"
NORM = "bert.encoder.layer.2.output.LayerNorm.bias"


def opened(at: Path, tensors: Tensors | None = None, **how: Any) -> Checkpoint:  # noqa: ANN401
    return load(put(at, files(tensors, **how)))


def changed(at: Path, tensors: Tensors | None = None, **how: Any) -> Comparison:  # noqa: ANN401
    """The tied checkpoint against another."""
    return compare(opened(at / "a"), opened(at / "b", tensors, **how))


def test_a_checkpoint_is_the_same_as_its_copy(tmp_path: Path) -> None:
    found = changed(tmp_path)
    assert found.same
    assert (found.name_a, found.name_b) == ("a", "b")
    assert [c.name for c in found.changes] == [n for n, _ in reference().named_parameters()]
    assert all(c.cosine == pytest.approx(1, abs=1e-12) for c in found.changes)
    assert {c.relative_change for c in found.changes} == {c.largest_change for c in found.changes} == {0}


def test_every_number_of_a_change(tmp_path: Path) -> None:
    old, new = tensors_of(), tensors_of()
    new[QUERY] = new[QUERY] + torch.linspace(-0.4, 0.1, new[QUERY].numel()).view_as(new[QUERY])
    new[NORM][5] -= 3
    found = {c.name: c for c in changed(tmp_path, new).changes if c.largest_change}
    assert set(found) == {QUERY, NORM}
    for name, change in found.items():
        a, b = old[name].double().flatten(), new[name].double().flatten()
        assert change.shape == tuple(old[name].shape)
        assert change.cosine == pytest.approx(float(a @ b / (a.norm() * b.norm())), rel=1e-9)
        assert change.relative_change == pytest.approx(float((b - a).norm() / a.norm()), rel=1e-5)
        assert change.largest_change == pytest.approx(float((b - a).abs().max()), rel=1e-5)
    assert found[NORM].largest_change == pytest.approx(3, rel=1e-6)


def test_one_bit_makes_two_checkpoints_differ(tmp_path: Path) -> None:
    tensors = tensors_of()
    tensors[QUERY][3, 4] = torch.nextafter(tensors[QUERY][3, 4], torch.tensor(9.0))
    found = changed(tmp_path, tensors)
    assert not found.same
    assert [c.name for c in found.changes if c.largest_change] == [QUERY]


@pytest.mark.parametrize(("from_zero", "relative"), [(True, math.inf), (False, 1.0)])
def test_a_tensor_of_zeros_has_no_direction(from_zero: bool, relative: float, tmp_path: Path) -> None:
    zeroed = {**tensors_of(), NORM: torch.zeros(32)}
    plain, zero = opened(tmp_path / "a"), opened(tmp_path / "b", zeroed)
    found = compare(zero, plain) if from_zero else compare(plain, zero)
    change = next(c for c in found.changes if c.name == NORM)
    assert math.isnan(change.cosine)
    assert change.relative_change == pytest.approx(relative)
    json.dumps(found.to_dict(), allow_nan=False)
    assert compare(zero, zero).same


def test_tied_and_untied(tmp_path: Path) -> None:
    untied = tensors_of(reference(tied=False))
    found = changed(tmp_path, untied, config={"tie_word_embeddings": False})
    assert found.only_a == found.only_b == ()
    decoder = next(c for c in found.changes if c.name == DECODER)  # beside what a tied model has there: its embedding
    assert decoder.largest_change == pytest.approx(float((untied[DECODER] - tensors_of()[WORDS]).abs().max()))
    assert decoder.largest_change > 0
    assert DECODER_BIAS not in [c.name for c in found.changes]
    assert found.config["tie_word_embeddings"] == (True, False)
    assert not found.same


def test_other_sizes_and_layers(tmp_path: Path) -> None:
    wide = tensors_of(reference(vocab_size=104, num_hidden_layers=2))
    found = changed(tmp_path, wide)
    shapes = {r.name: (r.shape_a, r.shape_b) for r in found.reshaped}
    assert shapes == {WORDS: ((99, 32), (104, 32)), "cls.predictions.bias": ((99,), (104,))}
    assert {n.split(".")[3] for n in found.only_a} == {"2"}
    assert len(found.only_a) == 16  # of one layer: six dense, two LayerNorms, each weight and bias
    assert found.only_b == ()
    assert found.config["vocab_size"] == (99, 104)
    assert found.config["num_hidden_layers"] == (3, 2)
    assert not set(found.config) - {"vocab_size", "num_hidden_layers"}


def test_vocabularies(tmp_path: Path) -> None:
    other = list(VOCABULARY)
    other[other.index("cat")] = "dog"
    i, j = other.index("w3"), other.index("w7")
    other[i], other[j] = other[j], other[i]
    found = changed(tmp_path, vocabulary=other)
    assert (found.pieces_a, found.pieces_b) == (("cat",), ("dog",))
    assert set(found.moved) == {"w3", "w7"}
    assert not found.same
    assert all(c.largest_change == 0 for c in found.changes)


def test_other_keys_of_the_configuration_count(tmp_path: Path) -> None:
    found = changed(tmp_path, config={"finetuned_on": "letters", "hidden_act": "gelu_new"})
    assert dict(found.config) == {"finetuned_on": (None, "letters"), "hidden_act": ("gelu", "gelu_new")}


def test_the_comparison_as_json(tmp_path: Path) -> None:
    tensors = tensors_of()
    tensors[NORM][0] = float("nan")
    values = changed(tmp_path, tensors, vocabulary=VOCABULARY[:-1]).to_dict()
    read = json.loads(json.dumps(values, allow_nan=False))
    assert (read["a"], read["b"], read["same"]) == ("a", "b", False)
    bad = next(t for t in read["tensors"] if t["name"] == NORM)
    assert bad == {"name": NORM, "shape": [32], "cosine": None, "relative_change": None, "largest_change": None}
    assert read["vocabulary"] == {"only_a": ["w88"], "only_b": [], "other_id": []}
    assert read["reshaped"] == read["only_a"] == read["only_b"] == []


def test_a_checkpoint_with_nan_is_the_same_as_itself(tmp_path: Path) -> None:
    tensors = tensors_of()
    tensors[NORM][0] = float("nan")
    checkpoint = opened(tmp_path, tensors)
    assert compare(checkpoint, checkpoint).same
