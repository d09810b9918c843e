"""Expected values: the table in shell_runs.py, or transformers and analysis.top_k on the bundled checkpoint."""

from __future__ import annotations

import json
import logging
import math
import shutil
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from shell_runs import PROBS, run
from typer.testing import CliRunner

import bertviz_lite
from bertviz_lite.analysis import top_k
from bertviz_lite.commands import app

Capsys = pytest.CaptureFixture[str]

# What may be predicted, best first; the rest is special, or a row without a piece.
BEST = [("[bold]", 6, 0.25), ("a", 5, 0.10), ("##文", 7, 0.03), (".", 8, 0.02)]


ENTROPY = -sum(p * math.log(p) for p in PROBS.values())


def expected_mask(position: int, k: int) -> dict[str, object]:
    predictions = [
        {"token": token, "id": i, "prob": pytest.approx(prob, rel=1e-5), "rank": rank}
        for rank, (token, i, prob) in enumerate(BEST[:k], start=1)
    ]
    return {
        "position": position,
        "entropy_nats": pytest.approx(ENTROPY, rel=1e-5),
        "perplexity": pytest.approx(math.exp(ENTROPY), rel=1e-5),
        "covered_prob": pytest.approx(sum(prob for _, _, prob in BEST[:k]), rel=1e-5),
        "predictions": predictions,
    }


def test_json_is_exactly_what_the_readme_promises(small: str) -> None:
    result = CliRunner().invoke(app, ["fill", "a [MASK] .", "--model", small, "--top-k", "3", "--json"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == {
        "model": "small-one",
        "text": "a [MASK] .",
        "masks": [expected_mask(position=2, k=3)],
    }
    assert "##文" in result.stdout, "characters stand as themselves"


def test_several_masks(small: str, capsys: Capsys) -> None:
    ran = run(capsys, "fill", "[MASK] a[MASK]", "--model", small, "--json", "--top-k", "1")
    assert ran.json["masks"] == [expected_mask(1, 1), expected_mask(3, 1)]


@pytest.mark.parametrize(("options", "k"), [([], 4), (["--top-k", "2"], 2), (["--top-k", "99999"], 4)])
def test_how_many_predictions_are_given(small: str, capsys: Capsys, options: list[str], k: int) -> None:
    """Five by default; all four that may be predicted, where five are not."""
    ran = run(capsys, "fill", "[MASK]", "--model", small, "--json", *options)
    assert ran.json["masks"] == [expected_mask(1, k)]


def test_for_people_every_mask_has_a_table_of_tokens_and_probabilities(small: str) -> None:
    result = CliRunner().invoke(app, ["fill", "[MASK] a [MASK]", "--model", small, "--top-k", "3"])
    assert (result.exit_code, result.stderr) == (0, "")
    tables = result.stdout.split("mask ")[1:]
    assert len(tables) == 2
    for table, heading in zip(tables, ("1 of 2, token 1", "2 of 2, token 3"), strict=True):
        lines = table.splitlines()
        assert lines[0].startswith(heading)
        assert "small-one" in lines[0]
        rows = [line.split()[:3] for line in lines[2:] if line.strip()]
        assert rows == [["1", "[bold]", "0.250"], ["2", "a", "0.100"], ["3", "##文", "0.030"]]


def test_numbers_of_the_bundled_model_are_those_of_transformers_and_of_the_library(
    bundled_folder: Path, capsys: Capsys
) -> None:
    transformers.logging.set_verbosity(logging.CRITICAL)
    transformers.logging.disable_progress_bar()
    text = "[MASK] drank a bowl of [MASK]."
    tokenizer = transformers.AutoTokenizer.from_pretrained(bundled_folder)
    model = transformers.BertForMaskedLM.from_pretrained(bundled_folder, dtype=torch.float32).eval()
    inputs = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        probs = model(**inputs).logits[0].softmax(-1)
    probs_allowed = probs.clone()
    probs_allowed[:, tokenizer.all_special_ids] = 0

    ran = run(capsys, "fill", text, "--json", "--top-k", "7")
    assert (ran.status, ran.err) == (0, "")
    assert (ran.json["model"], ran.json["text"]) == ("english-mini", text)
    assert [mask["position"] for mask in ran.json["masks"]] == [1, 6]
    opened = bertviz_lite.load()
    library = top_k(opened.model, opened.tokenizer.encode(text), 7, exclude=opened.tokenizer.special_ids)
    for row, mask in enumerate(ran.json["masks"]):
        given = mask["predictions"]
        assert [p["rank"] for p in given] == [1, 2, 3, 4, 5, 6, 7]
        assert [p["prob"] for p in given] == pytest.approx(probs_allowed[mask["position"]].topk(7).values, abs=1e-5)
        assert [p["prob"] for p in given] == pytest.approx(probs[mask["position"], [p["id"] for p in given]], abs=1e-5)
        assert [p["token"] for p in given] == tokenizer.convert_ids_to_tokens([p["id"] for p in given])
        assert [p["id"] for p in given] == library.ids[row].tolist()
        assert [p["prob"] for p in given] == pytest.approx(library.probs[row].tolist(), abs=1e-6)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("a [mask].", "a [MASK]."),
        ("a [ MASK ] .", "a [MASK] ."),
        ("<mask> a", "[MASK] a"),
        ("a ___ a __", "a [MASK] a [MASK]"),
    ],
)
def test_a_mask_that_was_meant_is_offered(small: str, capsys: Capsys, typed: str, meant: str) -> None:
    sentence = run(capsys, "fill", typed, "--model", small).sentence()
    assert sentence.startswith("Nothing is masked.")
    assert sentence.endswith(f": {meant}")


@pytest.mark.parametrize("text", ["", "a .", "a_b"])
def test_no_mask_at_all(small: str, capsys: Capsys, text: str) -> None:
    assert "write [MASK]" in run(capsys, "fill", text, "--model", small, "--json").sentence()


def test_a_text_that_is_too_long(small: str, capsys: Capsys) -> None:
    sentence = run(capsys, "fill", "a " * 20 + "[MASK]", "--model", small).sentence()
    assert "23 tokens" in sentence  # twenty, the mask, [CLS] and [SEP]
    assert "at most 8" in sentence


def test_a_zip_serves_as_a_model(small: str, capsys: Capsys, tmp_path: Path) -> None:
    packed = shutil.make_archive(str(tmp_path / "packed"), "zip", Path(small).parent, "small-one")
    ran = run(capsys, "fill", "[MASK]", "--model", packed, "--json", "--top-k", "1")
    assert ran.json == {"model": "packed", "text": "[MASK]", "masks": [expected_mask(1, 1)]}


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["people", "json"])
@pytest.mark.parametrize("where", ["cls.predictions.transform.dense.bias", "cls.predictions.bias"])
def test_a_model_that_became_nan_in_training(
    small: str, capsys: Capsys, tmp_path: Path, where: str, options: list[str]
) -> None:
    """Numbers that are said to be NaN, or one sentence that says so; no traceback, and no broken JSON."""
    folder = tmp_path / "broken"
    shutil.copytree(small, folder)
    tensors = load_file(folder / "model.safetensors")
    save_file({**tensors, where: tensors[where] * math.nan}, folder / "model.safetensors")
    ran = run(capsys, "fill", "[MASK]", "--model", str(folder), *options)
    if ran.status == 0 and options:
        assert ran.json["masks"][0]["predictions"][0]["prob"] is None
    else:
        assert "nan" in (ran.out or ran.sentence()).lower()
