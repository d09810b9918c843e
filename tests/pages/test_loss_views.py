"""The three views of the Token loss page. Expected numbers come from the core and from the shell, which have their own
tests against transformers; what is tested here is that the page asks the right question and shows the answer.
"""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from more_models import opened, said, with_nan
from page_tools import Open, chart, chips_data, chips_of, press_word
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner

import bertviz_lite
from bertviz_lite.analysis import METRICS, TokenScores, compare_pair, labelled_loss, score
from bertviz_lite.bundled import EXAMPLES, MINIMAL_PAIRS, sample_file
from bertviz_lite.commands import app
from bertviz_lite.model import IGNORED_LABEL
from bertviz_lite.ui import compute, numbers

PAGE = "pages/token_loss.py"
CHECKPOINT = bertviz_lite.load()
LONG_WORDS = "The souvenir is unbelievably colourless."
SAMPLE = sample_file().decode().splitlines()


def core(text: str, metric: str = "pll") -> TokenScores:
    return score(CHECKPOINT.model, CHECKPOINT.tokenizer.encode(text), metric, exclude=CHECKPOINT.tokenizer.special_ids)


def give(at: AppTest, name: str, content: bytes) -> AppTest:
    return at.file_uploader[0].set_value([(name, content, "application/octet-stream")]).run()


def lines(*texts: str) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


@pytest.mark.parametrize("metric", METRICS)
def test_a_sentence_by_every_metric(open_page: Open, metric: str) -> None:
    at = open_page(PAGE, text=LONG_WORDS, measure=metric)
    expected = core(LONG_WORDS, metric)
    tokens = at.dataframe[1].value
    assert tokens["loss (nats)"].tolist() == pytest.approx(expected.loss_nats.tolist(), abs=1e-4)
    assert tokens["rank"].tolist() == expected.ranks.tolist()
    assert at.metric[0].value == f"{expected.sum_nats:.2f} nats"
    beside = at.dataframe[0].value.set_index("metric")
    assert beside.index.tolist() == list(METRICS)
    assert beside.loc[metric, "sum (nats)"] == pytest.approx(expected.sum_nats, abs=1e-3)
    assert beside.loc[metric, "per word"] == pytest.approx(math.exp(expected.sum_nats / 6), rel=1e-3)
    characters = expected.sum_nats / math.log(2) / len(LONG_WORDS)
    assert beside.loc[metric, "bits per character"] == pytest.approx(characters, rel=1e-4)


def test_words_have_the_loss_of_their_pieces_together(open_page: Open) -> None:
    at = open_page(PAGE, text=LONG_WORDS, by="words")
    encoding = CHECKPOINT.tokenizer.encode(LONG_WORDS)
    expected: dict[int, float] = {}
    scores = core(LONG_WORDS)
    for place, loss in zip(scores.positions.tolist(), scores.loss_nats.tolist(), strict=True):
        expected[encoding.word_ids[place]] = expected.get(encoding.word_ids[place], 0) + loss
    bars = chart(at, "loss_bars")
    assert bars["data"][0]["y"] == pytest.approx(list(expected.values()), abs=1e-4)
    assert bars["layout"]["xaxis"]["ticktext"] == ["the", "souvenir", "is", "unbelievably", "colourless", "."]
    souvenir = chips_data(at)["words"][2]["pieces"]
    assert len({piece["background"] for piece in souvenir}) == 1, "one word, one colour"
    assert "so " in souvenir[0]["tip"]
    at.radio(key="widget_by").set_value("pieces").run()
    assert len(chart(at, "loss_bars")["data"][0]["y"]) == len(encoding) - 2
    assert "by" not in at.query_params


def test_the_labelled_loss_of_the_words_that_are_clicked(open_page: Open) -> None:
    at = open_page(PAGE, measure="labelled")
    at = press_word(at, 1)
    encoding = CHECKPOINT.tokenizer.encode(EXAMPLES[0].text).masked({1, 6})
    labels = [IGNORED_LABEL] * len(encoding)
    for place in (2, 7):
        labels[place] = encoding.typed_ids[place]
    expected = labelled_loss(CHECKPOINT.model, encoding, labels)
    assert at.metric[1].value == f"{expected.mean_nats:.2f} nats"
    assert chips_of(at).count("[MASK]") == 2
    assert at.dataframe[1].value["token"].tolist() == ["cat", "milk"]
    at = press_word(press_word(at, 1), 6)
    assert "Nothing is masked" in at.info[0].value
    assert not at.exception


def test_a_long_sentence_is_scored_by_all_metrics_only_when_asked(open_page: Open) -> None:
    at = open_page(PAGE, text="the cat " * 40, measure="unmasked")
    assert len(at.dataframe) == 1
    at.button[-1].click().run(timeout=120)
    assert at.dataframe[0].value["metric"].tolist() == list(METRICS)


@pytest.mark.parametrize("view", ["sentence", "pair", "file"])
def test_broken_weights_give_a_sentence_and_no_bare_nan(open_page: Open, tiny_zip: bytes, view: str) -> None:
    at = opened(open_page, with_nan(tiny_zip))
    at.switch_page(PAGE).run()
    at.segmented_control(key="widget_scored").set_value(view).run()
    assert not at.exception
    told = [*(error.value for error in at.error), *(str(frame.value.to_dict()) for frame in at.dataframe)]
    assert any("NaN" in text for text in told)
    assert not at.metric


@pytest.mark.parametrize("number", [0, 5, 11])
def test_a_contrast_of_the_list(open_page: Open, number: int) -> None:
    preset = MINIMAL_PAIRS[number]
    at = open_page(PAGE, scored="pair", pair_a=preset.good, pair_b=preset.bad)
    a, b = map(CHECKPOINT.tokenizer.encode, (preset.good, preset.bad))
    expected = compare_pair(CHECKPOINT.model, a, b)
    preferred = "first" if expected.difference_nats > 0 else "second"
    assert f"prefers the **{preferred}** sentence" in said(at)
    assert f"**{numbers.times(math.exp(abs(expected.difference_nats)))} times**" in said(at)
    drawn = chart(at, "pair_bars")["data"][0]["y"]
    assert drawn == pytest.approx([part.difference_nats for part in expected.parts], abs=1e-3)
    assert preset.rule in said(at)


def test_all_contrasts_at_once_and_one_of_ones_own(open_page: Open) -> None:
    at = open_page(PAGE, scored="pair")
    frame = at.dataframe[0].value.set_index("contrast")
    assert frame.index.tolist() == [preset.label for preset in MINIMAL_PAIRS]
    for preset in MINIMAL_PAIRS:
        difference = core(preset.bad).sum_nats - core(preset.good).sum_nats
        assert frame.loc[preset.label, "difference (nats)"] == pytest.approx(difference, abs=1e-3)
        assert frame.loc[preset.label, "prefers"] == ("good" if difference > 0 else "bad")
    at.text_input(key="widget_pair_b").set_value("The keys to the old cabinet are on the table.").run()
    assert "prefers neither" in said(at)
    assert "more tokens" not in said(at)
    at.text_input(key="widget_pair_b").set_value("Two keys lie there.").run()
    labels = chart(at, "pair_bars")["layout"]["xaxis"]["ticktext"]
    assert any(" / " in label for label in labels)
    assert "One has more tokens" in said(at)
    assert not at.exception


@pytest.mark.parametrize("text", ["", "   ", "[MASK]", "word " * 600])
def test_a_pair_that_cannot_be_scored_is_told(open_page: Open, text: str) -> None:
    at = open_page(PAGE, scored="pair", pair_b=text or " ")
    assert not at.exception
    assert len(at.error) == 1


def test_the_sample_file_is_scored_at_first_sight(open_page: Open) -> None:
    at = open_page(PAGE, scored="file")
    losses = {number: core(text) for number, text in enumerate(SAMPLE, start=1)}
    frame = at.dataframe[0].value
    worst_first = sorted(losses, key=lambda number: -losses[number].mean_nats)
    assert frame["line"].tolist() == worst_first
    assert frame["sum (nats)"].tolist() == pytest.approx([losses[n].sum_nats for n in worst_first], abs=1e-3)
    total, tokens = sum(s.sum_nats for s in losses.values()), sum(len(s.ids) for s in losses.values())
    assert f"**{math.exp(total / tokens):.2f}** a token" in said(at)
    assert sum(chart(at, "file_histogram")["data"][0]["y"]) == len(SAMPLE)
    assert f"**Line {worst_first[0]}**" in said(at)


def test_the_page_and_the_shell_give_the_same_numbers(open_page: Open, tmp_path: Path) -> None:
    texts = [*SAMPLE[:6], "", LONG_WORDS]
    file = tmp_path / "texts.txt"
    file.write_bytes(lines(*texts))
    ran = CliRunner().invoke(app, ["score", str(file), "--metric", "word_l2r", "--json"])
    records = [json.loads(line) for line in ran.stdout.splitlines()]
    at = give(open_page(PAGE, scored="file", measure="word_l2r", order="file"), "texts.txt", file.read_bytes())
    at.button(key="score_file").click().run()
    scored = [record for record in records if record["error"] is None]
    frame = at.dataframe[0].value
    assert frame["line"].tolist() == [record["line"] for record in scored]
    assert frame["sum (nats)"].tolist() == pytest.approx([record["sum_nats"] for record in scored], abs=1e-4)
    assert frame["perplexity"].tolist() == pytest.approx([r["pseudo_perplexity"] for r in scored], rel=1e-4)
    (wrong,) = [record for record in records if record["error"] is not None]
    assert at.dataframe[1].value.to_dict("records") == [{"line": wrong["line"], "why": wrong["error"]}]
    assert "**7 of 8** lines" in said(at)


def test_the_column_of_a_table_is_chosen(open_page: Open) -> None:
    table = io.BytesIO()
    pd.DataFrame({"good": ["It rained."], "bad": ["It rain."], "n": [1]}).to_parquet(table)
    at = give(open_page(PAGE, scored="file"), "pairs.parquet", table.getvalue())
    picker = at.selectbox(key="texts_column")
    assert (picker.options, picker.value) == (["good", "bad"], None)
    at = picker.set_value("bad").run()
    at = at.button(key="score_file").click().run()
    assert at.dataframe[0].value["text"].tolist() == ["It rain."]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.txt", b"caf\xe9\n", "not UTF-8"),
        ("a.txt", b"", "is empty"),
        ("a.parquet", b"no", "not a Parquet file"),
        ("a.csv", b"n\n", "is empty"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_and_the_sample_stays(
    open_page: Open, name: str, content: bytes, told: str
) -> None:
    at = give(open_page(PAGE, scored="file"), name, content)
    assert told in at.error[0].value
    assert not at.exception
    assert at.dataframe[0].value["line"].size == len(SAMPLE)


def test_a_file_with_nothing_to_score(open_page: Open) -> None:
    at = give(open_page(PAGE, scored="file"), "a.txt", b"\n[MASK]\n")
    at.button(key="score_file").click().run()
    assert not at.exception
    assert "**0 of 2** lines" in said(at)
    assert at.dataframe[0].value["line"].tolist() == [1, 2]


def test_what_was_scored_before_an_interruption_is_kept(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that fails stands for a press on Stop: both end the script between two lines."""
    at = give(open_page(PAGE, scored="file", order="file"), "a.txt", lines(*SAMPLE[:5]))
    whole = compute.scored_lines
    asked: list[list[int]] = []

    def three_lines(checkpoint: object, left: list[object], *more: object) -> object:
        asked.append([line.number for line in left])
        for i, line in enumerate(whole(checkpoint, left, *more)):
            if i == 3 and len(asked) == 1:
                raise InterruptedError
            yield line

    monkeypatch.setattr(compute, "scored_lines", three_lines)
    at.button(key="score_file").click().run()
    assert at.exception
    at.button(key="stop_file").click().run()
    assert "**3 of 5** lines" in said(at)
    assert at.dataframe[0].value["line"].tolist() == [1, 2, 3]
    resume = at.button(key="score_file")
    assert resume.label == "Go on from line 4"
    at = resume.click().run()
    assert asked == [[1, 2, 3, 4, 5], [4, 5]]
    assert at.dataframe[0].value["line"].tolist() == [1, 2, 3, 4, 5]
    expected = [core(text).sum_nats for text in SAMPLE[:5]]
    assert at.dataframe[0].value["sum (nats)"].tolist() == pytest.approx(expected, abs=1e-3)


def test_a_closed_file_gives_way_to_the_sample(open_page: Open) -> None:
    at = give(open_page(PAGE, scored="file"), "a.txt", lines("It rained."))
    at.button(key="close_texts").click().run()
    assert at.dataframe[0].value["line"].size == len(SAMPLE)


def test_bits_are_nats_by_ln_2_in_every_view(open_page: Open) -> None:
    for view, key in (("sentence", "loss_bars"), ("pair", "pair_bars")):
        nats, bits = (chart(open_page(PAGE, scored=view, unit=unit), key)["data"][0]["y"] for unit in ("nats", "bits"))
        assert np.allclose(np.array(nats) / math.log(2), bits)
    nats, bits = (open_page(PAGE, scored="file", unit=unit).dataframe[0].value for unit in ("nats", "bits"))
    assert np.allclose(nats["mean (nats)"] / math.log(2), bits["mean (bits)"])
