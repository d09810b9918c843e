"""The page on training: its numbers come from the core, its sum is worked out again from what stands there."""

from __future__ import annotations

import math
import re

import pytest
from more_models import opened, said, with_nan
from page_tools import Open, chart

import bertviz_lite
from bertviz_lite.analysis import draws, training_example
from bertviz_lite.bundled import EXAMPLES
from bertviz_lite.training import RULES

PAGE = "pages/masking.py"
CHECKPOINT = bertviz_lite.load()
PLAIN = CHECKPOINT.tokenizer.encode(EXAMPLES[0].text)


def test_the_formula_adds_up_to_the_models_own_loss(open_page: Open) -> None:
    at = open_page(PAGE)
    drawn = training_example(CHECKPOINT.model, PLAIN, RULES["google"], at.number_input(key="widget_seed").value)
    tex = at.latex[0].value
    probs = [float(p) for p in re.findall(r"\\ln ([\d.]+)", tex)]
    assert sum(-math.log(p) for p in probs) / len(probs) == pytest.approx(drawn.loss_nats, abs=0.01)
    losses = re.search(r"\\tfrac\{1\}\{2\}\\,\(([\d. +]+)\) = ([\d.]+)", tex)
    assert losses is not None
    assert sum(map(float, losses[1].split("+"))) / 2 == pytest.approx(float(losses[2]), abs=0.001)
    assert f"**{drawn.loss_nats:.4f}** nats" in said(at)


def test_another_draw_and_another_rule(open_page: Open) -> None:
    at = open_page(PAGE, seed="3")
    next(button for button in at.button if button.label == "Draw again").click().run()
    assert at.query_params["seed"] == "4"
    at.radio(key="widget_rule").set_value("transformers").run()
    counted = draws(CHECKPOINT.model, PLAIN, RULES["transformers"], 4, 1000).n_selected
    shown = dict(zip(*(chart(at, "n_selected")["data"][0][part] for part in ("customdata", "y")), strict=True))
    assert shown == {n: pytest.approx((counted == int(n)).mean()) for n in shown}
    assert sum(shown.values()) == pytest.approx(1.0)


def test_whole_words_of_transformers_are_always_masked(open_page: Open) -> None:
    at = open_page(PAGE, rule="transformers", by_word="1")
    assert [slider.label for slider in at.slider] == ["Selected"]
    assert chart(at, "kinds")["data"][1]["y"] == [1.0, 0.0, 0.0]


def test_shares_never_add_up_to_more_than_all(open_page: Open) -> None:
    at = open_page(PAGE, hidden="95", random="40")
    assert not at.exception
    assert chart(at, "kinds")["data"][1]["y"] == pytest.approx([0.95, 0.05, 0.0])
    assert not open_page(PAGE, hidden="100").exception


def test_a_draw_of_nothing_is_said(open_page: Open) -> None:
    at = open_page(PAGE, rule="transformers", rate="1", text="Stop")
    assert "selected nothing" in at.info[0].value
    assert not at.latex


def test_numbers_that_are_none_are_told(open_page: Open, tiny_zip: bytes) -> None:
    at = opened(open_page, with_nan(tiny_zip)).switch_page(PAGE).run()
    assert not at.exception
    assert "NaN" in at.error[0].value


@pytest.mark.parametrize("text", ["", "[MASK]", "a " * 600])
def test_a_text_without_an_example_is_told(open_page: Open, text: str) -> None:
    at = open_page(PAGE, text=text)
    assert not at.exception
    assert len(at.error) == 1
