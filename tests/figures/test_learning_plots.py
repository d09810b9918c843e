"""The loss curve and the strips; expected values are the input itself."""

from __future__ import annotations

import numpy as np
import pytest
from plotted import plotted, shown

from bertviz_lite.figures import learning, palette

MOMENTS = {"0": (0.0, 8.0), "10 k": (10_000.0, 7.0), "1 M": (1_000_000.0, 3.0)}
TRAINED = (np.array([5_000.0, 500_000.0]), np.array([7.9, 4.0]))
HELD_OUT = (np.array([0.0, 10_000.0, 1_000_000.0]), np.array([8.0, 7.0, 3.0]))


def drawn(marked: str = "10 k", dark: bool = False) -> dict[str, object]:
    return plotted(learning.curve(TRAINED, HELD_OUT, MOMENTS, marked, {"blind <guess>": 7.9, "both": 3.1}, dark=dark))


def test_tokens_lie_on_an_axis_that_has_a_zero() -> None:
    assert learning.place(0) == 0
    assert learning.place(90_000) == pytest.approx(1)  # ten times the first 10,000
    assert learning.place(990_000) == pytest.approx(2)


@pytest.mark.parametrize("dark", [False, True])
def test_the_curve_and_its_moments_lie_where_they_were_measured(dark: bool) -> None:
    trained, held_out, moments = drawn(dark=dark)["data"]
    assert trained["y"] == [7.9, 4.0]
    assert held_out["x"] == pytest.approx([learning.place(n) for n in HELD_OUT[0]])
    assert held_out["y"] == moments["y"] == [8.0, 7.0, 3.0]
    assert moments["customdata"] == ["0", "10 k", "1 M"]
    small, marked, _ = moments["marker"]["size"]
    assert marked > small
    assert moments["marker"]["color"][1] == palette.ink(dark)


def test_the_moment_on_show_and_the_levels_are_lines() -> None:
    layout = drawn(marked="1 M")["layout"]
    upright = [line for line in layout["shapes"] if line["x0"] == line["x1"]]
    across = [line["y0"] for line in layout["shapes"] if line["y0"] == line["y1"]]
    assert [line["x0"] for line in upright] == [pytest.approx(learning.place(1_000_000))]
    assert across == [7.9, 3.1]
    blind, both = layout["annotations"]
    assert (shown(blind["text"]), shown(both["text"])) == ("blind <guess> 7.90", "both 3.10")
    assert (blind["xanchor"], both["xanchor"]) == ("right", "left")  # where the curve is far


def test_a_head_keeps_its_colours_from_moment_to_moment() -> None:
    weights = np.array([[0.2, 0.8], [0.5, 0.5]], np.float32)
    figure = plotted(learning.head_map(weights, ["[CLS]", "<b>"]))
    heat = figure["data"][0]
    assert np.allclose(heat["z"], weights)
    assert (heat["zmin"], heat["zmax"]) == (0, 1)  # whatever the largest weight is
    assert figure["layout"]["yaxis"]["labelalias"] == {"0": "[CLS]", "1": "&lt;b&gt;"}
    assert figure["layout"]["yaxis"]["autorange"] == "reversed"


def cells(**changes: object) -> learning.Strip:
    usual: dict[str, object] = {
        "rows": ["<b>", "milk"],
        "values": np.array([[0.0, 0.5, 2.0], [1.0, -1.0, 0.25]]),
        "texts": [["0", ".5", "<2"], ["1", "", ".25"]],
        "hovers": [["<i>\nloss", "b", "c"], ["d", "e", "f"]],
        "scale": "loss",
        "span": (0.0, 1.0),
    }
    return learning.Strip(**usual | changes)  # type: ignore[arg-type]


def test_cells_have_the_colour_of_their_value_and_their_text() -> None:
    figure = plotted(learning.strip(cells(), ["0", "1 M", "2 M"], 1))
    heat = figure["data"][0]
    assert heat["z"] == [[0.0, 0.5, 1.0], [1.0, 0.0, 0.25]]
    assert [step[1] for step in heat["colorscale"]] == palette.stops("loss")
    assert heat["customdata"][0][0] == "&lt;i&gt;<br>loss"
    written = figure["data"][1]
    texts = dict(zip(zip(written["x"], written["y"], strict=True), written["text"], strict=True))
    assert {at: shown(text) for at, text in texts.items() if text} == {
        (0, 0): "0", (1, 0): ".5", (2, 0): "<2", (0, 1): "1", (2, 1): ".25"
    }  # fmt: skip
    inks = written["textfont"]["color"]
    assert inks[2] == palette.text_on(palette.stops("loss")[-1]) != inks[0] == palette.text_on(palette.stops("loss")[0])
    assert figure["layout"]["yaxis"]["ticktext"] == ["&lt;b&gt;", "milk"]
    assert figure["layout"]["xaxis"]["ticktext"] == ["0", "1 M", "2 M"]


def test_the_column_on_show_is_framed_and_first_choices_are_bold() -> None:
    figure = plotted(learning.strip(cells(firsts=[1, -1, 0]), ["0", "1 M", "2 M"], 2, dark=True))
    (frame,) = figure["layout"]["shapes"]
    assert (frame["x0"], frame["x1"], frame["y0"], frame["y1"]) == (1.5, 2.5, -0.5, 1.5)
    assert figure["data"][1]["text"] == ["0", ".5", "<b>&lt;2</b>", "<b>1</b>", "", ".25"]


def test_equal_values_do_not_divide_by_nothing() -> None:
    assert np.isfinite(cells(values=np.zeros((2, 3)), span=(0.0, 0.0)).strengths).all()
