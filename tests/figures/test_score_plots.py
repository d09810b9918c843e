"""Pictures of pairs and files. Expected values: the input itself, and counts by hand."""

from __future__ import annotations

import pytest
from plotted import plotted, shown

from bertviz_lite.figures import palette, scoring

BOTH_THEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])


@BOTH_THEMES
def test_differences_stand_in_reading_order_coloured_by_their_sign(dark: bool) -> None:
    labels, values = ["The", "is / are", "<b>"], [0.5, -2.0, 0.0]
    drawn = plotted(scoring.differences(labels, values, ["1; 2", "3", "4"], unit="bits", dark=dark))
    (trace,) = drawn["data"]
    assert trace["y"] == values
    assert [shown(label) for label in drawn["layout"]["xaxis"]["ticktext"]] == labels
    above, below, nothing = trace["marker"]["color"]
    assert above == palette.signed(dark)[-2]
    assert below == nothing == palette.signed(dark)[1]
    assert trace["customdata"][0] == ["The", "1<br>2"]
    assert "bits" in drawn["layout"]["yaxis"]["title"]["text"]


def test_many_words_are_named_every_so_many() -> None:
    drawn = plotted(scoring.differences(["w"] * 200, [1.0] * 200, ["t"] * 200, unit="nats"))
    assert len(drawn["data"][0]["y"]) == 200
    assert len(drawn["layout"]["xaxis"]["ticktext"]) <= 40


@BOTH_THEMES
def test_a_histogram_counts_every_line_once_and_is_coloured_by_loss(dark: bool) -> None:
    means = [0.0, 0.1, 0.2, 4.0, 4.0, 12.0]
    drawn = plotted(scoring.histogram(means, unit="nats", most=12.0, dark=dark))
    (trace,) = drawn["data"]
    assert sum(trace["y"]) == 6
    for low_high, count in zip(trace["customdata"], trace["y"], strict=True):
        low, high = low_high
        assert count == sum(low <= mean < high or mean == high == 12.0 for mean in means)
    colours = trace["marker"]["color"]
    assert colours[0] != colours[-1]
    assert colours[-1] == palette.colour("loss", trace["x"][-1] / 12.0, dark)


@pytest.mark.parametrize("means", [[3.0], [3.0, 3.0], [0.0] * 50])
def test_lines_of_one_loss(means: list[float]) -> None:
    (trace,) = plotted(scoring.histogram(means, unit="nats", most=4.0))["data"]
    assert sum(trace["y"]) == len(means)
    assert trace["width"] > 0


def test_few_bars_stay_slim() -> None:
    def share(n: int) -> float:
        figure = scoring.bars(["a"] * n, [1.0] * n, [""] * n, unit="nats", most=4.0)
        return 1 - plotted(figure)["layout"]["bargap"]

    assert share(1) < 0.2
    assert share(1) < share(3) < share(5) == share(50)
