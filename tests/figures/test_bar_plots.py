"""Expected values: the input itself, and means and sums worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plotted import plotted, shown

from bertviz_lite.figures import checkpoint, labels, palette, predictions, scoring

BOTH_THEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
PROBS = [0.5, 0.25, 0.125, 0.0001]


def prediction_bars(pieces: list[str], probs: list[float], **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:  # noqa: ANN401
    drawn = plotted(predictions.bars(pieces, probs, **options))
    (trace,) = drawn["data"]
    return trace, drawn["layout"]


def loss_bars(pieces: list[str], losses: list[float], hovers: list[str], **options: Any) -> dict[str, Any]:  # noqa: ANN401
    return plotted(scoring.bars(pieces, losses, hovers, **{"unit": "nats", "most": 4.0, **options}))


@BOTH_THEMES
def test_predictions_show_their_probabilities_best_on_top(dark: bool) -> None:
    trace, layout = prediction_bars(["milk", "water", "##s", "rare"], PROBS, dark=dark)
    assert (trace["x"], trace["y"], trace["orientation"]) == (PROBS, [0, 1, 2, 3], "h")
    assert layout["yaxis"]["tickvals"] == [0, 1, 2, 3]
    assert layout["yaxis"]["ticktext"] == ["milk", "water", "##s", "rare"]
    low, high = layout["yaxis"]["range"]
    assert low > high
    assert layout["xaxis"]["range"][0] == 0
    assert layout["xaxis"]["range"][1] > max(PROBS)
    assert set(trace["marker"]["color"]) <= set(palette.stops("probability", dark))
    assert len(set(trace["marker"]["color"])) == 1


def test_the_number_beside_a_bar_is_its_probability() -> None:
    trace, _ = prediction_bars(["a", "b", "c", "d"], PROBS)
    for text, prob in zip(trace["text"], PROBS, strict=True):
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        assert number == pytest.approx(prob, abs=0.0006 if prob > 0.001 else 1e-5)


@BOTH_THEMES
def test_the_original_is_marked_and_no_other(dark: bool) -> None:
    trace, layout = prediction_bars(["milk", "water", "tea"], PROBS[:3], original="water", dark=dark)
    colours = trace["marker"]["color"]
    assert colours[0] == colours[2] != colours[1]
    assert layout["yaxis"]["ticktext"] == ["milk", "<b>water</b>", "tea"]


@pytest.mark.parametrize("original", [None, "wine", "Water", ""])
def test_an_original_that_is_not_shown_marks_nothing(original: str | None) -> None:
    trace, layout = prediction_bars(["milk", "water"], PROBS[:2], original=original)
    assert len(set(trace["marker"]["color"])) == 1
    assert layout["yaxis"]["ticktext"] == ["milk", "water"]


def test_predicted_pieces_are_shown_letter_for_letter() -> None:
    pieces = ["<b>", "&", "&amp;", "a<br>b"]
    trace, layout = prediction_bars(pieces, PROBS, original="&")
    assert layout["yaxis"]["ticktext"] == ["&lt;b&gt;", "<b>&amp;</b>", "&amp;amp;", "a&lt;br&gt;b"]
    assert trace["customdata"] == ["&lt;b&gt;", "&amp;", "&amp;amp;", "a&lt;br&gt;b"]


@pytest.mark.parametrize("probs", [[], [0.0], [1.0], [math.nan]])
def test_few_predictions_and_none(probs: list[float]) -> None:
    trace, layout = prediction_bars(["a"] * len(probs), probs)
    assert [p if p is not None else math.nan for p in trace["x"]] == pytest.approx(probs, nan_ok=True)
    assert layout["height"] > 60


@BOTH_THEMES
def test_losses_stand_in_reading_order_with_their_mean(dark: bool) -> None:
    losses = [1.0, 4.0, 0.25, 0.75]
    drawn = loss_bars(["so", "##uven", "##ir", "."], losses, ["w", "x", "y", "z"], dark=dark)
    (trace,) = drawn["data"]
    assert (trace["x"], trace["y"]) == ([0, 1, 2, 3], losses)
    assert drawn["layout"]["xaxis"]["tickvals"] == [0, 1, 2, 3]
    assert drawn["layout"]["xaxis"]["ticktext"] == ["so", "##uven", "##ir", "."]
    (line,) = drawn["layout"]["shapes"]
    assert line["y0"] == line["y1"] == 1.5
    (note,) = drawn["layout"]["annotations"]
    assert "1.50" in note["text"]
    assert "nats" in drawn["layout"]["yaxis"]["title"]["text"]


def test_a_larger_loss_is_never_paler_and_the_most_gets_the_strongest_colour() -> None:
    losses = [0.0, 0.5, 1.0, 2.0, 3.9, 4.0]
    (trace,) = loss_bars(list("abcdef"), losses, [""] * 6)["data"]
    colours = trace["marker"]["color"]
    green = [int(colour[3:5], 16) for colour in colours]  # falls all along the light loss scale
    assert green == sorted(green, reverse=True)
    assert len(set(green)) == len(green)
    assert colours[-1] == palette.stops("loss")[-1]


@BOTH_THEMES
def test_losses_beyond_the_most_and_losses_that_are_no_number(dark: bool) -> None:
    (trace,) = loss_bars(list("abcd"), [4.1, 80.0, math.inf, math.nan], [""] * 4, dark=dark)["data"]
    assert trace["marker"]["color"][:3] == 3 * [palette.stops("loss", dark)[-1]]
    assert trace["marker"]["color"][3] == palette.stops("loss", dark)[0]
    assert trace["y"][:2] == [4.1, 80.0]


def test_loss_labels_are_shown_letter_for_letter() -> None:
    drawn = loss_bars(["<b>", "&"], [1.0, 2.0], ["loss 1; the model says “<i>”", "rank 2"])
    assert drawn["layout"]["xaxis"]["ticktext"] == ["&lt;b&gt;", "&amp;"]
    assert [list(told) for told in drawn["data"][0]["customdata"]] == [
        ["&lt;b&gt;", "loss 1<br>the model says “&lt;i&gt;”"],
        ["&amp;", "rank 2"],
    ]


@pytest.mark.parametrize("hover", ["a < b", "a & b", "says “> ”"])
def test_an_entity_in_a_hover_is_not_cut(hover: str) -> None:
    (trace,) = loss_bars(["a"], [1.0], [hover])["data"]
    assert shown(trace["customdata"][0][1]) == hover


@pytest.mark.parametrize(
    ("losses", "expected"),
    [([1.0, 9.5, 3.0], 9.5), ([1.0, 2.0], 4.0), ([4.0], 4.0), ([], 4.0), ([5.0, math.inf, math.nan], 5.0)],
)
def test_the_strongest_colour_is_never_below_a_fair_guess(losses: list[float], expected: float) -> None:
    assert scoring.top(losses) == expected


PARTS = {"embeddings": 50, "layers": 30, "transform": 15, "decoder": 0, "output bias": 5}


@BOTH_THEMES
def test_parameters_show_every_part_that_is_there_in_the_order_of_the_network(dark: bool) -> None:
    drawn = plotted(checkpoint.parameter_bar(PARTS, dark=dark))
    assert [(bar["name"], bar["x"]) for bar in drawn["data"]] == [
        ("embeddings", [50]),
        ("layers", [30]),
        ("transform", [15]),
        ("output bias", [5]),
    ]
    assert drawn["layout"]["barmode"] == "stack"
    assert drawn["layout"]["xaxis"]["range"] == [0, 100]
    colours = [bar["marker"]["color"] for bar in drawn["data"]]
    assert len(set(colours)) == 4
    assert set(colours) <= set(palette.stops("probability", dark))


def test_shares_are_told() -> None:
    bars = plotted(checkpoint.parameter_bar(PARTS))["data"]
    for bar, share in zip(bars, ("50.0%", "30.0%", "15.0%", "5.0%"), strict=True):
        assert share in bar["hovertemplate"]
    assert "50.0%" in bars[0]["text"]
    assert bars[3]["text"] == "", "a narrow segment has no room for words"


def test_large_numbers_of_parameters_are_easy_to_read() -> None:
    (bar,) = plotted(checkpoint.parameter_bar({"layers": 22_744_506}))["data"]
    assert "22,744,506 parameters, 100.0%" in bar["hovertemplate"]


def test_no_parameters_at_all() -> None:
    assert plotted(checkpoint.parameter_bar({"layers": 0}))["data"] == []


def test_no_part_is_left_out() -> None:
    parts = {f"part {i}": 10 for i in range(7)}
    bars = plotted(checkpoint.parameter_bar(parts))["data"]
    assert sum(bar["x"][0] for bar in bars) == 70


@settings(database=None, deadline=None)
@given(st.text())
def test_escaped_text_is_shown_letter_for_letter(text: str) -> None:
    assert shown(labels.escaped(text)) == text


@settings(database=None, deadline=None)
@given(st.lists(st.text(alphabet="<&>;ab", max_size=30)))
def test_axis_labels_are_pieces_or_their_beginning(pieces: list[str]) -> None:
    for label, piece in zip(labels.axis_labels(pieces), pieces, strict=True):
        seen = shown(label)
        assert seen == piece or (seen.endswith("…") and piece.startswith(seen[:-1]) and len(seen) < len(piece))
