"""What was opened is saved as a clean folder: transformers opens it with equal logits and ids, and so do we."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import torch
from opening_cases import CASES, Opens, apart, old_norm, params, two_biases
from safetensors import safe_open
from small_files import (
    DECODER,
    DECODER_BIAS,
    PICKLE,
    VOCABULARY,
    WEIGHTS,
    WORDS,
    files,
    logits_of,
    put,
    reference,
    saved,
    tensors_of,
    zip_of,
)
from torch.testing import assert_close
from transformers import AutoModelForMaskedLM, AutoTokenizer

from bertviz_lite.checkpoints import Checkpoint, load, saved_zip

TEXTS = ("the cat sat.", "The CATS sat", "", "[MASK] w1 [SEP] w2", "café w88 w89", "a\u2028b 中", "[mask] <mask> ___")
UNTIED = {"tie_word_embeddings": False}

KINDS: dict[str, Any] = {
    "tied": saved,
    "tied, as a pickle with old names": lambda: files(
        {"module." + old_norm(n): t for n, t in tensors_of().items()}, weights=PICKLE
    ),
    "untied": partial(files, tensors_of(reference(tied=False)), config=UNTIED),
    "untied by its tensors": lambda: files(apart()),
    "untied with two biases": partial(files, two_biases(tensors_of(reference(tied=False))), config=UNTIED),
    "padded rows": lambda: files(tensors_of(reference(vocab_size=104))),
    "a config with gaps": partial(files, lacks=("vocab_size", "hidden_size", "num_hidden_layers", "model_type")),
    "a cased vocabulary": partial(files, vocabulary=(*VOCABULARY[:-2], "The", "CATS")),
    "double precision": lambda: files({name: t.double() for name, t in tensors_of().items()}),
    "in float16": lambda: files({n: t.half() for n, t in tensors_of().items()}, config={"dtype": "float16"}),
    "in bfloat16": lambda: files(
        {n: t.bfloat16() for n, t in tensors_of().items()}, config={"torch_dtype": "bfloat16"}
    ),
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Checkpoint:
    make: Callable[[], dict[str, bytes]] = request.param
    return load(put(tmp_path / "given", make()))


def test_transformers_opens_what_was_saved(opened: Checkpoint, tmp_path: Path) -> None:
    opened.save_pretrained(tmp_path / "new" / "saved")
    theirs, told = AutoModelForMaskedLM.from_pretrained(tmp_path / "new" / "saved", output_loading_info=True)
    assert not any(told[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert_close(logits_of(theirs.eval()), logits_of(opened.model), atol=1e-5, rtol=1e-5)
    tied = theirs.cls.predictions.decoder.weight is theirs.bert.embeddings.word_embeddings.weight
    assert tied == opened.report.tied


def test_transformers_splits_text_as_we_do(opened: Checkpoint, tmp_path: Path) -> None:
    opened.save_pretrained(tmp_path / "saved")
    theirs = AutoTokenizer.from_pretrained(tmp_path / "saved")
    for text in TEXTS:
        assert list(opened.tokenizer.encode(text).ids) == theirs([text])["input_ids"][0]
    pair = theirs(["the cat"], ["sat."])
    assert list(opened.tokenizer.encode("the cat", "sat.").ids) == pair["input_ids"][0]
    assert list(opened.tokenizer.encode("the cat", "sat.").segment_ids) == pair["token_type_ids"][0]
    assert theirs.mask_token_id == opened.tokenizer.mask_id


def test_we_open_what_was_saved(opened: Checkpoint, tmp_path: Path) -> None:
    opened.save_pretrained(tmp_path / "saved")
    again = load(tmp_path / "saved")
    assert_close(logits_of(again.model), logits_of(opened.model), atol=0, rtol=0)
    assert again.config == opened.config
    assert again.excluded_ids == opened.excluded_ids
    assert again.tokenizer.pieces == opened.tokenizer.pieces
    assert again.tokenizer.special_ids == opened.tokenizer.special_ids
    for text in TEXTS:
        assert again.tokenizer.encode(text) == opened.tokenizer.encode(text)
    report = again.report
    assert report.renamed == report.unused == report.inferred == report.notes == report.problems == ()
    opened.save_pretrained(tmp_path / "twice")
    assert load(tmp_path / "twice").report.digest == report.digest, "saving is the same every time"


def test_the_saved_folder_is_clean(opened: Checkpoint, tmp_path: Path) -> None:
    opened.save_pretrained(tmp_path / "saved")
    names = {path.name for path in (tmp_path / "saved").iterdir()}
    assert names == {"config.json", WEIGHTS, "tokenizer.json", "tokenizer_config.json", "vocab.txt"}
    with safe_open(tmp_path / "saved" / WEIGHTS, "pt") as file:
        assert file.metadata() == {"format": "pt"}
        assert set(file.keys()) - {DECODER, DECODER_BIAS} == tensors_of().keys()
        assert (DECODER in file.keys()) == (not opened.report.tied)  # noqa: SIM118 - no mapping
        assert {str(file.get_tensor(name).dtype) for name in file.keys()} == {"torch.float32"}  # noqa: SIM118


@pytest.mark.parametrize("case", params(CASES))
def test_every_case_that_opens_can_be_saved(case: Opens, tmp_path: Path) -> None:
    load(put(tmp_path / "given", case.files())).save_pretrained(tmp_path / "saved")
    again = load(tmp_path / "saved")
    assert_close(logits_of(again.model), logits_of(case.model()), atol=1e-5, rtol=1e-5)
    assert again.report.renamed == again.report.unused == again.report.inferred == again.report.notes == ()


@pytest.mark.parametrize(
    "name",
    [
        "tiny",
        "my model, 2nd try",
        "modèle",
        "../up",
        "C:\\models\\tiny",
        "/models/tiny",
    ],
)
def test_a_saved_zip_opens_whatever_the_checkpoint_is_called(name: str) -> None:
    given = {name + ".zip": BytesIO(zip_of(files()))}  # a browser may send any name
    packed = saved_zip(load(given))
    again = load({"saved.zip": BytesIO(packed)})
    assert_close(logits_of(again.model), logits_of(reference()), atol=1e-5, rtol=1e-5)
    assert again.report.notes == again.report.inferred == ()


def test_a_folder_may_be_saved_over_while_its_model_is_open(tmp_path: Path) -> None:
    checkpoint = load(put(tmp_path, files()))
    checkpoint.save_pretrained(tmp_path)
    checkpoint.save_pretrained(str(tmp_path))
    assert_close(logits_of(checkpoint.model), logits_of(reference()), atol=1e-5, rtol=1e-5)
    assert_close(logits_of(load(tmp_path).model), logits_of(reference()), atol=1e-5, rtol=1e-5)


def test_weights_that_are_not_finite_are_saved_as_they_are(tmp_path: Path) -> None:
    tensors = tensors_of()
    tensors["cls.predictions.bias"][3] = float("nan")
    load(put(tmp_path, files(tensors))).save_pretrained(tmp_path)
    saved_bias = load(tmp_path).model.cls.predictions.bias
    assert_close(saved_bias.detach(), tensors["cls.predictions.bias"], atol=0, rtol=0, equal_nan=True)
    assert torch.isnan(saved_bias).sum() == 1


def test_a_lone_surrogate_in_config_json_is_replaced(tmp_path: Path) -> None:
    """Kept, it could be neither shown on a page nor written as UTF-8."""
    load(put(tmp_path, files(config={"note": "a\ud800b"}))).save_pretrained(tmp_path / "saved")
    assert load(tmp_path / "saved").config.extra["note"] == "a?b"


def test_two_matrices_of_which_one_holds_nan_do_not_differ_by_nothing(tmp_path: Path) -> None:
    tensors = tensors_of()
    tensors[DECODER] = tensors[WORDS].clone()
    tensors[WORDS][5, 7] = float("nan")
    (note,) = [note for note in load(put(tmp_path, files(tensors))).report.notes if "differ" in note]
    assert "differ in NaN or infinite values" in note
