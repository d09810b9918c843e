"""Every page, with the bundled model and with an uploaded one. Expected numbers come from the core, which has its own
parity tests against transformers; what is tested here is that the page asks the right question and shows the answer.
"""

from __future__ import annotations

import math

import pytest
from page_tools import Open, chart, chips_of, press_word, upload, view_data

import bertviz_lite
from bertviz_lite.analysis import pseudo_loss, top_k, unmasked_loss
from bertviz_lite.bundled import EXAMPLES
from bertviz_lite.ui.shell import PAGES

FILES = [link.file for link in PAGES]
CHECKPOINT = bertviz_lite.load()
FIRST = CHECKPOINT.tokenizer.encode(EXAMPLES[0].text).masked(EXAMPLES[0].masked)


@pytest.mark.parametrize("page", FILES)
def test_first_sight_shows_something_real(open_page: Open, page: str) -> None:
    at = open_page(page)
    assert not at.exception
    assert not at.error
    assert at.get("plotly_chart") or view_data(at, "one_head"), "no picture before anything is typed"
    assert len(at.header) == 1
    assert any(CHECKPOINT.report.name in popover.proto.popover.label for popover in at.get("popover"))


def test_fill_shows_what_the_core_says(open_page: Open) -> None:
    at = open_page()
    found = top_k(CHECKPOINT.model, FIRST, 10, exclude=CHECKPOINT.tokenizer.special_ids)
    table = at.dataframe[0].value
    assert table["id"].tolist() == found.ids[0].tolist()
    assert table["probability"].tolist() == pytest.approx(found.probs[0].tolist(), rel=1e-5)
    assert table["token"].tolist() == [CHECKPOINT.tokenizer.piece(i) for i in found.ids[0].tolist()]
    assert chart(at, "bars_0")["data"][0]["customdata"] == table["token"].tolist()


def test_pressing_a_word_masks_it_and_shows_it_again(open_page: Open) -> None:
    at = open_page()
    at = press_word(at, 2)
    assert chips_of(at) == ["[CLS]", "the", "cat", "[MASK]", "a", "bowl", "of", "[MASK]", ".", "[SEP]"]
    assert at.query_params["mask"] == "2,6"
    at = press_word(at, 6)
    assert chips_of(at)[7] == "milk"
    at = press_word(at, 2)
    assert "[MASK]" not in chips_of(at)
    assert "Nothing is masked" in at.info[0].value


def test_a_word_of_several_pieces_gets_as_many_masks(open_page: Open) -> None:
    at = press_word(open_page(text="unbelievably slow"), 0)
    n = len(CHECKPOINT.tokenizer.encode("unbelievably").ids) - 2
    assert n > 1
    assert chips_of(at)[1] == "[MASK]" * n
    assert at.dataframe[0].value["mask"].max() == n


@pytest.mark.parametrize("k", [1, 100])
def test_k_is_in_the_address_and_counts(open_page: Open, k: int) -> None:
    at = open_page(k=str(k))
    assert at.slider[0].value == k
    assert len(at.dataframe[0].value) == k
    at.slider[0].set_value(7).run()
    assert len(at.dataframe[0].value) == 7
    assert at.query_params["k"] == "7"


def test_special_tokens_compete_only_when_let_in(open_page: Open) -> None:
    # With every id ranked, the special ones must show up somewhere; by default they never do.
    special = {CHECKPOINT.tokenizer.piece(i) for i in CHECKPOINT.tokenizer.special_ids}
    at = open_page(k="100", text="[MASK]")
    assert not special & set(at.dataframe[0].value["token"])
    at.toggle(key="widget_special").set_value(True).run()
    found = top_k(CHECKPOINT.model, CHECKPOINT.tokenizer.encode("[MASK]"), 100)
    assert at.dataframe[0].value["id"].tolist() == found.ids[0].tolist()


def test_masks_stay_on_their_words_through_an_edit(open_page: Open) -> None:
    at = open_page(text="The old cat drank milk.", mask="4")
    at.text_area[0].set_value("Yesterday the very old cat drank milk, too.").run()
    assert chips_of(at)[7] == "[MASK]"
    assert at.query_params["mask"] == "6"


@pytest.mark.parametrize("typed", ["The cat drank [mask].", "The cat drank <mask>.", "The cat drank ___."])
def test_other_spellings_of_the_mask_are_offered(open_page: Open, typed: str) -> None:
    at = open_page()
    at.text_area[0].set_value(typed).run()
    at.button(key="write_mask").click().run()
    assert at.text_area[0].value == "The cat drank [MASK]."
    assert chips_of(at)[4] == "[MASK]"


@pytest.mark.parametrize("page", FILES[:3])
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.label)
def test_every_example_opens_on_every_page(open_page: Open, page: str, example: object) -> None:
    at = open_page(page)
    at.button(key=f"example_{example.label}").click().run()
    assert not at.exception
    assert at.text_area[0].value == example.text


def test_loss_shows_what_the_core_says(open_page: Open) -> None:
    at = open_page("pages/token_loss.py")
    expected = pseudo_loss(CHECKPOINT.model, FIRST, exclude=CHECKPOINT.tokenizer.special_ids)
    assert at.dataframe[1].value["loss (nats)"].tolist() == pytest.approx(expected.loss_nats.tolist(), abs=1e-5)
    assert at.metric[0].value == f"{expected.sum_nats:.2f} nats"
    assert at.metric[1].value == f"{expected.mean_nats:.2f} nats"
    assert at.metric[2].value == f"{math.exp(expected.mean_nats):.1f}"
    assert "[MASK]" not in chips_of(at), "words masked elsewhere are scored as typed"


def test_loss_in_bits_and_in_one_unmasked_pass(open_page: Open) -> None:
    at = open_page("pages/token_loss.py", unit="bits", measure="unmasked")
    expected = unmasked_loss(CHECKPOINT.model, FIRST, exclude=CHECKPOINT.tokenizer.special_ids)
    assert at.metric[0].value == f"{expected.sum_nats / math.log(2):.2f} bits"
    assert at.metric[2].label == "exp of the mean in nats"
    drawn = chart(at, "loss_bars")["data"][0]["y"]
    assert sum(drawn) == pytest.approx(expected.sum_nats / math.log(2), rel=1e-4)


def test_checkpoint_page_tells_the_bundled_model(open_page: Open) -> None:
    at = open_page("pages/checkpoint.py")
    assert at.metric[0].value == "22.7 M"
    assert any("one tensor in memory" in m.value for m in at.markdown)
    frames = [d.value for d in at.dataframe]
    assert frames[0]["parameters"].sum() == 22_744_506
    assert set(frames[1]["field"]) == set(CHECKPOINT.config.to_dict())


def test_checkpoint_page_lists_every_tensor_in_numbers(open_page: Open) -> None:
    at = open_page("pages/checkpoint.py", view="tensors")
    frame = at.dataframe[0].value
    assert frame["tensor"].tolist() == [info.name for info in CHECKPOINT.report.tensors]
    assert frame["values"].sum() == 22_744_506
    bias = CHECKPOINT.model.cls.predictions.bias.detach().double()
    row = frame[frame["tensor"] == "cls.predictions.bias"].iloc[0]
    assert row["mean"] == pytest.approx(float(bias.mean()))
    assert row["std"] == pytest.approx(float(bias.std(correction=0)))
    assert sum(chart(at, "histogram")["data"][0]["y"]) == 30522 * 384, "the embedding is counted whole"


def test_an_uploaded_model_serves_all_pages(open_page: Open, tiny_zip: bytes) -> None:
    at = upload(open_page("pages/checkpoint.py"), ("my-bert.zip", tiny_zip))
    assert not at.exception
    assert "my-bert" in at.success[0].value
    assert [m.value for m in at.metric][1] == "2 × 4"
    for page in FILES[:3]:
        at = at.switch_page(page).run()
        assert not at.exception
        assert not at.error
        assert any("my-bert" in popover.proto.popover.label for popover in at.get("popover"))
        assert at.get("plotly_chart") or view_data(at, "all_heads")[0]["shape"][:2] == [2, 4]


def test_a_bad_upload_keeps_the_model_in_use(open_page: Open, tiny_zip: bytes) -> None:
    at = upload(open_page("pages/checkpoint.py"), ("broken.zip", tiny_zip[: len(tiny_zip) // 2]))
    assert "broken.zip cannot be unpacked" in at.error[0].value
    assert "english-mini" in at.error[0].value
    assert at.metric[0].value == "22.7 M"


def test_loose_files_say_what_is_still_needed(open_page: Open) -> None:
    at = upload(open_page("pages/checkpoint.py"), ("config.json", b"{}"), ("vocab.txt", b"a\nb"))
    assert "2 files so far" in at.info[0].value
    assert "model.safetensors" in at.info[0].value


def test_models_are_the_visitors_own(open_page: Open, tiny_zip: bytes) -> None:
    mine = upload(open_page("pages/checkpoint.py"), ("my-bert.zip", tiny_zip))
    theirs = open_page("app.py", model=mine.query_params["model"])
    assert "english-mini" in theirs.get("popover")[0].proto.popover.label
    assert "another visit" in theirs.info[0].value


@pytest.mark.parametrize("page", FILES[:3])
@pytest.mark.parametrize(
    "text",
    ["", "   ", "[MASK]", "[MASK] [MASK]", "[CLS] [SEP] [PAD]", "<b>&amp;</b>", "\u202e abc", "a\nb\tc", "中文",
     "🙂", "x" * 300],
    ids=ascii,
)  # fmt: skip
def test_odd_texts_end_in_a_picture_or_a_sentence(open_page: Open, page: str, text: str) -> None:
    at = open_page(page, text=text)
    assert not at.exception
    assert at.get("plotly_chart") or at.info or at.error or view_data(at, "one_head")


@pytest.mark.parametrize("page", FILES[1:3])
def test_a_text_too_long_is_told_with_its_limit(open_page: Open, page: str) -> None:
    at = open_page(page, text="word " * 600)
    assert not at.exception
    assert "at most 512" in at.error[0].value


@pytest.mark.parametrize(
    "query",
    [{"k": "many"}, {"k": "0"}, {"mask": "x,1"}, {"mask": "999"}, {"layer": "-3"}, {"unit": "miles"}, {"shows": ""},
     {"hide": "yes"}, {"model": "0" * 12}, {"nonsense": "1"},
     {"sizes": "1,1,1000000,1,1"}, {"sizes": "3"}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("page", FILES)
def test_a_mistyped_address_opens_the_page_all_the_same(open_page: Open, page: str, query: dict[str, str]) -> None:
    at = open_page(page, **query)
    assert not at.exception
    assert not at.error


def test_the_tokenizers_settings_are_no_configuration(open_page: Open) -> None:
    at = upload(
        open_page("pages/checkpoint.py"), ("tokenizer_config.json", b"{}"), ("vocab.txt", b"a"), ("a.bin", b"x")
    )
    assert "Still needed: config.json." in at.info[0].value
