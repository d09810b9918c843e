"""Pictures of the decoder, of two models and of a checkpoint. Expected values: the input itself, and numpy's sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from plotted import plotted, shown

from bertviz_lite.figures import checkpoint, compare, decoder, palette

BOTH_THEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
STAGE = np.array([[0.5, -1.25, 0.0], [2.0, 0.125, -0.75]], np.float32)


def is_signed(trace: dict[str, Any], dark: bool) -> bool:
    """Zero is the middle of the scale with a sign."""
    assert trace["zmin"] == -trace["zmax"] < 0
    assert [step[1] for step in trace["colorscale"]] == palette.signed(dark)
    return True


@BOTH_THEMES
def test_a_strip_shows_its_values_a_row_per_token(dark: bool) -> None:
    drawn = plotted(decoder.strip(STAGE, ["[CLS]", "<b>&"], marked=1, dark=dark))
    (trace,) = drawn["data"]
    assert_allclose(trace["z"], STAGE)
    assert is_signed(trace, dark)
    axis = drawn["layout"]["yaxis"]
    assert (axis["tickvals"], [shown(t) for t in axis["ticktext"]]) == ([0, 1], ["[CLS]", "<b>&"])
    assert axis["range"] == [1.5, -0.5], "the first token on top"
    (frame,) = drawn["layout"]["shapes"]
    assert (frame["y0"], frame["y1"]) == (0.5, 1.5)
    assert frame["line"]["color"] == palette.ink(dark)


def test_a_strip_without_a_mark_and_of_zeros() -> None:
    drawn = plotted(decoder.strip(np.zeros((1, 4), np.float32), ["a"]))
    assert "shapes" not in drawn["layout"]
    assert drawn["data"][0]["zmax"] > 0


def test_one_outlier_does_not_wash_out_the_others() -> None:
    values = np.ones((10, 100), np.float32)
    values[3, 4] = -500
    (trace,) = plotted(decoder.strip(values, [str(i) for i in range(10)]))["data"]
    assert trace["zmax"] == pytest.approx(1)
    assert trace["z"][3][4] == -500, "the hover still tells it"


def test_a_strip_of_small_values_is_not_blank() -> None:
    (trace,) = plotted(decoder.strip(STAGE * 1e-4, ["a", "b"]))["data"]
    assert_allclose(np.array(trace["z"]) / trace["zmax"], STAGE / 2, atol=0.02)


@BOTH_THEMES
def test_the_histogram_counts_every_logit(dark: bool) -> None:
    logits = np.random.default_rng(0).normal(size=5000).astype(np.float32)
    drawn = plotted(decoder.logit_histogram(logits, 1.5, "<i>", dark=dark))
    (bars,) = drawn["data"]
    assert sum(bars["y"]) == 5000
    for x, width, n in zip(bars["x"], bars["width"], bars["y"], strict=True):
        inside = ((logits >= x - width / 2 - 1e-6) & (logits < x + width / 2 - 1e-6)).sum()
        assert abs(n - inside) <= 1
    (line,) = drawn["layout"]["shapes"]
    assert line["x0"] == line["x1"] == 1.5
    assert shown(drawn["layout"]["annotations"][0]["text"]) == "<i> 1.50"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_histogram_of_logits_that_are_not_finite(bad: float) -> None:
    decoder.logit_histogram(np.array([1.0, bad, 2.0], np.float32), 1.0, "a")


@BOTH_THEMES
def test_the_terms_are_shown_beside_their_own_largest(dark: bool) -> None:
    vector, row = np.array([1, -2, 4], np.float32), np.array([0.25, 0.5, -0.125], np.float32)
    drawn = plotted(decoder.terms(vector, row, vector * row, "cat", dark=dark))
    (trace,) = drawn["data"]
    assert trace["customdata"] == [[1, -2, 4], [0.25, 0.5, -0.125], [0.25, -1, -0.5]]
    assert_allclose(trace["z"], [[0.25, -0.5, 1], [0.5, 1, -0.25], [0.25, -1, -0.5]])
    assert drawn["layout"]["yaxis"]["ticktext"] == ["vector", "row of cat", "product"]


def test_the_running_sum_ends_at_the_logit() -> None:
    products = np.array([1.0, -2.5, 4.0], np.float32)
    line, bias = plotted(decoder.running_sum(products, -0.75))["data"]
    assert (line["x"], line["y"]) == ([0, 1, 2, 3], [0, 1, -1.5, 2.5])
    assert (bias["x"], bias["y"]) == ([3, 3], [2.5, 1.75])


def test_the_running_sum_loses_nothing() -> None:
    products = np.full(1 << 16, 0.1, np.float32)
    line, _ = plotted(decoder.running_sum(products, 0.0))["data"]
    assert line["y"][-1] == pytest.approx(float(np.float32(0.1)) * (1 << 16), rel=1e-9)


@BOTH_THEMES
def test_losses_of_two_models_stand_side_by_side(dark: bool) -> None:
    drawn = plotted(compare.losses(["the", "<b>"], [0.5, 2.0], [1.5, 0.25], ("a & b", "twin"), dark=dark))
    a, b = drawn["data"]
    assert (a["x"], a["y"], b["x"], b["y"]) == ([0, 1], [0.5, 2.0], [0, 1], [1.5, 0.25])
    assert [shown(a["name"]), b["name"]] == ["a & b", "twin"]
    assert [shown(piece) for piece in a["customdata"]] == ["the", "<b>"]
    assert [shown(piece) for piece in drawn["layout"]["xaxis"]["ticktext"]] == ["the", "<b>"]
    assert drawn["layout"]["barmode"] == "group"
    assert drawn["layout"]["showlegend"] is True
    scale = palette.stops("loss", dark)
    assert {a["marker"]["color"], b["marker"]["color"]} <= set(scale)
    assert a["marker"]["color"] != b["marker"]["color"]


@BOTH_THEMES
def test_the_difference_of_two_maps(dark: bool) -> None:
    difference = np.array([[0.25, -0.25], [-0.5, 0.5]], np.float32)
    drawn = plotted(compare.map_difference(difference, ["a", "b"], dark=dark))
    (trace,) = drawn["data"]
    assert_allclose(trace["z"], difference)
    assert trace["zmax"] == 0.5
    assert is_signed(trace, dark)
    assert drawn["layout"]["yaxis"]["autorange"] == "reversed"


def test_no_difference_is_drawn_as_none() -> None:
    (trace,) = plotted(compare.map_difference(np.zeros((2, 2), np.float32), ["a", "b"]))["data"]
    assert trace["zmax"] > 0
    assert not np.any(trace["z"])


@BOTH_THEMES
def test_the_parameter_bar_is_as_long_as_the_total(dark: bool) -> None:
    parts = {"embeddings": 600, "layers": 350, "decoder": 0, "bias": 50}
    drawn = plotted(checkpoint.parameter_bar(parts, dark=dark))
    assert {trace["name"]: trace["x"] for trace in drawn["data"]} == {
        "embeddings": [600],
        "layers": [350],
        "bias": [50],
    }
    assert drawn["layout"]["barmode"] == "stack"
    assert drawn["layout"]["xaxis"]["range"] == [0, 1000]
    texts = {trace["name"]: trace["text"] for trace in drawn["data"]}
    assert texts == {"embeddings": "embeddings<br>60.0%", "layers": "layers<br>35.0%", "bias": ""}
    assert len({trace["marker"]["color"] for trace in drawn["data"]}) == 3


def test_a_histogram_of_values() -> None:
    counts, edges = np.array([3, 0, 5]), np.array([-1.0, 0.0, 1.0, 4.0])
    (bars,) = plotted(checkpoint.value_histogram(counts, edges))["data"]
    assert (bars["x"], bars["y"], bars["width"]) == ([-0.5, 0.5, 2.5], [3, 0, 5], [1, 1, 3])


def test_numbers_by_layer() -> None:
    drawn = plotted(checkpoint.by_layer({"query": [1.0, 2.5], "key": [0.123456, 4.0]}, "norm"))
    (trace,) = drawn["data"]
    assert trace["z"] == [[1.0, 2.5], [0.123456, 4.0]]
    assert (trace["zmin"], trace["zmax"]) == (0, 4)
    assert [[float(text) for text in row] for row in trace["text"]] == [[1, 2.5], [0.123, 4]]
    assert trace["texttemplate"] == "%{text}"
    assert drawn["layout"]["yaxis"]["ticktext"] == ["query", "key"]
    assert drawn["layout"]["yaxis"]["autorange"] == "reversed"
    assert "norm" in trace["hovertemplate"]
    wide = plotted(checkpoint.by_layer({"query": [0.0] * 24}, "norm"))["data"][0]
    assert "texttemplate" not in wide, "24 numbers in a row cannot be read"
    assert wide["zmax"] > 0


def test_numbers_by_layer_of_which_none_is_one() -> None:
    assert checkpoint.by_layer({"query": [np.nan, np.nan]}, "change").data[0].zmax > 0
