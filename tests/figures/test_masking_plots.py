"""The training example as cards and the draws as bars; expected values are the input itself."""

from __future__ import annotations

import math

import pytest
from plotted import plotted

from bertviz_lite.figures import masking, palette


def test_a_card_shows_text_input_label_and_probability() -> None:
    html = masking.cards(
        [masking.Drawn("the", "the", -100), masking.Drawn("cat", "[MASK]", 4937, "masked", 0.0636, 1.0, "rank 3")]
    )
    plain, asked = html.split("</div><div")[1:]
    assert "−100" in plain
    assert "p =" not in plain
    for words in ("cat", "[MASK]", "4937", "masked", "p = 0.0636", 'title="rank 3"', palette.stops("loss")[-1]):
        assert words in asked


def test_a_piece_is_no_markup() -> None:
    html = masking.cards([masking.Drawn("<b>", '"&', -100, tip='<i>"')])
    assert "&lt;b&gt;" in html
    assert "&quot;&amp;" in html
    assert 'title="&lt;i&gt;&quot;"' in html


@pytest.mark.parametrize("dark", [False, True])
def test_what_was_drawn_stands_beside_what_was_expected(dark: bool) -> None:
    bars, marks = plotted(masking.beside_expected(["1", "2"], [0.25, 0.75], [0.2, 0.8], what="tokens", dark=dark))[
        "data"
    ]
    assert (bars["type"], bars["y"], marks["type"], marks["y"]) == ("bar", [0.25, 0.75], "scatter", [0.2, 0.8])


def test_many_numbers_are_not_all_named() -> None:
    n = 45
    layout = plotted(masking.beside_expected([str(i) for i in range(n)], [1 / n] * n, [1 / n] * n, what="tokens"))[
        "layout"
    ]
    assert len(layout["xaxis"]["tickvals"]) <= 11
    assert [str(at) for at in layout["xaxis"]["tickvals"]] == layout["xaxis"]["ticktext"]


def test_a_kind_that_was_not_drawn_says_so() -> None:
    (bars,) = plotted(masking.by_kind(["masked", "random"], [1.5, math.nan], [12, 0]))["data"]
    assert bars["y"] == [1.5, 0.0]
    assert bars["text"] == ["1.50", "none drawn"]
