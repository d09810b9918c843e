"""The views of "Fill the mask". Expected numbers come from the core, which has its own tests against transformers and
brute force; what is tested here is that the page asks the right question and shows the answer."""

from __future__ import annotations

import io
import json
import math

import numpy as np
import pytest
from more_models import changed, opened, said, with_nan
from page_tools import Open, chart, chips_data, press_word

import bertviz_lite
from bertviz_lite.analysis import STRATEGIES, candidates, contrast, fill, top_k
from bertviz_lite.bundled import CONTRASTS, EXAMPLES
from bertviz_lite.ui import numbers, state
from bertviz_lite.ui.wording import plain

CHECKPOINT = bertviz_lite.load()
MODEL, TOKENIZER = CHECKPOINT.model, CHECKPOINT.tokenizer
SPECIAL = TOKENIZER.special_ids
COUNTRY = next(example for example in EXAMPLES if example.label == "A country")
VIEWS = ("each", "together", "words", "contrast")


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_shows_something_real_at_first_sight(open_page: Open, view: str) -> None:
    at = open_page(ask=view)
    assert not at.exception
    assert not at.error
    assert at.get("plotly_chart")
    at = at.segmented_control(key="widget_ask").set_value("each").run()
    assert "ask" not in at.query_params


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.label)
def test_every_example_opens_in_every_view(open_page: Open, view: str, example: object) -> None:
    at = open_page(ask=view, text=example.text, mask=",".join(map(str, example.masked)))
    assert not at.exception
    assert not at.error
    assert at.get("plotly_chart")


def test_the_page_shows_that_independent_guesses_contradict_each_other(open_page: Open) -> None:
    at = open_page(ask="together")
    assert "nothing can contradict" in said(at)
    assert "**united party**" in at.info[0].value, "one mask shows the example at first sight"
    assert "**united states**" in at.info[0].value
    at.button(key="example_A country").click().run()
    encoding = TOKENIZER.encode(COUNTRY.text).masked(COUNTRY.masked)
    found = {way: fill(MODEL, encoding, way, beams=8, exclude=SPECIAL) for way in STRATEGIES}
    joint = {way: float(filling.joint_log_probs[0]) for way, filling in found.items()}
    table = at.dataframe[0].value
    assert table["strategy"].tolist() == ["Independent", "Left to right", "Best first", "Beam search"]
    assert table["joint ln p"].tolist() == pytest.approx([joint[way] for way in STRATEGIES], abs=1e-3)
    assert table["fills in"].tolist()[::3] == ["united party", "united states"]
    gain = math.exp(joint["beam"] - joint["independent"])
    assert f"**{numbers.times(gain)} times** likelier" in said(at)
    drawn = chart(at, "sequences")["data"][0]
    assert drawn["x"] == pytest.approx(np.exp(found["beam"].joint_log_probs).tolist(), rel=1e-3)
    assert drawn["customdata"][0] == "united states"
    at.slider(key="widget_beams").set_value(3).run()
    assert len(chart(at, "sequences")["data"][0]["x"]) == 3
    assert at.query_params["beams"] == "3"


def test_many_masks_are_filled_together_only_on_request(open_page: Open) -> None:
    at = open_page(ask="together", beams="1", text="[MASK] " * 13)
    assert not at.get("plotly_chart")
    at.toggle(key="fill_many").set_value(True).run()
    assert at.get("plotly_chart")


def test_own_words_are_scored_whole(open_page: Open) -> None:
    at = open_page(ask="words")
    at.text_area(key="widget_words").set_value("milk, ice cream\nsouvenir , ☃, milk").run()
    words = ["milk", "ice cream", "souvenir", "☃"]
    encoding = TOKENIZER.encode(EXAMPLES[0].text).masked(EXAMPLES[0].masked)
    found = candidates(MODEL, TOKENIZER, encoding, words, exclude=SPECIAL)
    table = at.dataframe[0].value
    assert table["word"].tolist() == [words[i] for i in found.order]
    assert table["joint ln p"].tolist() == pytest.approx(found.joint_log_probs[found.order], abs=1e-4, nan_ok=True)
    assert table["share of the list"].sum() == pytest.approx(1)
    assert "“☃” with [UNK]" in at.warning[0].value
    drawn = chart(at, "costs")
    assert [note["text"] for note in drawn["layout"]["annotations"]] == [
        f"{-found.joint_log_probs[i]:.2f}" for i in found.order[:3]
    ]


def test_own_words_go_where_the_visitor_says(open_page: Open) -> None:
    text = "He opened the [MASK] and closed the [MASK]."
    at = open_page(ask="words", text=text, words="window, book")
    at.selectbox(key="widget_slot").set_value(1).run()
    found = candidates(MODEL, TOKENIZER, TOKENIZER.encode(text), ["window", "book"], slot=1)
    table = at.dataframe[0].value.set_index("word")["joint ln p"]
    assert table["window"] == pytest.approx(found.joint_log_probs[0], abs=1e-4)


@pytest.mark.parametrize(
    ("words", "told"), [("", "Write some words"), ("a [MASK]", "holds the mask"), (",\n,", "Write")]
)
def test_words_that_cannot_be_scored_are_told_and_can_be_mended(open_page: Open, words: str, told: str) -> None:
    at = open_page(ask="words")
    at.text_area(key="widget_words").set_value(words).run()
    assert told in "".join(e.value for e in (*at.error, *at.info))
    at.text_area(key="widget_words").set_value("milk").run()
    assert not at.error
    assert at.get("plotly_chart")


def test_any_word_can_be_asked_for(open_page: Open) -> None:
    encoding = TOKENIZER.encode(EXAMPLES[0].text).masked(EXAMPLES[0].masked)
    found = candidates(MODEL, TOKENIZER, encoding, ["lemon", "souvenir"], exclude=SPECIAL)
    at = open_page(word="lemon")
    assert f"**lemon** has **rank {found.ranks[0, 0]:,}**" in said(at)
    at.text_input(key="widget_word").set_value("souvenir").run()
    assert f"ln p {numbers.nats(float(found.joint_log_probs[1]))}" in said(at)
    assert "so ##uven ##ir" in said(at).replace("\\", "")
    at.text_input(key="widget_word").set_value("☃").run()
    assert "cannot spell" in said(at)
    at.text_input(key="widget_word").set_value("a [MASK]").run()
    assert "holds the mask" in at.warning[0].value.replace("\\", "")
    assert at.get("plotly_chart"), "a bad word takes no picture away"


def test_whole_words_only(open_page: Open) -> None:
    at = open_page(text="She was born in San [MASK], California.", k="100")
    assert any(token.startswith("##") for token in at.dataframe[0].value["token"])
    at.toggle(key="widget_whole").set_value(True).run()
    assert not any(token.startswith("##") for token in at.dataframe[0].value["token"])
    assert at.query_params["whole"] == "1"


def test_a_word_is_ranked_among_what_may_compete(open_page: Open) -> None:
    """The rank told is the place among the bars, whatever the filters."""
    at = open_page(text="[MASK]", k="100", special="1")
    tokens = at.dataframe[0].value["token"].tolist()
    word = next(token for token in tokens[60:] if token.isalpha())
    for whole in ("0", "1"):
        at = open_page(text="[MASK]", k="100", special="1", whole=whole, word=word)
        rank = at.dataframe[0].value["token"].tolist().index(word) + 1
        assert f"**{word}** has **rank {rank}**" in said(at)


def test_case_is_a_choice_only_where_the_vocabulary_has_one(open_page: Open, tiny_zip: bytes) -> None:
    at = open_page()
    assert [control.key for control in at.segmented_control] == ["widget_ask"]
    files = changed(tiny_zip, lambda _: None)
    vocabulary = json.loads(files["tokenizer.json"])
    ids = vocabulary["model"]["vocab"]
    for piece in [piece for piece in ids if piece.isascii() and piece.isalpha()][:9000]:
        ids[piece.capitalize()] = ids.pop(piece)
    vocabulary["normalizer"]["lowercase"] = False
    del files["vocab.txt"]
    at = opened(open_page, files | {"tokenizer.json": json.dumps(vocabulary).encode()})
    at = at.switch_page("app.py").run()
    at.segmented_control(key="widget_case").set_value("capital").run()
    letters = [token.removeprefix("##")[0] for token in at.dataframe[0].value["token"]]
    assert not [letter for letter in letters if letter != letter.upper()]


def test_two_sentences_are_compared_at_their_masks(open_page: Open) -> None:
    at = open_page(ask="contrast")
    for preset in CONTRASTS:
        at.button(key=f"pair_{preset.label}").click().run()
        assert not at.exception
        assert not at.error
        assert [area.value for area in at.text_area] == [preset.first, preset.second]
    words = [word.strip() for word in preset.words.split(",")]
    encodings = [TOKENIZER.encode(text) for text in (preset.first, preset.second)]
    found = contrast(MODEL, *encodings, 50, also={TOKENIZER.id(word) for word in words}, exclude=SPECIAL)
    table = at.dataframe[0].value
    assert table["word"].tolist() == [TOKENIZER.piece(i) for i in found.ids.tolist()]
    assert table["log-odds ratio"].tolist() == pytest.approx(found.log_odds_ratios.tolist(), abs=1e-4)
    points = chart(at, "scatter")["data"][1]
    assert points["x"] == pytest.approx(found.log_probs[0].tolist(), abs=1e-4)
    assert set(words) <= set(points["text"])
    in_a = {word: row["ln p in A"] for word, row in table.set_index("word").iterrows()}
    assert f"**{numbers.nats(in_a[words[0]] - in_a[words[1]])}** in A" in said(at)


def test_the_second_sentence_has_masks_of_its_own(open_page: Open) -> None:
    at = open_page(ask="contrast")
    at.text_area(key="widget_second").set_value("The baby drank a bottle of milk.").run()
    assert "Nothing is masked in sentence B" in at.info[0].value
    at = press_word(at, 6, "chips_mask2")
    assert at.query_params["mask2"] == "6"
    assert not at.info
    assert at.get("plotly_chart")
    assert chips_data(at)["words"][7]["masked"], "the first sentence keeps its own"


LONG = (
    "The old house stood near the river. " * 80
    + "The cat drank a bowl of [MASK]. "
    + "It was late. " * 200
    + "Go [MASK]."
)


def test_a_long_text_is_read_around_its_mask_and_the_page_says_so(open_page: Open) -> None:
    at = open_page(text=LONG)
    assert not at.exception
    assert not at.error
    told = at.info[0].value
    assert f"{len(TOKENIZER.encode(LONG)):,} tokens" in told
    assert "1 masked place among it" in told
    unseen = [word["unseen"] for word in chips_data(at)["words"]]
    read = [word for word, hidden in zip(chips_data(at)["words"], unseen, strict=True) if not hidden]
    assert sum(len(word["pieces"]) for word in read) in (511, 512)
    first = chart(at, "bars_0")["data"][0]["x"]
    at.selectbox(key="widget_slot").set_value(1).run()
    assert chart(at, "bars_0")["data"][0]["x"] != first
    assert chips_data(at)["words"][1]["unseen"]


def test_in_a_long_text_a_word_of_several_pieces_can_be_asked_for(open_page: Open) -> None:
    at = open_page(text=LONG, word="souvenir")
    assert not at.warning
    assert "**souvenir** is 3 pieces" in said(at)


@pytest.mark.parametrize("typed", ["The dog drank [mask].", "The dog drank ___."])
def test_other_spellings_of_the_mask_are_offered_in_the_second_sentence(open_page: Open, typed: str) -> None:
    at = open_page(ask="contrast")
    at.text_area(key="widget_second").set_value(typed).run()
    at.button(key="write_mask_second").click().run()
    assert at.text_area(key="widget_second").value == "The dog drank [MASK]."
    assert at.text_area(key="widget_text").value == EXAMPLES[0].text
    assert at.get("plotly_chart")


@pytest.mark.parametrize("view", ["together", "words"])
def test_a_long_text_serves_the_other_views_too(open_page: Open, view: str) -> None:
    at = open_page(ask=view, text=LONG, words="milk, hot chocolate, souvenirs")
    assert not at.exception
    assert not at.error
    assert at.get("plotly_chart")


@pytest.mark.parametrize("view", VIEWS)
def test_a_model_of_nan_is_told_in_a_sentence(open_page: Open, tiny_zip: bytes, view: str) -> None:
    at = opened(open_page, with_nan(tiny_zip)).switch_page("app.py").run()
    at.segmented_control(key="widget_ask").set_value(view).run()
    assert not at.exception
    assert "predictions are NaN" in at.error[0].value
    assert not at.get("plotly_chart")


def test_entropy_and_perplexity_are_told(open_page: Open) -> None:
    at = open_page()
    found = top_k(MODEL, TOKENIZER.encode(EXAMPLES[0].text).masked(EXAMPLES[0].masked), 10, exclude=SPECIAL)
    told = at.caption[0].value
    assert f"{found.entropy_nats[0]:.2f} nats" in told
    assert f"{math.exp(found.entropy_nats[0]):,.1f}" in told


def test_the_default_words_are_of_one_two_and_three_pieces() -> None:
    counts = {len(TOKENIZER.encode(word.strip()).ids) - 2 for word in state.WORDS.split(",")}
    assert counts >= {1, 2, 3}


def test_what_is_typed_is_shown_letter_for_letter() -> None:
    assert plain("a*b$c$ [x](y) :red[z]") == r"a\*b\$c\$ \[x\]\(y\) \:red\[z\]"


@pytest.mark.parametrize(
    ("ratio", "told"), [(1.26, "1.3"), (9.96, "10"), (41.4, "41"), (12_345, "12,000"), (3e7, "3e+07")]
)
def test_how_many_times(ratio: float, told: str) -> None:
    assert numbers.times(ratio) == told


@pytest.mark.parametrize(("value", "told"), [(-5.833, "−5.83"), (-0.001, "0.00"), (1.0, "1.00")])
def test_nats(value: float, told: str) -> None:
    assert numbers.nats(value) == told


def test_a_zip_of_a_short_model_reads_long_texts_too(open_page: Open, tiny_zip: bytes) -> None:
    """Its 40 positions are fewer than the words of a paragraph."""
    at = opened(open_page, {"my-bert.zip": tiny_zip}).switch_page("app.py").run()
    at.text_area(key="widget_text").set_value("word " * 60 + "[MASK]").run()
    assert not at.error
    tiny = bertviz_lite.load({"my-bert.zip": io.BytesIO(tiny_zip)})
    assert f"{tiny.config.max_position_embeddings}" == "40"
    assert "from 24 to 61" in at.info[0].value
