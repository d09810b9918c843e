"""Expected values: the weights that went in. Colours, thicknesses, numbers and names are read back out of the SVG."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from drawn import Drawn, channels
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from bertviz_lite.analysis import ShownMap, Units
from bertviz_lite.analysis.units import Floats
from bertviz_lite.errors import InputError
from bertviz_lite.figures import attention_print, palette

ROWS, COLUMNS = ("the", "##s"), ("a", "café", ".")
WEIGHTS = np.array([[0.5, 0.3, 0.2], [0.0, 0.004, 0.996]], np.float32)


def units(labels: Sequence[str]) -> Units:
    n = len(labels)
    no = np.zeros(n, bool)
    each = tuple((i,) for i in range(n))
    return Units(tuple(labels), each, each, np.zeros(n, np.int64), no, no, no)


def shown(weights: Floats = WEIGHTS, rows: Sequence[str] = ROWS, columns: Sequence[str] = COLUMNS) -> ShownMap:
    gone = np.zeros(weights.shape[:-1], np.float32)
    return ShownMap(weights, units(rows), units(columns), gone, gone > 1)


def square(n: int, seed: int = 0) -> ShownMap:
    weights = np.random.default_rng(seed).dirichlet(np.full(n, 0.1), n).astype(np.float32)
    return shown(weights, [f"r{i}" for i in range(n)], [f"c{i}" for i in range(n)])


def one(of: ShownMap, says: str = "layer 0, head 1") -> Drawn:
    return Drawn(attention_print.one_map(of, says).svg("a title"))


def expected_pixels(weights: Floats) -> np.ndarray:
    """The attention scale from nothing to the map's largest."""
    steps = np.rint(weights / weights.max() * 255) / 255
    return np.array([[channels(palette.colour("attention", float(step))) for step in row] for row in steps])


def test_every_cell_has_the_colour_of_its_weight_at_its_place() -> None:
    cells = one(shown()).group("cells")
    assert [channels(cell.style["fill"]) for cell in cells] == [
        tuple(c) for c in expected_pixels(WEIGHTS).reshape(-1, 3)
    ]
    middles = np.array([cell.middle for cell in cells]).reshape(2, 3, 2)
    assert (np.diff(middles[..., 0], axis=1) > 0).all(), "columns go across"
    assert (np.diff(middles[..., 1], axis=0) > 0).all(), "rows go down"
    assert np.ptp(middles[..., 0], axis=0).max() < 1e-3
    assert np.ptp(middles[..., 1], axis=1).max() < 1e-3


def test_weights_are_written_into_their_cells() -> None:
    drawn = one(shown())
    cells = drawn.group("cells")
    for i, number in enumerate((".50", ".30", ".20", None, None, "1.00")):
        near = [text for text in drawn.texts if text.text == number and abs(text.x - cells[i].middle[0]) < 1]
        assert bool(near) == (number is not None)
        assert all(abs(text.y - cells[i].middle[1]) < 5 for text in near)
    assert not drawn.places(".00"), "they would hide the others"


def test_lines_run_from_row_to_column_as_thick_as_the_weight_strong_ones_on_top() -> None:
    drawn = one(shown())
    rows = [drawn.places(label)[-1].y for label in ROWS]
    columns = [drawn.places(label)[-1].y for label in COLUMNS]
    lines = drawn.group("lines")
    assert len(lines) == 4, "0 and 0.004 are too weak to be seen"
    found = np.zeros_like(WEIGHTS)
    for line in lines:
        (_, start), (_, end) = line.corners[0], line.corners[-1]
        row = int(np.argmin(np.abs(np.array(rows) - start)))
        column = int(np.argmin(np.abs(np.array(columns) - end)))
        found[row, column] = float(line.style["stroke-width"])
    assert_allclose(found / found.max() * WEIGHTS.max(), np.where(WEIGHTS > 0.01, WEIGHTS, 0), atol=1e-5)
    thickness = [float(line.style["stroke-width"]) for line in lines]
    assert thickness == sorted(thickness)
    opacity = [float(line.style["stroke-opacity"]) for line in lines]
    assert opacity == sorted(opacity)
    assert drawn.places("lines: weights above 0.02")


def test_where_all_lines_are_drawn_nothing_is_said_of_weak_ones() -> None:
    drawn = one(shown(np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]], np.float32)))
    assert len(drawn.group("lines")) == 6
    assert not [text for text in drawn.texts if text.text.startswith("lines")]


def test_tokens_stand_between_heatmap_and_lines_and_behind_them() -> None:
    drawn = one(shown())
    right_of_cells = max(x for cell in drawn.group("cells") for x, _ in cell.corners)
    line = drawn.group("lines")[0]
    for label in ROWS:
        (place,) = drawn.places(label)
        assert right_of_cells < place.x < line.corners[0][0]
    for label in COLUMNS:
        above, beside = drawn.places(label)
        assert above.x < right_of_cells
        assert above.y < drawn.group("cells")[0].middle[1]
        assert beside.x > line.corners[-1][0]
    assert drawn.title == "a title"
    assert drawn.places("layer 0, head 1")
    assert drawn.places("1.00")[-1].y > drawn.group("cells")[-1].middle[1], "the scale names the largest weight"


def test_a_large_heatmap_is_a_picture_of_its_weights() -> None:
    of = square(65)
    drawn = one(of)
    assert_array_equal(drawn.pictures["cells"].pixels, expected_pixels(of.weights))
    assert drawn.height < 72 * 11


def test_too_many_lines_are_cut_at_the_weakest_and_it_is_said() -> None:
    drawn = one(shown(np.full((70, 70), 1 / 70, np.float32), ["a"] * 70, ["b"] * 70))
    assert len(drawn.group("lines")) == attention_print.MOST_LINES
    assert drawn.places("lines: weights above 0.01")


@pytest.mark.parametrize("n", [1, 2, 12, 40, 128, 512])
def test_names_never_overlap_and_all_is_on_the_sheet(n: int) -> None:
    drawn = one(square(n))
    rows = [text.y for text in drawn.texts if text.text.startswith("r") and text.text[1:].isdigit()]
    assert rows == sorted(rows)
    assert all(b - a > 3.9 for a, b in pairwise(rows))
    assert len(rows) >= min(n, 100), "up to a page's height every token is named"
    assert drawn.width <= 72 * 7
    assert all(0 < text.x < drawn.width and 0 < text.y < drawn.height for text in drawn.texts)


def test_all_heads_stand_layers_down_and_heads_across_each_on_its_own_scale() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(5), (3, 4, 5)).astype(np.float32)
    drawn = Drawn(attention_print.all_maps(list(weights), "all").svg("t"))
    for layer in range(3):
        for head in range(4):
            picture = drawn.pictures[f"map-{layer}-{head}"]
            assert_array_equal(picture.pixels, expected_pixels(weights[layer, head]))
            (number,) = [text for text in drawn.places(str(head)) if text.y < drawn.pictures["map-0-0"].y]
            assert abs(number.x - (picture.x + picture.width / 2)) < 1e-3
            beside = [text for text in drawn.places(str(layer)) if picture.y < text.y < picture.y + picture.height]
            assert beside, "each row of maps has its layer's number"
            assert beside[0].x < drawn.pictures["map-0-0"].x


def test_one_sentence_that_looks_at_another_is_not_square() -> None:
    weights = np.random.default_rng(0).random((2, 3, 4, 6), np.float32)
    drawn = Drawn(attention_print.all_maps(list(weights), "all").svg("t"))
    picture = drawn.pictures["map-1-2"]
    assert_array_equal(picture.pixels, expected_pixels(weights[1, 2]))
    assert picture.width / picture.height == pytest.approx(6 / 4, rel=1e-3)


def test_maps_of_a_layer_have_names_and_do_not_overlap() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(3), (6, 2)).astype(np.float32)
    names = [f"head {i}" for i in range(6)]
    drawn = Drawn(attention_print.some_maps(shown(weights), names, "layer 1").svg("t"))
    boxes = [drawn.pictures[f"map-{i}"] for i in range(6)]
    for box, name, one_of in zip(boxes, names, weights, strict=True):
        assert_array_equal(box.pixels, expected_pixels(one_of))
        (place,) = drawn.places(name)
        assert abs(place.x - (box.x + box.width / 2)) < 1e-3
        assert box.y + box.height < place.y < box.y + box.height + 15
    for a, b in pairwise(boxes[:4]):
        assert a.x + a.width < b.x
    assert boxes[4].y > boxes[0].y + boxes[0].height
    assert len(drawn.places("the")) == 2, "rows are named once a line of maps"
    assert len(drawn.places("café")) == 4, "columns on top"


def test_a_peak_of_a_long_text_is_not_lost_in_a_small_map() -> None:
    weights = np.zeros((1, 1, 300, 300), np.float32)
    weights[0, 0, 211, 17] = 1
    picture = Drawn(attention_print.all_maps(list(weights), "all").svg("t")).pictures["map-0-0"]
    assert picture.pixels.shape == (128, 128, 3)
    row, column = np.argwhere((picture.pixels == channels(palette.stops("attention")[-1])).all(-1)).tolist()[0]
    assert abs(row / 128 - 211 / 300) < 1 / 100
    assert abs(column / 128 - 17 / 300) < 1 / 100


ODD = ("文字", "مرحبا", "🙂", "$x^2$", "<b>&", "ไทย", "हि")


def test_any_script_comes_out_as_text_and_as_a_picture() -> None:
    weights = np.full((7, 7), 1 / 7, np.float32)
    sheet = attention_print.one_map(shown(weights, ODD, ODD), "layer 0, head 0")
    drawn = Drawn(sheet.svg("文字 & <b>"))
    assert drawn.title == "文字 & <b>"
    for label in ODD:
        assert len(drawn.places(label)) == 3
    picture = Image.open(io.BytesIO(sheet.png("t")))
    assert picture.info["dpi"] == pytest.approx((300, 300), abs=0.1)
    assert picture.size == (pytest.approx(drawn.width / 72 * 300, abs=1), pytest.approx(drawn.height / 72 * 300, abs=1))
    assert picture.convert("RGB").getpixel((0, 0)) == (255, 255, 255)


def test_a_png_has_the_colours_of_the_weights() -> None:
    sheet = attention_print.one_map(shown(np.array([[0.1, 0.9]], np.float32), ["a"], ["b", "c"]), "x")
    cells = Drawn(sheet.svg("t")).group("cells")
    picture = Image.open(io.BytesIO(sheet.png("t"))).convert("RGB")
    for cell in cells:
        x, y = min(x for x, _ in cell.corners) + 2, cell.middle[1]
        assert picture.getpixel((x / 72 * 300, y / 72 * 300)) == channels(cell.style["fill"])


def test_a_token_that_cannot_be_seen_or_is_long_is_shown_all_the_same() -> None:
    drawn = one(shown(np.ones((1, 1), np.float32), ["\x00\x07"], ["w" * 50]))
    assert drawn.places("\ufffd\ufffd")
    assert drawn.places("w" * 13 + "…")


def test_nothing_left_is_told() -> None:
    nothing = shown(np.zeros((0, 3), np.float32), ())
    with pytest.raises(InputError, match="left out"):
        attention_print.one_map(nothing, "x")
    with pytest.raises(InputError, match="left out"):
        attention_print.some_maps(shown(np.zeros((2, 0, 3), np.float32), ()), ["a", "b"], "x")


@pytest.mark.parametrize("weight", [0.0, 1e-9])
def test_a_map_of_nothing_is_still_a_picture(weight: float) -> None:
    drawn = one(shown(np.full((2, 3), weight, np.float32)))
    assert not drawn.group("lines")
    assert len(drawn.group("cells")) == 6


def test_the_same_numbers_give_the_same_bytes_whatever_a_person_has_set() -> None:
    def both() -> tuple[bytes, bytes]:
        sheet = attention_print.one_map(shown(), "x")
        return sheet.svg("t"), sheet.png("t")

    first = both()
    with mpl.rc_context({"text.usetex": True, "savefig.bbox": "tight", "svg.fonttype": "path", "font.size": 30}):
        assert both() == first
        assert mpl.rcParams["font.size"] == 30, "and it stays set"
    assert b"dc:date" not in first[0]


def test_matplotlib_is_not_imported_before_a_picture_is_drawn() -> None:
    code = (
        "import sys, bertviz_lite.commands, bertviz_lite.notebook, bertviz_lite.ui; print('matplotlib' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
