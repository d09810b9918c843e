"""The page on learning: each moment's numbers come from its own weights, all moments stand side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from more_models import encoder, opened, said
from page_tools import Open, chart, chips_of
from streamlit.testing.v1 import AppTest

import bertviz_lite
from bertviz_lite.analysis import attention_maps, pseudo_loss, top_k
from bertviz_lite.bundled import EXAMPLES, LEARNING_EXAMPLES, moments
from bertviz_lite.ui.learning.moments import Training, bundled_training
from bertviz_lite.ui.learning.strips import dearer_first
from bertviz_lite.ui.learning.view import order_learnt, standing

PAGE = "pages/learning.py"
SAVED = moments()
CHECKPOINTS = [bertviz_lite.load(moment.weights) for moment in SAVED]
TOKENIZER = CHECKPOINTS[0].tokenizer
FIRST = TOKENIZER.encode(LEARNING_EXAMPLES[0].text).masked(LEARNING_EXAMPLES[0].masked)
LAST = len(SAVED) - 1


def captions(at: AppTest) -> str:
    return "\n".join(caption.value for caption in at.caption)


def written_in(strip: dict[str, list[dict[str, Any]]]) -> list[list[str]]:
    """The texts of a strip, row by row."""
    texts = strip["data"][1]["text"]
    return [texts[i : i + len(SAVED)] for i in range(0, len(texts), len(SAVED))]


def test_it_opens_at_the_end_with_everything_there(open_page: Open) -> None:
    at = open_page(PAGE)
    assert not at.exception
    assert at.select_slider[0].value == LAST
    assert chips_of(at)[1:-1] == ["i", "would", "like", "a", "cup", "of", "[MASK]", ",", "please", "."]
    assert f"Held-out loss **{SAVED[LAST].held_out_nats:.2f} nats**" in said(at)
    for key in ("guesses", "map", "curve", "words", "losses", "probes", "classes"):
        assert chart(at, key)["data"], key


def test_its_own_example_stands_only_where_nothing_was_chosen(open_page: Open) -> None:
    assert chips_of(open_page(PAGE, text="A dog.")) == ["[CLS]", "a", "dog", ".", "[SEP]"]
    at = open_page().switch_page(PAGE).run()
    assert at.query_params["text"] == LEARNING_EXAMPLES[0].text
    at.text_area[0].set_value(EXAMPLES[0].text).run()  # what is chosen stays, be it the first page's example
    assert chips_of(at)[1:3] == ["the", "cat"]
    assert chips_of(at.run())[1:3] == ["the", "cat"]


@pytest.mark.parametrize("number", [0, LAST // 2, LAST])
def test_a_moment_shows_what_its_weights_say(open_page: Open, number: int) -> None:
    at = open_page(PAGE, moment=str(number), layer="1", head="2")
    checkpoint = CHECKPOINTS[number]
    found = top_k(checkpoint.model, FIRST, 9, exclude=checkpoint.not_language_ids)
    assert chart(at, "guesses")["data"][0]["x"] == pytest.approx(found.probs[0].tolist(), abs=1e-5)
    expected = attention_maps(checkpoint.model, FIRST).weights[1, 2]
    shown = chart(at, "map")["data"][0]["z"]
    assert [row for line in shown for row in line] == pytest.approx(expected.ravel().tolist(), abs=1e-4)
    assert f"rank {found.original_ranks[0]:,}." in captions(at)


def test_the_slider_moves_and_stands_in_the_address(open_page: Open) -> None:
    at = open_page(PAGE)
    before = chart(at, "guesses")["data"][0]["x"]
    at.select_slider[0].set_value(1).run()
    assert at.query_params["moment"] == "1"
    assert chart(at, "guesses")["data"][0]["x"] != before
    assert f"**{SAVED[1].held_out_nats:.2f} nats**" in said(at)
    assert open_page(PAGE, moment="999").select_slider[0].value == LAST


def test_all_moments_stand_side_by_side(open_page: Open) -> None:
    at = open_page(PAGE, word="water", moment="3")
    losses = [pseudo_loss(c.model, FIRST.masked(())).loss_nats for c in CHECKPOINTS]
    written = written_in(chart(at, "losses"))
    for column, own in enumerate(losses):
        for row, loss in enumerate(own):
            assert abs(float(written[row][column]) - loss) < 0.051
    words = chart(at, "words")
    names = words["layout"]["yaxis"]["ticktext"]
    assert names[-2:] == ["coffee", "water"]
    for column, checkpoint in enumerate(CHECKPOINTS):
        found = top_k(checkpoint.model, FIRST, 1, exclude=checkpoint.not_language_ids)
        bold = [name for name, row in zip(names, written_in(words), strict=True) if row[column].startswith("<b>")]
        assert bold in ([TOKENIZER.piece(int(found.ids[0, 0]))], [])  # the oldest make room
    assert words["layout"]["shapes"][0]["x0"] == 2.5


def test_measures_are_drawn_as_they_were_taken(open_page: Open) -> None:
    at = open_page(PAGE)
    for key, values, written in (
        ("probes", [m.right_share for m in SAVED], "{:.0%}"),
        ("classes", [m.class_nats for m in SAVED], "{:.1f}"),
    ):
        figure = chart(at, key)
        names = figure["layout"]["yaxis"]["ticktext"]
        texts = written_in(figure)
        for column, own in enumerate(values):
            expected = [written.format(own[name]).removesuffix("%") for name in names]
            assert [row[column] for row in texts] == expected


@pytest.mark.parametrize("text", ["", "[MASK]"])
def test_a_text_without_words_to_score(open_page: Open, text: str) -> None:
    at = open_page(PAGE, text=text)
    assert not at.exception
    assert at.error or at.info


def test_other_inputs_are_answered_or_told(open_page: Open, tiny_zip: bytes) -> None:
    assert (
        "Nothing is masked" in said(open_page(PAGE, text="The cat sat.")) + open_page(PAGE, text="A b.").info[0].value
    )
    assert "64" in open_page(PAGE, text="word " * 80).error[0].value
    assert "no single piece" in captions(open_page(PAGE, word="hippopotamus"))
    assert not open_page(PAGE, text="He opened the door.", mask="1,3", slot="1").exception
    at = opened(open_page, encoder(tiny_zip)).switch_page(PAGE).run()  # an encoder in use does not matter here
    assert chart(at, "guesses")["data"]


def made_up(nats: float, levels: dict[str, float], right_share: dict[str, list[float]]) -> Training:
    real = bundled_training()
    moment = type(real.moments[0])(1000, nats, real.moments[0].checkpoint)
    return Training([moment] * 3, real.curve, levels, right_share, {})


def test_where_it_stands_is_told_from_the_numbers() -> None:
    levels = {"blind": 8.0, "frequency": 6.0, "left": 4.0}
    assert "past the dashed line *frequency* (6.00), *left* (4.00) still ahead" in standing(made_up(5.0, levels, {}), 0)
    assert "as good as *frequency*" in standing(made_up(6.02, levels, {}), 0)
    assert standing(made_up(3.0, levels, {}), 0) == "Held-out loss **3.00 nats**: past the dashed line *left* (4.00)."
    assert standing(made_up(9.0, levels, {}), 0) == "Held-out loss **9.00 nats**: *blind* (8.00) still ahead."
    told = standing(made_up(9.0, {}, {"b": [0.25, 1, 1]}), 0)
    assert told == "Held-out loss **9.00 nats**. Probes right (chance: 50%): b **25%**."


def test_the_order_of_learning_is_told_from_the_numbers() -> None:
    told = order_learnt(made_up(1, {}, {"late": [0.9, 0.5, 0.8], "early": [0.5, 0.9, 0.9], "never": [1, 1, 0.7]}))
    assert told.startswith(
        "At least 80% right: **early** from 1 k tokens on, **late** from 1 k; below that to the end: "
    )
    assert told.endswith("**never** (70%).")
    assert order_learnt(made_up(1, {}, {"always": [1, 1, 1]})) == "At least 80% right: **always** from 1 k tokens on."
    assert not order_learnt(made_up(1, {}, {}))


def test_classes_that_become_dearer_first_are_told_from_the_numbers() -> None:
    training = replace(made_up(1, {}, {}), class_nats={"rare": [7.9, 8.4, 3.0], "common": [7.8, 7.9, 0.1]})
    assert dearer_first(training).startswith("**Rare** become dearer at first (7.9 → 8.4 at 1 k): ")
    assert "common" not in dearer_first(training)
    assert not dearer_first(replace(training, class_nats={"common": [7.8, 7.9, 0.1]}))
