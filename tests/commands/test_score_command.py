"""Expected values: the table in shell_runs.py and arithmetic by hand, or transformers on the bundled checkpoint."""

from __future__ import annotations

import importlib
import json
import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from shell_runs import Ran, run, write_checkpoint

from bertviz_lite import BERTForMaskedLM
from bertviz_lite.analysis import METRICS, ScoredLine, score_lines

score_module = importlib.import_module("bertviz_lite.commands.score")  # the package offers the function of that name

Capsys = pytest.CaptureFixture[str]

TEXTS = ["a .", "", "☃ a", "a " * 20, "."]  # the third begins with a character that no piece spells
KEYS = ["line", "text", "metric", "sum_nats", "tokens", "pseudo_perplexity", "error"]
A, UNK, DOT = (-math.log(p) for p in (0.10, 0.05, 0.02))


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    return path


def records(text: str) -> list[dict[str, object]]:
    return [
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
        for line in text.split("\n")[:-1]
    ]


def scored(small: str, capsys: Capsys, file: Path, *options: str) -> Ran:
    return run(capsys, "score", str(file), "--model", small, *options)


def test_json_lines_are_exactly_what_the_readme_promises(small: str, capsys: Capsys, texts: Path) -> None:
    ran = scored(small, capsys, texts, "--json")
    assert (ran.status, ran.err) == (0, "")
    found = records(ran.out)
    assert [list(record) for record in found] == 5 * [KEYS]
    assert [record["line"] for record in found] == [1, 2, 3, 4, 5]
    assert [record["text"] for record in found] == TEXTS
    assert {record["metric"] for record in found} == {"pll"}
    assert found[0]["tokens"] == [
        {"token": "a", "loss_nats": pytest.approx(A, rel=1e-5), "prob": pytest.approx(0.10, rel=1e-5), "rank": 2},
        {
            "token": ".",
            "loss_nats": pytest.approx(DOT, rel=1e-5),
            "prob": pytest.approx(0.02, rel=1e-5),
            "rank": 4,
        },
    ]
    assert found[0]["sum_nats"] == pytest.approx(A + DOT, rel=1e-5)
    assert found[0]["pseudo_perplexity"] == pytest.approx(math.exp((A + DOT) / 2), rel=1e-5)
    assert found[0]["error"] is None
    assert [token["token"] for token in found[2]["tokens"]] == ["[UNK]", "a"]
    for number, told in ((1, "line is empty"), (3, "22 tokens long")):
        assert told in found[number]["error"]
        assert (found[number]["sum_nats"], found[number]["tokens"], found[number]["pseudo_perplexity"]) == (
            None,
            [],
            None,
        )


def test_for_people_a_table_the_sums_and_what_was_left_out(small: str, capsys: Capsys, texts: Path) -> None:
    ran = scored(small, capsys, texts)
    assert (ran.status, ran.err) == (0, "")
    rows = [line.split()[:4] for line in ran.out.split("\n")[1:4]]
    assert rows == [
        ["1", f"{A + DOT:.2f}", "2", f"{math.exp((A + DOT) / 2):.1f}"],
        ["3", f"{A + UNK:.2f}", "2", f"{math.exp((A + UNK) / 2):.1f}"],
        ["5", f"{DOT:.2f}", "1", f"{math.exp(DOT):.1f}"],
    ]
    total = 2 * A + DOT + UNK + DOT
    assert f"3 of 5 lines scored by pll with small-one: {total:.2f} nats over 5 tokens" in ran.out
    assert f"perplexity {math.exp(total / 5):.2f} a token" in ran.out
    assert f"{total / math.log(2) / len('a .' + '☃ a' + '.'):.3f} bits a character" in ran.out
    assert "line 2: The line is empty." in ran.out
    assert "line 4: The text is 22 tokens long" in ran.out


@pytest.mark.parametrize("n_bytes", [0, 1, 250, 400, 10**6])
def test_a_run_that_was_interrupted_goes_on(
    small: str, capsys: Capsys, texts: Path, tmp_path: Path, n_bytes: int
) -> None:
    """Cut after any byte, the file ends up as if nothing had happened; what stood there is not scored again."""
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    summary = scored(small, capsys, texts, "--out", str(whole), "--json").json
    assert summary["lines"] == 5
    assert summary["tokens"] == 5
    assert [error["line"] for error in summary["errors"]] == [2, 4]
    cut.write_bytes(whole.read_bytes()[:n_bytes])
    again = scored(small, capsys, texts, "--out", str(cut), "--json")
    assert again.status == 0
    assert cut.read_bytes() == whole.read_bytes()
    assert again.json == summary
    assert len(records(whole.read_text(encoding="utf-8"))) == 5


def test_lines_that_are_done_are_kept_as_they_are(small: str, capsys: Capsys, texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    scored(small, capsys, texts, "--out", str(out))
    first, *rest = out.read_text(encoding="utf-8").splitlines(keepends=True)
    marked = first.replace('"rank": 2', '"rank": 77')
    out.write_text(marked + rest[0] + rest[1], encoding="utf-8")
    assert "3 of 5 lines" in scored(small, capsys, texts, "--out", str(out)).out
    assert out.read_text(encoding="utf-8") == marked + "".join(rest)


def test_a_file_of_other_scores_is_never_touched(small: str, capsys: Capsys, texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    scored(small, capsys, texts, "--out", str(out))
    before = out.read_bytes()
    other = tmp_path / "other.txt"
    other.write_text("a\n", encoding="utf-8")
    assert "holds other scores" in scored(small, capsys, texts, "--out", str(out), "--metric", "l2r").sentence()
    assert "holds other scores" in scored(small, capsys, other, "--out", str(out)).sentence()
    assert out.read_bytes() == before
    for content in (b"not mine\n", b"[1]\n", b"{}\n", b"\xff\n"):
        other.write_bytes(content)
        assert "name another file" in scored(small, capsys, texts, "--out", str(other)).sentence()
        assert other.read_bytes() == content


def test_another_models_scores_are_not_continued(small: str, capsys: Capsys, texts: Path, tmp_path: Path) -> None:
    out, folder = tmp_path / "out.jsonl", write_checkpoint(tmp_path / "other-one")
    tensors = load_file(folder / "model.safetensors")
    tensors["cls.predictions.bias"][5] += 1
    save_file(tensors, folder / "model.safetensors")
    texts.write_text("a\n.\n", encoding="utf-8")
    scored(small, capsys, texts, "--out", str(out))
    assert "another model" in scored(str(folder), capsys, texts, "--out", str(out)).sentence()


def test_a_column_is_chosen(small: str, capsys: Capsys, tmp_path: Path) -> None:
    table = tmp_path / "pairs.csv"
    table.write_text("good,bad\na,.\n.,a\n", encoding="utf-8")
    found = records(scored(small, capsys, table, "--json", "--column", "bad").out)
    assert [record["text"] for record in found] == [".", "a"]
    assert "good, bad" in scored(small, capsys, table).sentence()
    assert "no column of texts “ugly”" in scored(small, capsys, table, "--column", "ugly").sentence()


def test_files_that_cannot_be_read(small: str, capsys: Capsys, tmp_path: Path, texts: Path) -> None:
    assert "cannot be read" in scored(small, capsys, tmp_path / "absent.txt").sentence()
    assert "cannot be read" in scored(small, capsys, tmp_path).sentence()
    assert "cannot be written" in scored(small, capsys, texts, "--out", str(tmp_path / "no" / "o.jsonl")).sentence()
    (tmp_path / "empty.txt").touch()
    assert "is empty" in scored(small, capsys, tmp_path / "empty.txt").sentence()


def test_an_unknown_metric_is_told_with_those_there_are(small: str, capsys: Capsys, texts: Path) -> None:
    sentence = scored(small, capsys, texts, "--metric", "best").sentence()
    assert all(metric in sentence for metric in METRICS)


def test_many_lines_with_errors_are_counted(small: str, capsys: Capsys, texts: Path) -> None:
    texts.write_text("\n" * 50, encoding="utf-8")
    ran = scored(small, capsys, texts)
    assert "0 of 50 lines" in ran.out
    assert "and 30 lines more" in ran.out


def test_broken_weights_are_an_error_of_every_line(small: str, capsys: Capsys, texts: Path, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    shutil.copytree(small, folder)
    tensors = load_file(folder / "model.safetensors")
    save_file({name: tensor * math.nan for name, tensor in tensors.items()}, folder / "model.safetensors")
    found = records(scored(str(folder), capsys, texts, "--json").out)
    assert "NaN" in found[0]["error"]


def test_numbers_are_those_of_a_plain_loop_over_transformers(
    bundled_folder: Path, capsys: Capsys, tmp_path: Path
) -> None:
    sentences = ["The traveler lost the souvenir.", "Hello world!", "It rained all day, so we stayed at home."]
    file = tmp_path / "sentences.txt"
    file.write_text("\n".join(sentences), encoding="utf-8")
    tokenizer = transformers.AutoTokenizer.from_pretrained(bundled_folder)
    model = transformers.BertForMaskedLM.from_pretrained(bundled_folder, dtype=torch.float32).eval()
    for sentence, found in zip(sentences, records(run(capsys, "score", str(file), "--json").out), strict=True):
        ids = tokenizer(sentence, return_tensors="pt")["input_ids"]
        losses = []
        for position in range(1, ids.shape[1] - 1):
            masked = ids.clone()
            masked[0, position] = tokenizer.mask_token_id
            with torch.no_grad():
                losses.append(-model(masked).logits[0, position].log_softmax(-1)[ids[0, position]].item())
        assert [token["loss_nats"] for token in found["tokens"]] == pytest.approx(losses, abs=1e-4)
        assert found["sum_nats"] == pytest.approx(sum(losses), abs=1e-3)


def test_the_fixture_is_the_model_of_the_table(small: str) -> None:
    assert BERTForMaskedLM.from_pretrained(small).cls.predictions.bias[5].exp().item() == pytest.approx(0.10)


@pytest.mark.parametrize(
    "content", [b"my only copy", b"One line.", b'{"line"', b"[" * 200_000 + b"\n", b'{"line": 1}\n']
)
def test_a_file_of_something_else_is_never_touched(
    small: str, capsys: Capsys, texts: Path, tmp_path: Path, content: bytes
) -> None:
    out = tmp_path / "notes.txt"
    out.write_bytes(content)
    ran = scored(small, capsys, texts, "--out", str(out))
    if content == b'{"line"':  # the beginning of a record, as an interrupted run leaves it
        assert ran.status == 0
        return
    assert "name another file" in ran.sentence()
    assert out.read_bytes() == content


def test_the_texts_are_not_their_own_scores(small: str, capsys: Capsys, texts: Path) -> None:
    before = texts.read_bytes()
    assert "is the file with the texts" in scored(small, capsys, texts, "--out", str(texts)).sentence()
    assert texts.read_bytes() == before


def test_scores_go_into_a_plain_file(small: str, capsys: Capsys, texts: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for out in (tmp_path / "pipe", tmp_path, Path("/dev/null")):
        assert "is no file" in scored(small, capsys, texts, "--out", str(out)).sentence()


def test_a_sum_that_is_no_number_is_no_score(small: str, capsys: Capsys, texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert scored(small, capsys, texts, "--out", str(out)).status == 0
    first, *rest = out.read_text(encoding="utf-8").splitlines()
    forged = first.replace(f'"sum_nats": {json.loads(first)["sum_nats"]}', '"sum_nats": NaN')
    assert forged != first
    out.write_text("\n".join([forged, *rest]) + "\n", encoding="utf-8")
    assert "holds other scores" in scored(small, capsys, texts, "--out", str(out)).sentence()


def test_ctrl_c_says_what_is_kept(
    small: str, capsys: Capsys, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: object, **options: object) -> Iterator[ScoredLine]:
        lines = score_lines(*given, **options)
        yield next(lines)
        raise KeyboardInterrupt

    monkeypatch.setattr(score_module, "score_lines", interrupted)
    out = tmp_path / "out.jsonl"
    ran = scored(small, capsys, texts, "--out", str(out))
    assert ran.status == 130
    assert "1 of 5 lines are in" in ran.err
    assert len(records(out.read_text(encoding="utf-8"))) == 1
