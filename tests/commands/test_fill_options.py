"""Expected values: the table in shell_runs.py and hand arithmetic, or the library on the bundled checkpoint."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file
from shell_runs import PROBS, run

import bertviz_lite
from bertviz_lite.analysis import STRATEGIES, candidates, fill

Capsys = pytest.CaptureFixture[str]
CITY = "She was born in [MASK] [MASK], California."


def ln(*pieces: str) -> object:
    return pytest.approx(sum(math.log(PROBS[piece]) for piece in pieces), rel=1e-5)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_several_masks_are_filled_together(small: str, capsys: Capsys, strategy: str) -> None:
    ran = run(
        capsys, "fill", "[MASK] a [MASK]", "--model", small, "--json", "--strategy", strategy, "--beams", "2",
        "--top-k", "1",
    )  # fmt: skip
    assert ran.json["strategy"] == strategy
    first = ran.json["fillings"][0]
    assert (first["tokens"], first["ids"]) == (["[bold]", "[bold]"], [6, 6])
    assert first["joint_log_prob"] == ln("[bold]", "[bold]")
    assert first["log_probs"] == [ln("[bold]"), ln("[bold]")]
    assert sorted(first["order"]) == [1, 2]
    if strategy == "beam":
        second = ran.json["fillings"][1]
        assert sorted(second["tokens"]) == ["[bold]", "a"]
        assert second["joint_log_prob"] == ln("[bold]", "a")
    assert len(ran.json["fillings"]) == (2 if strategy == "beam" else 1)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_fillings_are_the_librarys(capsys: Capsys, strategy: str) -> None:
    opened = bertviz_lite.load()
    encoding = opened.tokenizer.encode(CITY)
    found = fill(opened.model, encoding, strategy, beams=4, exclude=opened.tokenizer.special_ids)
    ran = run(capsys, "fill", CITY, "--strategy", strategy, "--beams", "4", "--json")
    assert [filling["ids"] for filling in ran.json["fillings"]] == found.ids.tolist()
    assert [f["joint_log_prob"] for f in ran.json["fillings"]] == pytest.approx(found.joint_log_probs, abs=1e-5)
    people = run(capsys, "fill", CITY, "--strategy", strategy, "--beams", "4").out
    assert strategy.replace("_", " ") in people.splitlines()[0]
    assert len(people.splitlines()) == 2 + len(found.ids)


def test_candidates_are_scored_whole(small: str, capsys: Capsys, tmp_path: Path) -> None:
    listed = tmp_path / "words.txt"
    listed.write_text("a\n\n☃\n a \n. a\n", encoding="utf-8")
    ran = run(
        capsys, "fill", "[MASK] . [MASK]", "--model", small, "--json", "--candidates", f"@{listed}", "--mask", "2"
    )
    a, both, unknown = ran.json["candidates"]
    assert (a["word"], a["tokens"], a["joint_log_prob"], a["ranks"]) == ("a", ["a"], ln("a"), [2])
    assert a["prob"] == pytest.approx(PROBS["a"], rel=1e-5)
    assert (both["word"], both["tokens"], both["joint_log_prob"]) == (". a", [".", "a"], ln(".", "a"))
    assert both["log_probs"] == [ln("."), ln("a")]
    assert (unknown["word"], unknown["unknown"], unknown["joint_log_prob"], unknown["prob"]) == ("☃", True, None, None)


def test_candidates_of_many_pieces_are_the_librarys(capsys: Capsys) -> None:
    words = ["milk", "ice cream", "souvenir"]
    text = "The cat drank a bowl of [MASK]."
    opened = bertviz_lite.load()
    found = candidates(opened.model, opened.tokenizer, opened.tokenizer.encode(text), words)
    ran = run(capsys, "fill", text, "--candidates", ",".join(words), "--json")
    assert [word["word"] for word in ran.json["candidates"]] == words
    assert [w["joint_log_prob"] for w in ran.json["candidates"]] == pytest.approx(found.joint_log_probs, abs=1e-5)
    assert ran.json["candidates"][2]["tokens"] == ["so", "##uven", "##ir"]
    people = run(capsys, "fill", text, "--candidates", ",".join([*words, "☃"])).out
    assert "so ##uven ##ir" in people
    assert "not in the vocabulary" in people


def test_a_target_is_ranked_at_every_masked_place(small: str, capsys: Capsys) -> None:
    ran = run(capsys, "fill", "[MASK] a [MASK]", "--model", small, "--json", "--target", "a", "--target", ".")
    assert [place["position"] for place in ran.json["targets"]] == [1, 3]
    for place in ran.json["targets"]:
        assert [(word["word"], word["ranks"]) for word in place["words"]] == [("a", [2]), (".", [4])]
    people = run(capsys, "fill", "[MASK] a [MASK]", "--model", small, "--target", "a").out
    assert people.count("masked place") == 2


def test_a_text_too_long_is_read_around_its_mask_on_request(small: str, capsys: Capsys) -> None:
    text = "a " * 20 + "[MASK] " + ". " * 20
    told = run(capsys, "fill", text, "--model", small).sentence()
    assert "at most 8" in told
    assert "--window" in told
    ran = run(capsys, "fill", text, "--model", small, "--json", "--window")
    assert ran.json["window"] == {"first": 18, "last": 23, "n_tokens": 43}
    assert [mask["position"] for mask in ran.json["masks"]] == [21]
    assert "tokens 18 to 23 of 43" in run(capsys, "fill", text, "--model", small, "--window").out
    ran = run(capsys, "fill", text, "--model", small, "--json", "--window", "--candidates", "a . a")
    assert ran.json["candidates"][0]["joint_log_prob"] == ln("a", ".", "a")
    assert ran.json["window"]["last"] - ran.json["window"]["first"] == 3, "room for two pieces more"


@pytest.mark.parametrize("json_option", [[], ["--json"]])
def test_a_text_that_fits_is_whole_with_the_option_too(small: str, capsys: Capsys, json_option: list[str]) -> None:
    plain = run(capsys, "fill", "a [MASK]", "--model", small, *json_option)
    assert run(capsys, "fill", "a [MASK]", "--model", small, "--window", *json_option).out == plain.out


def test_filters(small: str, capsys: Capsys) -> None:
    def tokens(*options: str) -> list[str]:
        ran = run(capsys, "fill", "[MASK]", "--model", small, "--json", "--top-k", "99", *options)
        return [prediction["token"] for prediction in ran.json["masks"][0]["predictions"]]

    assert tokens("--whole-words") == ["[bold]", "a", "."]
    assert set(tokens("--special")) - set(tokens()) == {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    assert "a" not in tokens("--case", "capital")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--strategy", "best"], "not one of"),
        (["--beams", "0"], "greater than or equal to 1"),
        (["--candidates", " , "], "no word"),
        (["--candidates", "@/no/such/file"], "cannot be read"),
        (["--candidates", "a", "--mask", "2"], "no masked place 2"),
        (["--candidates", "a [MASK]"], "holds the mask"),
        (["--candidates", "a a a a a a a a a"], "its place the text is 12 tokens long"),
        (["--target", ""], "is no word"),
        (["--case", "UPPER"], "not one of"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_one_sentence(small: str, capsys: Capsys, options: list[str], told: str) -> None:
    assert told in run(capsys, "fill", "a [MASK]", "--model", small, *options).sentence()


def test_a_file_that_is_no_text_is_told(small: str, capsys: Capsys, tmp_path: Path) -> None:
    (tmp_path / "words").write_bytes(b"\xff\xfe\x00a")
    options = ["--candidates", f"@{tmp_path / 'words'}"]
    assert "UTF-8" in run(capsys, "fill", "[MASK]", "--model", small, *options).sentence()


def test_json_of_everything_is_json(capsys: Capsys) -> None:
    options = ["--strategy", "beam", "--candidates", "new york, ☃", "--target", "los", "--json"]
    ran = run(capsys, "fill", CITY, *options)
    assert set(ran.json) == {"model", "text", "masks", "strategy", "fillings", "candidates", "targets"}
    assert json.dumps(ran.json, allow_nan=False)


def test_what_is_impossible_is_json_too(small: str, capsys: Capsys, tmp_path: Path) -> None:
    folder = tmp_path / "never"
    shutil.copytree(small, folder)
    tensors = load_file(folder / "model.safetensors")
    tensors["cls.predictions.bias"][5] = -math.inf  # "a"
    save_file(tensors, folder / "model.safetensors")
    ran = run(capsys, "fill", "[MASK]", "--model", str(folder), "--json", "--candidates", "a, .", "--strategy", "beam")
    likely, impossible = ran.json["candidates"]
    assert (likely["word"], impossible["word"]) == (".", "a")
    assert (impossible["joint_log_prob"], impossible["prob"], impossible["log_probs"]) == (None, 0.0, [None])
