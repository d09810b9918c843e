"""Expected values: the input itself. A picture shows the numbers that it was given, at the tokens they belong to."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from plotted import plotted, shown

from bertviz_lite.figures import attention, palette

BOTH_THEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
WEIGHTS = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.1, 0.3, 0.6]], np.float32)
VALUES = np.array([[0.1, 0.7, 0.3], [0.6, 0.9, 0.2]], np.float32)  # two layers, three heads


def names(drawn: dict[str, Any], axis: str) -> list[str]:
    """What an axis calls the tokens 0, 1, 2, …"""
    alias = drawn["layout"][axis]["labelalias"]
    return [alias[str(i)] for i in range(len(alias))]


@BOTH_THEMES
def test_a_map_shows_its_numbers_queries_downwards(dark: bool) -> None:
    drawn = plotted(attention.heatmap(WEIGHTS, ["[CLS]", "cat", "[SEP]"], dark=dark))
    (trace,) = drawn["data"]
    assert trace["type"] == "heatmap"
    assert_allclose(trace["z"], WEIGHTS)
    assert (trace["zmin"], trace["zmax"]) == (0, 1)
    assert "x" not in trace
    assert "y" not in trace  # so columns and rows are counted 0, 1, 2, as the ticks below
    assert names(drawn, "xaxis") == names(drawn, "yaxis") == ["[CLS]", "cat", "[SEP]"]
    assert drawn["layout"]["xaxis"]["tickvals"] == drawn["layout"]["yaxis"]["tickvals"] == [0, 1, 2]
    assert drawn["layout"]["yaxis"]["autorange"] == "reversed"
    assert drawn["layout"]["font"]["color"] == palette.ink(dark)


def test_hovering_a_square_names_the_token_that_looks_first() -> None:
    (trace,) = plotted(attention.heatmap(WEIGHTS, ["a", "b", "c"]))["data"]
    template = trace["hovertemplate"]  # x and y are told by the names of the axes, rows are the queries
    assert template.index("%{y}") < template.index("looks at") < template.index("%{x}")
    assert "%{z" in template


@BOTH_THEMES
def test_the_colours_are_the_attention_scale(dark: bool) -> None:
    steps = palette.stops("attention", dark)
    expected = [[pytest.approx(i / (len(steps) - 1)), step] for i, step in enumerate(steps)]
    for figure in (attention.heatmap(WEIGHTS, list("abc"), dark=dark), attention.head_grid(VALUES, "x", dark=dark)):
        assert plotted(figure)["data"][0]["colorscale"] == expected


def test_the_strongest_colour_is_the_largest_weight() -> None:
    (trace,) = plotted(attention.heatmap(WEIGHTS[:1, 1:] * np.ones((2, 1), np.float32), ["a", "b"]))["data"]
    assert (trace["zmin"], trace["zmax"]) == (0, 0.25)


def test_pieces_are_shown_letter_for_letter() -> None:
    pieces = ["<b>", "&", "&lt;"]
    drawn = plotted(attention.heatmap(WEIGHTS, pieces))
    assert names(drawn, "xaxis") == names(drawn, "yaxis") == ["&lt;b&gt;", "&amp;", "&amp;lt;"]
    assert [shown(name) for name in names(drawn, "xaxis")] == pieces


def test_long_pieces_are_cut() -> None:
    long = "<" * 40
    drawn = plotted(attention.heatmap(np.ones((1, 1), np.float32), [long]))
    label = shown(names(drawn, "xaxis")[0])
    assert label.endswith("…")
    assert label[:-1] == long[: len(label) - 1]
    assert len(label) < 20


def test_one_token() -> None:
    drawn = plotted(attention.heatmap(np.ones((1, 1), np.float32), ["a"]))
    assert drawn["data"][0]["z"] == [[1.0]]
    assert names(drawn, "xaxis") == ["a"]


def test_no_token_is_an_empty_picture() -> None:
    drawn = plotted(attention.heatmap(np.zeros((0, 0), np.float32), []))
    assert not drawn["layout"]["xaxis"].get("tickvals")


@pytest.mark.parametrize("n", [2, 40, 64, 65, 128, 129, 512])
def test_a_long_text_has_fewer_labels_each_at_its_token(n: int) -> None:
    pieces = [f"p{i}" for i in range(n)]
    weights = np.random.default_rng(0).random((n, n), np.float32)
    drawn = plotted(attention.heatmap(weights, pieces))
    assert_allclose(drawn["data"][0]["z"], weights)
    for axis in ("xaxis", "yaxis"):
        at = drawn["layout"][axis]["tickvals"]
        assert names(drawn, axis) == pieces, "hovering names every token"
        assert at == list(range(n)) if n <= 40 else 20 <= len(at) <= 64
        assert len({b - a for a, b in pairwise(at)}) == 1, "labels stand evenly"
    assert 200 <= drawn["layout"]["height"] <= 700


@pytest.mark.parametrize("weight", [0.0, math.nan])
def test_weights_of_nothing_and_nan_still_make_a_picture(weight: float) -> None:
    drawn = plotted(attention.heatmap(np.full((2, 2), weight, np.float32), ["a", "b"]))
    assert_allclose(drawn["data"][0]["z"], np.full((2, 2), weight))


@BOTH_THEMES
def test_a_grid_shows_its_numbers_layers_downwards(dark: bool) -> None:
    drawn = plotted(attention.head_grid(VALUES, "entropy (nats)", dark=dark))
    squares, points = drawn["data"]
    assert_allclose(squares["z"], VALUES)
    assert (squares["zmin"], squares["zmax"]) == (0, pytest.approx(0.9))
    assert drawn["layout"]["xaxis"]["tickvals"] == [0, 1, 2]
    assert drawn["layout"]["yaxis"]["tickvals"] == [0, 1]
    low, high = drawn["layout"]["yaxis"]["range"]
    assert low > high, "layer 0 on top"
    assert drawn["layout"]["xaxis"]["title"]["text"] == "head"
    assert drawn["layout"]["yaxis"]["title"]["text"] == "layer"
    assert "shapes" not in drawn["layout"]
    # What is pressed and hovered: a point on every square, with its number.
    at = list(zip(points["y"], points["x"], points["customdata"], strict=True))
    assert at == [(layer, head, VALUES[layer, head]) for layer in range(2) for head in range(3)]
    assert "entropy (nats)" in points["hovertemplate"]


@BOTH_THEMES
def test_the_picked_head_is_framed(dark: bool) -> None:
    shapes = plotted(attention.head_grid(VALUES, "x", picked=(1, 2), dark=dark))["layout"]["shapes"]
    assert shapes
    for shape in shapes:
        assert (shape["x0"], shape["x1"], shape["y0"], shape["y1"]) == (1.5, 2.5, 0.5, 1.5)


@pytest.mark.parametrize("value", [0.0, 0.4, math.nan])
def test_a_grid_of_one_head(value: float) -> None:
    squares, points = plotted(attention.head_grid(np.full((1, 1), value, np.float32), "x", picked=(0, 0)))["data"]
    assert_allclose(squares["z"], [[value]], rtol=1e-6)
    assert (points["x"], points["y"]) == ([0], [0])
