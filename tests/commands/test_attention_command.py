"""Expected values: transformers' attentions of the bundled model, read back out of every kind of file."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.testing import assert_allclose
from outside import Outside
from PIL import Image
from safetensors.torch import load_file, save_file
from shell_runs import run, write_checkpoint

Capsys = pytest.CaptureFixture[str]

TEXT, PAIR = "The souvenir, she said.", "It is here."
SVG = "{http://www.w3.org/2000/svg}"


class Expected:
    """Tokens and (L, H, T, T) weights as transformers has them."""

    def __init__(self, outside: Outside) -> None:
        self.outside = outside

    def weights(self, text: str, pair: str | None = None) -> np.ndarray:
        return self.outside.attentions(*self.outside.ids(text, pair)).numpy()

    def tokens(self, text: str, pair: str | None = None) -> list[str]:
        pieces: list[str] = self.outside.tokenizer.convert_ids_to_tokens(self.outside.ids(text, pair)[0])
        return pieces


@pytest.fixture
def expected(outside: Outside) -> Expected:
    return Expected(outside)


def arrays(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def words_of(path: Path) -> list[str]:
    return [found.text or "" for found in ElementTree.parse(path).iter(f"{SVG}text")]  # noqa: S314 - our own file


def test_npz_holds_all_heads_and_the_tokens(expected: Expected, capsys: Capsys, tmp_path: Path) -> None:
    out = tmp_path / "all.npz"
    ran = run(capsys, "attention", TEXT, PAIR, "--out", str(out))
    assert (ran.status, ran.err) == (0, "")
    assert str(out) in ran.out
    file = arrays(out)
    assert file["attention"].shape[:2] == (6, 12)
    assert_allclose(file["attention"], expected.weights(TEXT, PAIR), atol=1e-5)
    assert file["tokens"].tolist() == expected.tokens(TEXT, PAIR)
    assert (file["layers"].tolist(), file["heads"].tolist()) == (list(range(6)), list(range(12)))


@pytest.mark.parametrize(("layer", "head"), [(2, None), (None, 3), (2, 3)])
def test_npz_of_chosen_heads_keeps_four_axes(
    expected: Expected, capsys: Capsys, tmp_path: Path, layer: int | None, head: int | None
) -> None:
    chosen = [*([] if layer is None else ["--layer", str(layer)]), *([] if head is None else ["--head", str(head)])]
    assert run(capsys, "attention", TEXT, *chosen, "--out", str(tmp_path / "some.npz")).status == 0
    file = arrays(tmp_path / "some.npz")
    weights = expected.weights(TEXT)
    weights = weights if layer is None else weights[[layer]]
    assert_allclose(file["attention"], weights if head is None else weights[:, [head]], atol=1e-5)
    assert file["layers"].tolist() == (list(range(6)) if layer is None else [layer])
    assert file["heads"].tolist() == (list(range(12)) if head is None else [head])


def test_csv_and_json_say_the_same(expected: Expected, capsys: Capsys, tmp_path: Path) -> None:
    for kind in ("csv", "json"):
        out = str(tmp_path / f"one.{kind}")
        assert run(capsys, "attention", TEXT, "--layer", "1", "--head", "8", "--out", out).status == 0
    weights, tokens = expected.weights(TEXT)[1, 8], expected.tokens(TEXT)
    read = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    assert (read["tokens"], read["text"], read["model"]) == (tokens, TEXT, "english-mini")
    assert_allclose(read["attention"], weights[None, None], atol=1e-5)
    lines = list(csv.DictReader(io.StringIO((tmp_path / "one.csv").read_text(encoding="utf-8"), newline="")))
    assert len(lines) == len(tokens) ** 2
    for line in lines:
        query, key = int(line["query"]), int(line["key"])
        assert (line["layer"], line["head"]) == ("1", "8")
        assert (line["token"], line["key_token"]) == (tokens[query], tokens[key])
        assert abs(float(line["weight"]) - weights[query, key]) < 1e-5


def test_words_pairs_kinds_and_rescaling_are_those_of_the_view(
    expected: Expected, capsys: Capsys, tmp_path: Path
) -> None:
    """Worked out from transformers' weights; a row with less than a millionth on what is shown stays empty."""
    out = str(tmp_path / "shown.npz")
    options = ("--by", "words", "--pairs", "a_to_b", "--without", "sep, punctuation", "--rescale")
    assert run(capsys, "attention", "The souvenirs.", PAIR, *options, "--out", out).status == 0
    file = arrays(Path(out))
    tokens = expected.tokens("The souvenirs.", PAIR)
    weights = expected.weights("The souvenirs.", PAIR)
    word = [i for i, token in enumerate(tokens) if 2 <= i < tokens.index(".")]
    assert len(word) > 1, "a word of several pieces"
    first_b = tokens.index("[SEP]") + 1
    rows = np.stack([weights[..., 0, :], weights[..., 1, :], weights[..., word, :].mean(-2)], -2)
    left = rows[..., first_b : first_b + 3]
    assert file["tokens"].tolist() == ["[CLS]", "The", "souvenirs"]
    assert file["key_tokens"].tolist() == ["It", "is", "here"]
    sums = left.sum(-1, keepdims=True)
    assert_allclose(file["attention"], np.where(sums < 1e-6, 0, left / sums), atol=2e-4)


def test_masked_words_are_read_as_masks(expected: Expected, capsys: Capsys, tmp_path: Path) -> None:
    """Words are counted on through the second text: 0 The, 1 cat, 2 the stop, 3 It."""
    out = str(tmp_path / "masked.npz")
    assert run(capsys, "attention", "The cat.", "It is.", "--mask", "1, 3", "--out", out).status == 0
    assert arrays(Path(out))["tokens"].tolist() == [
        "[CLS]",
        "the",
        "[MASK]",
        ".",
        "[SEP]",
        "[MASK]",
        "is",
        ".",
        "[SEP]",
    ]
    assert_allclose(arrays(Path(out))["attention"], expected.weights("The [MASK].", "[MASK] is."), atol=1e-5)


def test_pictures_show_what_was_asked_for(capsys: Capsys, tmp_path: Path) -> None:
    def drawn(name: str, *options: str) -> Path:
        assert run(capsys, "attention", TEXT, *options, "--out", str(tmp_path / name)).status == 0
        return tmp_path / name

    one = words_of(drawn("one.svg", "--layer", "2", "--head", "3"))
    assert {"looks at", "layer 2, head 3", "##uven", "[CLS]"} <= set(one)
    layer = drawn("layer.svg", "--layer", "2")
    assert {f"head {n}" for n in range(12)} <= set(words_of(layer))
    head = drawn("head.svg", "--head", "3", "--without", "cls,sep")
    assert {f"layer {n}" for n in range(6)} | {"all layers, head 3; without [CLS], [SEP]"} <= set(words_of(head))
    assert "[CLS]" not in words_of(head)
    everything = drawn("all.svg")
    images = [found.get("id") for found in ElementTree.parse(everything).iter(f"{SVG}image")]  # noqa: S314
    assert {f"map-{a}-{b}" for a in range(6) for b in range(12)} <= set(images)
    with Image.open(drawn("one.PNG", "--layer", "0", "--head", "0")) as picture:
        assert picture.format == "PNG"


def test_the_page_opens_with_what_was_chosen_and_needs_no_network(capsys: Capsys, tmp_path: Path) -> None:
    out = tmp_path / "view.html"
    assert run(capsys, "attention", TEXT, "--layer", "4", "--head", "1", "--out", str(out)).status == 0
    page = out.read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\"'\s)]+", page)) - {"http://www.w3.org/2000/svg"} == {  # a name, no address
        "https://arxiv.org/abs/1902.10186",
        "https://arxiv.org/abs/1906.03731",
        "https://arxiv.org/abs/1908.04626",
    }


def test_named_heads_are_told_with_their_scores(expected: Expected, capsys: Capsys) -> None:
    ran = run(capsys, "attention", TEXT)
    previous = np.diagonal(expected.weights(TEXT), -1, -2, -1).mean(-1)
    layer, head = np.unravel_index(previous.argmax(), previous.shape)
    assert re.search(rf"previous token +{layer}·{head} +{previous.max():.2f}\n", ran.out)
    assert "from 0" in ran.out


def test_the_numbers_of_one_head(expected: Expected, capsys: Capsys) -> None:
    weights = expected.weights(TEXT)[5, 7]
    entropy = -(weights * np.log(np.maximum(weights, 1e-30))).sum(-1).mean()
    ran = run(capsys, "attention", TEXT, "--layer", "5", "--head", "7")
    assert re.search(rf"entropy_nats +{entropy:.3f}\n", ran.out)
    told = run(capsys, "attention", TEXT, "--layer", "5", "--head", "7", "--json").json
    assert told["tokens"] == expected.tokens(TEXT)
    (record,) = told["heads"]
    assert (record["layer"], record["head"]) == (5, 7)
    assert record["entropy_nats"] == pytest.approx(entropy, abs=1e-5)
    assert record["self_prob"] == pytest.approx(np.diagonal(weights).mean(), abs=1e-5)


def test_records_of_chosen_heads_keep_the_models_numbers(capsys: Capsys) -> None:
    every = run(capsys, "attention", TEXT, "--json").json["heads"]
    assert [(one["layer"], one["head"]) for one in every] == list(np.ndindex(6, 12))
    some = run(capsys, "attention", TEXT, "--head", "9", "--json").json["heads"]
    assert some == [one for one in every if one["head"] == 9]


def test_a_file_that_is_there_is_not_lost(small: str, capsys: Capsys, tmp_path: Path) -> None:
    out = tmp_path / "mine.svg"
    out.write_text("mine", encoding="utf-8")
    told = run(capsys, "attention", "a .", "--model", small, "--out", str(out)).sentence()
    assert "there already" in told
    assert "--overwrite" in told
    assert out.read_text(encoding="utf-8") == "mine"
    assert run(capsys, "attention", "a .", "--model", small, "--out", str(out), "--overwrite").status == 0
    assert out.read_bytes().startswith(b"<?xml")


def test_what_cannot_be_written_leaves_what_was_there(
    small: str, capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "mine.npz"
    out.write_bytes(b"mine")

    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Path, "replace", full)
    told = run(capsys, "attention", "a .", "--model", small, "--out", str(out), "--overwrite").sentence()
    assert "mine.npz cannot be written (No space left on device)" in told
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"mine"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["a", "--out", "x.pdf"], "one of .html, .svg, .png, .csv, .json, .npz"),
        (["a", "--out", "x"], "the suffix says what is written"),
        (["a", "--out", "nowhere/x.svg"], "no folder nowhere"),
        (["a", "--layer", "1"], "There is no layer 1: this model's go from 0 to 0"),
        (["a", "--layer", "-1"], "There is no layer -1"),
        (["a", "--head", "2"], "There is no head 2: this model's go from 0 to 1"),
        (["a .", "--mask", "2"], "There is no word 2: the words go from 0 to 1"),
        (["a", "--mask", "cat"], "--mask cat: write numbers of words"),
        (["a", "--without", "cls,nouns"], "--without nouns"),
        (["a", "--pairs", "a_to_b"], "only one sentence"),
        (["a", "--pairs", "b"], "'b' is not one of"),
        (["a", "--by", "letters"], "'letters' is not one of"),
        ([""], "no word in this text"),
        ([".", "--without", "cls,sep,punctuation"], "left to show"),
        (["a a a a a a a"], "9 tokens"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    small: str, capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert told in run(capsys, "attention", *words, "--model", small).sentence()
    assert not list(tmp_path.iterdir())


def test_too_many_weights_for_text_are_told(capsys: Capsys, tmp_path: Path) -> None:
    out = tmp_path / "all.csv"
    told = run(capsys, "attention", "The cat. " * 100, "--out", str(out)).sentence()
    assert "too many for a CSV file" in told
    assert "NPZ" in told
    assert not out.exists()


@pytest.mark.parametrize("kind", ["html", "svg", "png", "csv", "json", "npz"])
def test_an_encoder_without_a_head_has_its_attention(small: str, capsys: Capsys, tmp_path: Path, kind: str) -> None:
    folder = write_checkpoint(tmp_path / "encoder")
    tensors = load_file(folder / "model.safetensors")
    save_file({name: t for name, t in tensors.items() if name.startswith("bert.")}, folder / "model.safetensors")
    out = tmp_path / f"out.{kind}"
    assert run(capsys, "attention", "a .", "--model", str(folder), "--out", str(out)).status == 0
    assert out.stat().st_size > 0
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [out.name], "nothing else is left behind"


def test_the_help_says_where_numbers_begin(capsys: Capsys) -> None:
    helped = run(capsys, "attention", "--help").out
    assert "from 0, as in BertViz" in " ".join(helped.split())
