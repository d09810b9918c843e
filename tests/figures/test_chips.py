"""Expected values: written by hand from the contract of figures/chips.py; colours from figures/palette.py, which
test_palette.py proves."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest

from bertviz_lite.figures import chips, palette
from bertviz_lite.figures.chips import Piece

# [CLS] so ##uven ##ir [MASK] ! [SEP]: a word of three pieces, a mask that was typed, a word that was masked.
PIECES = [
    Piece("[CLS]", "opens the text"),
    Piece("so", "first", word=0, hidden="souvenir"),
    Piece("uven", "second", word=0, hidden="souvenir"),
    Piece("ir", "third", word=0, hidden="souvenir"),
    Piece("[MASK]", word=1, masked=True, hidden="[MASK]", fixed=True),
    Piece("[MASK]", word=2, masked=True, hidden="!"),
    Piece("[SEP]"),
]


def words(**options: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    found: list[dict[str, Any]] = chips.chips(PIECES, **options)["words"]
    return found


def test_pieces_of_a_word_share_a_chip() -> None:
    assert [(w["id"], [p["text"] for p in w["pieces"]]) for w in words()] == [
        (None, ["[CLS]"]),
        (0, ["so", "uven", "ir"]),
        (1, ["[MASK]"]),
        (2, ["[MASK]"]),
        (None, ["[SEP]"]),
    ]


def test_tips_stay_with_their_pieces() -> None:
    assert [p["tip"] for w in words() for p in w["pieces"]] == [
        "opens the text",
        "first",
        "second",
        "third",
        "",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("special", [True, False, False, False, True]),
        ("masked", [False, False, True, True, False]),
        ("fixed", [False, False, True, False, False]),
        ("hidden", ["", "souvenir", "[MASK]", "!", ""]),
    ],
)
def test_what_a_chip_says_of_its_word(name: str, expected: list[object]) -> None:
    assert [w[name] for w in words()] == expected


def test_a_word_that_is_not_read_says_so() -> None:
    found = chips.chips([Piece("a", word=0, unseen=True), Piece("b", word=1)])["words"]
    assert [w["unseen"] for w in found] == [True, False]


def test_special_tokens_side_by_side_have_a_chip_each() -> None:
    found = chips.chips([Piece("[CLS]"), Piece("[SEP]"), Piece("a", word=0), Piece("[SEP]")])["words"]
    assert [[p["text"] for p in w["pieces"]] for w in found] == [["[CLS]"], ["[SEP]"], ["a"], ["[SEP]"]]


def test_the_row_says_what_it_is_and_whether_it_can_be_pressed() -> None:
    plain = chips.chips(PIECES)
    assert set(plain) == {"words", "clickable", "bounded", "heard", "label", "dark"}
    assert (plain["clickable"], plain["bounded"], plain["dark"]) == (False, False, False)
    assert plain["label"]
    other = chips.chips(PIECES, clickable=True, heard=3, label="two words", dark=True)
    assert (other["clickable"], other["heard"], other["label"], other["dark"]) == (True, 3, "two words", True)


def test_nothing_typed() -> None:
    assert chips.chips([])["words"] == []


@pytest.mark.parametrize("dark", [False, True])
def test_strengths_colour_the_pieces_at_their_positions_and_no_others(dark: bool) -> None:
    found = words(scale="loss", strengths={1: 0.0, 3: 0.6, 5: 1.0}, dark=dark)
    pieces = [p for w in found for p in w["pieces"]]
    assert [i for i, p in enumerate(pieces) if "background" in p] == [1, 3, 5]
    for position, strength in ((1, 0.0), (3, 0.6), (5, 1.0)):
        assert pieces[position]["background"] == palette.colour("loss", strength, dark)
        assert pieces[position]["colour"] == palette.text_on(pieces[position]["background"])
    assert pieces[1]["background"] == palette.stops("loss", dark)[0]
    assert pieces[5]["background"] == palette.stops("loss", dark)[-1]


def test_a_strength_of_nan_is_the_colour_of_nothing_and_one_beyond_the_ends_is_clipped() -> None:
    found = words(scale="probability", strengths={0: math.nan, 1: -3.0, 2: math.inf})
    pieces = [p["background"] for w in found for p in w["pieces"] if "background" in p]
    steps = palette.stops("probability")
    assert pieces == [steps[0], steps[0], steps[-1]]


@pytest.mark.parametrize("options", [{"scale": "loss"}, {"strengths": {1: 0.5}}, {"scale": "loss", "strengths": {}}])
def test_without_a_scale_or_a_strength_pieces_stay_plain(options: dict[str, Any]) -> None:
    assert not [p for w in words(**options) for p in w["pieces"] if "background" in p or "colour" in p]


def test_data_is_json_with_text_as_it_was_typed() -> None:
    nasty = "<b>&amp;</b>\"'`${x}\u2028😀"
    data = chips.chips([Piece(nasty, nasty, word=0, hidden=nasty)], scale="loss", strengths={0: math.nan})
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["words"][0]["pieces"][0]["text"] == nasty


def test_the_three_files_of_the_view_belong_together() -> None:
    assert 'class="chips-root"' in chips.HTML
    assert '".chips-root"' in chips.JS
    drawn = set(re.findall(r'[" ](chips?|long|special|masked|unseen|presses|piece|pending)"', chips.JS))
    assert {"chips", "chip", "special", "masked", "presses", "piece", "pending"} <= drawn
    styled = set(re.findall(r"\.([a-z-]+)", re.sub(r"\{[^}]*\}", "", chips.CSS)))
    assert styled <= drawn, "a rule for a class that is never drawn"
