"""What cannot predict is refused by an error of ours whose message names the cause; nothing else comes out."""

from __future__ import annotations

import json
import pickle
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from refusal_cases import CASES, Refused, params
from small_files import DECODER, PICKLE, WORDS, files, packed, put, saved, tensors_of

from bertviz_lite.checkpoints import inspect, load
from bertviz_lite.errors import BertvizError, MissingTensorsError, WeightsError


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("case", params(CASES))
def test_the_message_names_the_cause(case: Refused, tmp_path: Path) -> None:
    folder = put(tmp_path, case.files())
    with pytest.raises(BertvizError) as caught:
        load(folder)
    assert_named(caught.value, case)
    if case.missing:
        assert isinstance(caught.value, MissingTensorsError)
        assert set(caught.value.missing) == set(case.missing)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("case", params(CASES))
def test_what_has_weights_of_a_bert_is_reported_all_the_same(case: Refused, tmp_path: Path) -> None:
    folder = put(tmp_path, case.files())
    if not case.reported:
        with pytest.raises(BertvizError) as caught:
            inspect(folder)
        assert_named(caught.value, case)
        return
    report = inspect(folder)
    assert report.problems
    assert set(report.missing) >= set(case.missing)
    assert report.tensors
    assert all(word in " ".join(report.problems) for word in case.words)
    assert json.loads(json.dumps(report.to_dict()))["problems"] == list(report.problems)


def assert_named(error: BertvizError, case: Refused) -> None:
    assert isinstance(error, case.error)
    for word in case.words:
        assert word in str(error)
    assert_readable(str(error))


def assert_readable(message: str) -> None:
    """Fit to be shown to a person: sentences on one line, no stack of frames, no advice to run a file's code."""
    assert message.endswith((".", ")."))
    assert "\n" not in message
    assert len(message) < 1500
    assert "weights_only" not in message
    assert "frame #" not in message


class Evil:
    """A pickle of it makes a file when it is opened carelessly."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self.marker), "w")


# name: how to pickle
PICKLES = {
    "in the zip format": lambda content: packed(content, PICKLE),
    "in the format before 1.6": lambda content: packed(content, PICKLE, _use_new_zipfile_serialization=False),
    "as a plain pickle": lambda content: pickle.dumps(content, protocol=2),
    "in protocol 5": lambda content: pickle.dumps(content, protocol=5),
    "in protocol 5 in the zip format": lambda content: packed(content, PICKLE, pickle_protocol=5),
}


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("how", PICKLES)
def test_no_code_of_a_pickle_runs(how: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    bad = PICKLES[how]({**tensors_of(), "bert.pooler.evil": Evil(marker)})
    folder = put(tmp_path / "tiny", {n: c for n, c in files().items() if n != "model.safetensors"} | {PICKLE: bad})
    for read in (load, inspect):
        with pytest.raises(WeightsError, match=r"pytorch_model\.bin"):
            read(folder)
        assert not marker.exists()


def test_the_pickle_would_have_run_its_code(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Evil(tmp_path / "marker"))).close()  # noqa: S301 - our own, to prove the test above
    assert (tmp_path / "marker").exists()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_not_finite_are_told_by_name(value: float, tmp_path: Path) -> None:
    bad = "bert.encoder.layer.2.intermediate.dense.bias"
    tensors = tensors_of()
    tensors[bad][3] = tensors[WORDS][50, 3] = value
    notes = load(put(tmp_path, files(tensors))).report.notes
    assert len(notes) == 2
    assert all(any(name in note for note in notes) for name in (bad, WORDS))


def test_two_equal_matrices_with_nan_are_one(tmp_path: Path) -> None:
    tensors = tensors_of()
    tensors[WORDS][50, 3] = float("nan")
    report = load(put(tmp_path, files(tensors | {DECODER: tensors[WORDS]}))).report
    assert report.tied
    assert not any("differ" in note for note in report.notes)


ODD_TENSORS = {
    "on no device": torch.empty(32, 32, device="meta"),
    "sparse": torch.eye(32).to_sparse(),
    "nested": torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged),
    "of no size": torch.empty(0, 32),
    "of many dimensions": torch.ones([1] * 64),
    "a view past its storage": torch.ones(1).expand(10**13, 32),
}


@pytest.mark.parametrize("kind", ODD_TENSORS)
def test_tensors_that_no_checkpoint_has_are_refused(kind: str, tmp_path: Path) -> None:
    name = "bert.encoder.layer.1.attention.self.key.weight"
    folder = put(tmp_path, {n: c for n, c in files().items() if n != "model.safetensors"})
    put(folder, {PICKLE: packed({**tensors_of(), name: ODD_TENSORS[kind]}, PICKLE)})
    with pytest.raises(BertvizError, match=name):
        load(folder)
    with suppress(BertvizError):
        inspect(folder)


@pytest.mark.parametrize("change", [{"special_tokens": {}}, {"single": [{"SpecialToken": {"id": "x", "type_id": 0}}]}])
def test_a_template_that_names_no_piece_is_told_or_works(change: dict[str, object], tmp_path: Path) -> None:
    values = json.loads(saved()["tokenizer.json"])
    values["post_processor"] |= change
    put(tmp_path, {**saved(), "tokenizer.json": json.dumps(values).encode()})
    with suppress(BertvizError):
        load(tmp_path).tokenizer.encode("the cat")
