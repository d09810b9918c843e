"""Expected values: the input itself, sums worked out by hand, and colours from figures/palette.py."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from plotted import plotted, shown

from bertviz_lite.figures import contrast, palette, predictions

BOTH_THEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
WORDS = ["milk", "ice cream", "<b>&"]
PIECES = [["milk"], ["ice", "cream"], ["<b>", "&", "##x"]]
LOSSES = [[2.0], [3.5, 3.0], [9.0, 8.0, 0.01]]
LOG_PROBS = np.log(np.array([[0.5, 0.2, 0.1, 0.001], [0.1, 0.2, 0.4, 0.0011]], dtype=np.float32))
RATIOS = np.array([2.2, 0.0, -1.8, -0.1], dtype=np.float32)


@BOTH_THEMES
def test_the_cost_of_a_word_is_stacked_from_its_pieces(dark: bool) -> None:
    drawn = plotted(predictions.costs(WORDS, PIECES, LOSSES, dark=dark))
    bars = {
        (y, name): x
        for trace in drawn["data"]
        for x, y, name in zip(trace["x"], trace["y"], trace["customdata"], strict=True)
    }
    first, second = {(0, "milk"): 2.0, (1, "ice"): 3.5, (1, "cream"): 3.0}, {(2, "&lt;b&gt;"): 9.0, (2, "&amp;"): 8.0}
    assert bars == first | second | {(2, "##x"): 0.01}
    assert drawn["layout"]["barmode"] == "stack"
    assert [note["text"] for note in drawn["layout"]["annotations"]] == ["2.00", "6.50", "17.01"]
    assert [note["x"] for note in drawn["layout"]["annotations"]] == pytest.approx([2.0, 6.5, 17.01])
    assert [shown(label) for label in drawn["layout"]["yaxis"]["ticktext"]] == WORDS
    low, high = drawn["layout"]["yaxis"]["range"]
    assert low > high, "the first word on top"
    assert drawn["layout"]["xaxis"]["range"][1] > 17.01
    assert {trace["marker"]["color"] for trace in drawn["data"]} <= set(palette.stops("loss", dark))


def test_a_piece_whose_bar_is_narrower_than_its_name_leaves_the_name_to_hovering() -> None:
    drawn = plotted(predictions.costs(WORDS, PIECES, LOSSES))
    texts = {
        name: text for trace in drawn["data"] for name, text in zip(trace["customdata"], trace["text"], strict=True)
    }
    assert texts["##x"] == ""
    assert texts["ice"] == "ice"


@pytest.mark.parametrize("n", [0, 1])
def test_costs_of_one_word_and_of_none(n: int) -> None:
    assert plotted(predictions.costs(WORDS[:n], PIECES[:n], LOSSES[:n]))["layout"]["height"] > 60


def scattered(named: list[int], **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:  # noqa: ANN401
    drawn = plotted(contrast.scatter(["wine", "&", "tea", "rare"], LOG_PROBS, RATIOS, named, **options))
    return drawn["data"][1], drawn["layout"]


@BOTH_THEMES
def test_every_word_stands_at_its_log_probabilities(dark: bool) -> None:
    points, layout = scattered([0], dark=dark)
    assert points["x"] == pytest.approx(LOG_PROBS[0].tolist(), abs=1e-6)
    assert points["y"] == pytest.approx(LOG_PROBS[1].tolist(), abs=1e-6)
    assert layout["xaxis"]["range"] == layout["yaxis"]["range"], "the diagonal is one"
    low, high = layout["xaxis"]["range"]
    assert low < LOG_PROBS.min()
    assert high > LOG_PROBS.max()
    assert points["customdata"][1] == ["&amp;", "0.2", "0.2"]
    steps = palette.signed(dark)
    assert points["marker"]["color"][0] == steps[-1], "amber, where A has more"
    assert points["marker"]["color"][1] == steps[4]
    assert points["marker"]["color"][2] in steps[:2], "blue, where B has more"


def test_only_named_words_carry_their_name_and_none_lies_on_another() -> None:
    assert scattered([0, 2])[0]["text"] == ["wine", "", "tea", ""]
    close = np.log(np.array([[0.5, 0.5, 0.001], [0.5, 0.49, 0.001]], dtype=np.float32))
    drawn = plotted(contrast.scatter(["a", "b", "c"], close, RATIOS[:3], [1, 0, 2]))
    assert drawn["data"][1]["text"] == ["", "b", "c"], "the more important of two stays"


def test_a_piece_that_is_impossible_in_one_text_breaks_no_axis() -> None:
    odd = LOG_PROBS.copy()
    odd[0, 3] = -np.inf
    low, high = plotted(contrast.scatter(list("abcd"), odd, RATIOS, []))["layout"]["xaxis"]["range"]
    assert math.isfinite(low)
    assert low < high


@BOTH_THEMES
def test_differences_go_to_the_side_of_the_text_that_has_more(dark: bool) -> None:
    drawn = plotted(contrast.differences(["wine", "a<b", "tea"], [0.4, -0.001, -2.5], dark=dark))
    (trace,) = drawn["data"]
    assert trace["x"] == [0.4, -0.001, -2.5]
    assert trace["text"] == ["+0.40", "+0.00", "−2.50"]
    low, high = drawn["layout"]["xaxis"]["range"]
    assert low == -high < -2.5
    assert [shown(label) for label in drawn["layout"]["yaxis"]["ticktext"]] == ["wine", "a<b", "tea"]
    steps = palette.signed(dark)
    assert trace["marker"]["color"][2] == steps[0]
    assert trace["marker"]["color"][1] == steps[4]


def test_no_differences_at_all() -> None:
    assert plotted(contrast.differences([], []))["layout"]["height"] > 60
