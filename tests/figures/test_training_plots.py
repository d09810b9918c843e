"""A run as a curve, answers as a table, an example as tokens; expected values are the input itself."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from plotted import plotted

from bertviz_lite.figures import palette, training

CURVE = training.Curve([1, 2, 3], [7.0, 6.0, 5.0], [1e-3, 2e-3, 1e-3], [0, 3], [7.5, 5.5], 60, 2e-3, 7.6, 5.9)


@pytest.mark.parametrize("dark", [False, True])
def test_the_curve_shows_both_losses_the_rate_and_the_price_of_guessing(dark: bool) -> None:
    figure = plotted(training.curve(CURVE, dark=dark))
    learnt, held_out, rate = figure["data"]
    assert (learnt["x"], learnt["y"]) == ([1, 2, 3], [7.0, 6.0, 5.0])
    assert (held_out["x"], held_out["y"]) == ([0, 3], [7.5, 5.5])
    assert rate["y"] == [1e-3, 2e-3, 1e-3]
    assert [shape["y0"] for shape in figure["layout"]["shapes"]] == [7.6, 5.9]
    assert {note["text"] for note in figure["layout"]["annotations"]} == {
        "blind guess 7.60",
        "frequency 5.90",
    }
    low, high = figure["layout"]["yaxis"]["range"]
    assert low < min(CURVE.loss_nats)
    assert high > 7.6
    assert figure["layout"]["xaxis"]["range"] == [0, 60]


def test_a_long_run_is_counted_in_minutes() -> None:
    figure = plotted(training.curve(replace(CURVE, budget_seconds=600)))
    assert figure["layout"]["xaxis"]["range"] == [0, 10]
    assert figure["data"][0]["x"] == pytest.approx([1 / 60, 2 / 60, 3 / 60])


def test_no_loss_yet_and_a_loss_that_is_no_number_are_drawn() -> None:
    empty = training.Curve([], [], [], [], [], 60, 1e-3)
    assert "shapes" not in plotted(training.curve(empty))["layout"]
    broken = replace(CURVE, loss_nats=[7.0, math.nan, math.inf])
    assert all(map(math.isfinite, plotted(training.curve(broken))["layout"]["yaxis"]["range"]))


def test_the_axis_stands_still_while_a_new_model_begins_to_learn() -> None:
    start = replace(CURVE, seconds=[], loss_nats=[], lr=[], held_seconds=[0], held_out_nats=[5.9])
    ranges = [plotted(training.curve(drawn))["layout"]["yaxis"]["range"] for drawn in (start, CURVE)]
    assert ranges[0] == ranges[1]


def test_moments_to_come_have_room() -> None:
    asked = training.Asked("The ", " ran.", [[("cat", 1.0)]])
    assert "repeat(5," in training.answers(["before"], [asked], n_columns=5)
    assert "repeat(1," in training.answers(["before"], [asked])


def test_answers_stand_in_their_moment_with_the_colour_of_their_probability() -> None:
    asked = training.Asked("The <b> ", " ran.", [[("cat", 1.0)], [("dog", 0.0), ("&", 0.25)]])
    html = training.answers(["before", "after"], [asked])
    assert html.index("before") < html.index("after") < html.index("cat") < html.index("dog")
    assert "The &lt;b&gt; <b>[MASK]</b> ran." in html
    assert "<span>&amp;</span><span>0.25</span>" in html
    for prob in (0.0, 0.25, 1.0):
        assert palette.colour("probability", prob) in html


def test_what_is_asked_for_is_framed_and_its_answer_stands_below() -> None:
    html = training.example(["a", "<i>"], ["a", "[MASK]"], ["not selected", "masked"], asked_of="not selected")
    plain, asked = html.split('<div class="met">')[1].split("</span><span")
    assert "asked" not in plain.replace("not asked for", "")
    assert 'class="asked" title="masked"' in asked
    assert "[MASK]<small>&lt;i&gt;</small>" in asked
