"""Expected values: the input itself. A picture shows the numbers that it was given, at the tokens they belong to."""

from __future__ import annotations

import math
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
def test_bars_show_their_numbers_token_by_token(dark: bool) -> None:
    pieces = ["<b>", "&", "x" * 40]
    drawn = plotted(attention.token_bars(np.array([0.5, 0.25, 0.0], np.float32), pieces, "flow", dark=dark))
    (trace,) = drawn["data"]
    assert (trace["type"], trace["x"], trace["y"]) == ("bar", [0, 1, 2], [0.5, 0.25, 0.0])
    assert [shown(name) for name in names(drawn, "xaxis")][:2] == pieces[:2]
    assert len(shown(names(drawn, "xaxis")[2])) < 20
    assert drawn["layout"]["yaxis"]["title"]["text"] == "flow"
    strongest = palette.stops("attention", dark)[-1]
    assert [colour == strongest for colour in trace["marker"]["color"]] == [True, False, False]


@pytest.mark.parametrize("values", [[0.0], [], [0.3] * 512])
def test_nothing_and_much_make_bars_too(values: list[float]) -> None:
    drawn = plotted(attention.token_bars(np.array(values, np.float32), ["a"] * len(values), "flow"))
    assert len(drawn["data"][0]["y"]) == len(values)


@BOTH_THEMES
def test_the_colours_are_the_attention_scale(dark: bool) -> None:
    steps = palette.stops("attention", dark)
    expected = [[pytest.approx(i / (len(steps) - 1)), step] for i, step in enumerate(steps)]
    assert plotted(attention.head_grid(VALUES, "x", dark=dark))["data"][0]["colorscale"] == expected


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
