"""Expected values: transformers' maps of the same text, and what follows from them by formula."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from outside import Outside
from page_tools import Open, chart, chips_of, choose, press_word, view_data
from streamlit.testing.v1 import AppTest

import bertviz_lite
from bertviz_lite.bundled import EXAMPLES

CHECKPOINT = bertviz_lite.load()
FIRST = CHECKPOINT.tokenizer.encode(EXAMPLES[0].text).masked(EXAMPLES[0].masked)
PAGE = "pages/attention.py"


def test_first_sight_is_a_head_beside_all_heads(open_page: Open, outside: Outside) -> None:
    at = open_page(PAGE)
    assert not at.exception
    header, arrays = view_data(at, "one_head")
    layer, head = header["state"]["layer"], header["state"]["head"]
    expected = outside.maps(FIRST)
    assert_allclose(arrays["weights"], expected[layer, head], atol=1e-5)
    assert expected[layer, head].max() > 0.3, "a head worth a look"
    assert view_data(at, "all_heads")[0]["shape"] == [6, 12, len(FIRST)]


def test_a_link_opens_a_head_and_what_was_chosen_in_it(open_page: Open, outside: Outside) -> None:
    at = open_page(PAGE, layer="3", head="5", hide="sep,punctuation", by="words", pairs="b_to_b", pin="3.", rescale="1")
    header, arrays = view_data(at, "one_head")
    assert_allclose(arrays["weights"], outside.maps(FIRST)[3, 5], atol=1e-5)
    assert header["state"] == {
        "layer": 3, "head": 5, "by": "words", "without": ["sep", "punctuation"], "pairs": "all", "rescale": True,
        "large": False, "readable": False, "pin": [3, None],
    }  # fmt: skip


def test_what_is_chosen_in_the_browser_is_kept_and_in_the_address(open_page: Open, outside: Outside) -> None:
    at = choose(open_page(PAGE), "one_head", layer=2, head=7, without=["cls"], large=True, pin=[4, 1])
    header, arrays = view_data(at, "one_head")
    assert_allclose(arrays["weights"], outside.maps(FIRST)[2, 7], atol=1e-5)
    assert header["state"]["without"] == ["cls"]
    shown = {name: value if isinstance(value, str) else value[0] for name, value in dict(at.query_params).items()}
    assert shown == {"layer": "2", "head": "7", "hide": "cls", "large": "1", "pin": "4.1"}


def test_the_same_choice_again_is_a_choice(open_page: Open) -> None:
    """The browser's message would else be the one before, and not be heard."""
    at = choose(open_page(PAGE), "one_head", layer=2, head=5)
    assert view_data(at, "one_head")[0]["heard"] == 1
    at = choose(at, "one_head", layer=0, head=3)
    at = choose(at, "one_head", layer=2, head=5)
    header, _ = view_data(at, "one_head")
    assert (header["state"]["layer"], header["state"]["head"], header["heard"]) == (2, 5, 3)


@pytest.mark.parametrize(
    "told",
    [{"by": "zzz"}, {"without": ["zzz"]}, {"pairs": 3}, {"pin": [1e9, "x"]}, {"pin": [1, 2, 3]}, {"layer": "x"},
     {"rescale": {}}],
    ids=str,
)  # fmt: skip
def test_a_browser_that_tells_nonsense_changes_nothing(open_page: Open, told: dict[str, object]) -> None:
    before = open_page(PAGE, layer="1", head="1")
    kept = view_data(before, "one_head")[0]["state"]
    at = choose(before, "one_head", **told)
    assert not at.exception
    assert view_data(at, "one_head")[0]["state"] == kept


def test_a_head_beyond_the_model_gives_way_to_its_last(open_page: Open) -> None:
    at = open_page(PAGE, layer="99", head="99")
    assert not at.exception
    state = view_data(at, "one_head")[0]["state"]
    assert (state["layer"], state["head"]) == (5, 11)


def test_masking_in_place_changes_sentence_and_maps(open_page: Open, outside: Outside) -> None:
    at = press_word(open_page(PAGE, layer="1", head="1"), 1)
    again = CHECKPOINT.tokenizer.encode(EXAMPLES[0].text).masked([1, *EXAMPLES[0].masked])
    header, arrays = view_data(at, "one_head")
    assert_allclose(arrays["weights"], outside.maps(again)[1, 1], atol=1e-5)
    assert header["masked"] == [i for i, piece in enumerate(again.pieces) if piece == "[MASK]"]
    assert header["text"] != view_data(open_page(PAGE, layer="1", head="1"), "one_head")[0]["text"]


def test_a_second_sentence_is_read_after_the_first(open_page: Open, outside: Outside) -> None:
    at = open_page(PAGE, text="Where is it?", text_b="On the table.", layer="0", head="3", mask="6")
    pair = CHECKPOINT.tokenizer.encode("Where is it?", "On the table.").masked([6])
    assert chips_of(at).count("[SEP]") == 2
    assert chips_of(at)[8] == "[MASK]"
    header, arrays = view_data(at, "one_head")
    assert_allclose(arrays["weights"], outside.maps(pair)[0, 3], atol=1e-5)
    assert header["tokens"]["segments"] == list(pair.segment_ids)


def test_masks_stay_on_their_words_when_the_second_sentence_changes(open_page: Open) -> None:
    at = open_page(PAGE, text="Where is it?", text_b="On the table.", mask="2,6")
    at.text_area(key="widget_text_b").set_value("Not on the table.").run()
    assert [chips_of(at)[i] for i in (3, 9)] == ["[MASK]", "[MASK]"]
    assert chips_of(at).count("[MASK]") == 2


NUMBERS = {
    "previous_prob": lambda m: np.diagonal(m, -1, -2, -1).mean(-1),
    "cls_prob": lambda m: m[..., 0].mean(-1),
    "sep_prob": lambda m: m[..., -1].mean(-1),
    "entropy_nats": lambda m: -(m * np.log(np.maximum(m, 1e-30))).sum(-1).mean(-1),
}


@pytest.mark.parametrize("shows", NUMBERS)
def test_every_heads_numbers(open_page: Open, outside: Outside, shows: str) -> None:
    at = open_page(PAGE, maps="numbers", shows=shows)
    expected = NUMBERS[shows](outside.maps(FIRST))
    assert_allclose(chart(at, "grid")["data"][0]["z"], expected, atol=1e-5)
    frame = at.dataframe[0].value
    column = {"previous_prob": "on the previous token", "cls_prob": "on [CLS]", "sep_prob": "on [SEP]",
              "entropy_nats": "entropy (nats)"}[shows]  # fmt: skip
    assert_allclose(frame[column].to_numpy().reshape(6, 12), expected, atol=1e-5)
    named = frame[frame["is a"].str.contains("previous token")]
    assert set(zip(named["layer"], named["head"], strict=True)) == {
        tuple(at) for at in np.argwhere(NUMBERS["previous_prob"](outside.maps(FIRST)) > 0.5).tolist()
    }


def test_pressing_a_row_opens_its_head(open_page: Open) -> None:
    at = open_page(PAGE, maps="numbers")
    at = select_row(at, 2 * 12 + 5)
    state = view_data(at, "one_head")[0]["state"]
    assert (state["layer"], state["head"]) == (2, 5)


def test_numbers_that_this_text_does_not_have_are_told(open_page: Open) -> None:
    at = open_page(PAGE, maps="numbers", shows="same_prob")
    assert not at.exception
    assert "twice" in at.info[0].value


def test_means_are_means(open_page: Open, outside: Outside) -> None:
    expected = outside.maps(FIRST)

    def drawn(**query: str) -> NDArray[np.float32]:
        at = open_page(PAGE, maps="means", **query)
        assert not at.exception
        return view_data(at, "one_map")[1]["weights"]

    assert_allclose(drawn(mean="all"), expected.mean((0, 1)), atol=1e-5)
    assert_allclose(drawn(mean="layer", of_layer="2"), expected[2].mean(0), atol=1e-5)
    assert_allclose(drawn(mean="heads", of_heads="0.2,3.11"), (expected[0, 2] + expected[3, 11]) / 2, atol=1e-5)
    rolled = np.eye(len(FIRST))
    for layer in expected[:3]:
        mixed = layer.mean(0) / 2 + np.eye(len(FIRST)) / 2
        rolled = mixed / mixed.sum(-1, keepdims=True) @ rolled
    assert_allclose(drawn(mean="rollout", of_layer="2"), rolled, atol=1e-5)


def test_flow_is_shown_token_by_token_and_bounded(open_page: Open) -> None:
    at = open_page(PAGE, maps="means", mean="flow", flow_to="3")
    bars = np.array(chart(at, "flow_bars")["data"][0]["y"])
    assert bars.shape == (len(FIRST),)
    assert ((bars >= 0) & (bars <= 1)).all()
    at = open_page(PAGE, maps="means", mean="flow", text="word " * 80)
    assert "at most 64" in at.error[0].value


def test_what_a_mask_changes(open_page: Open, outside: Outside) -> None:
    at = open_page(PAGE, maps="change", layer="4", head="2")
    change = outside.maps(FIRST) - outside.maps(FIRST.masked(()))
    header, arrays = view_data(at, "one_map")
    assert_allclose(arrays["weights"], change[4, 2], atol=2e-5)
    assert header["signed"]
    assert "milk / [MASK]" in header["tokens"]["labels"]
    assert_allclose(chart(at, "moved")["data"][0]["z"], np.abs(change).sum(-1).mean(-1) / 2, atol=1e-4)
    at = open_page(PAGE, maps="change", text="Nothing is masked.")
    assert "Nothing is masked" in at.info[0].value


def test_two_heads_two_sentences_two_models(open_page: Open, outside: Outside) -> None:
    at = open_page(PAGE, maps="change", change="head", layer="0", head="2", layer2="5", head2="1")
    expected = outside.maps(FIRST)
    assert_allclose(view_data(at, "one_map")[1]["weights"], expected[5, 1] - expected[0, 2], atol=2e-5)
    texts = {"text": "The cat sees a dog.", "text2": "The dog sees a cat."}
    at = open_page(PAGE, maps="change", change="text", layer="1", head="1", **texts)
    first, second = (outside.maps(CHECKPOINT.tokenizer.encode(text)) for text in texts.values())
    assert_allclose(view_data(at, "one_map")[1]["weights"], (second - first)[1, 1], atol=2e-5)
    at = open_page(PAGE, maps="change", change="text", text="One.", text2="One, two.")
    assert "as many" in at.error[0].value
    at = open_page(PAGE, maps="change", change="model")
    assert not at.exception
    assert np.abs(view_data(at, "one_map")[1]["weights"].sum(-1)).max() < 1e-5


@pytest.mark.parametrize("view", ["heads", "numbers", "means", "change"])
@pytest.mark.parametrize("text", ["[MASK]", "🙂", "<b>&amp;</b>", "x" * 300, "中文"], ids=ascii)
def test_odd_texts_in_every_view(open_page: Open, view: str, text: str) -> None:
    at = open_page(PAGE, maps=view, text=text)
    assert not at.exception


def select_row(at: AppTest, row: int) -> AppTest:
    """What the browser sends when a row of the table is pressed."""
    proto = at.dataframe[0].proto
    states = at._tree.get_widget_states()
    sent = next((one for one in states.widgets if one.id == proto.id), None) or states.widgets.add()
    sent.id = proto.id
    sent.string_value = json.dumps({"selection": {"rows": [row], "columns": [], "cells": []}})
    return at._run(states)
