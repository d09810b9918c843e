"""The main way through the app, as a person goes it: mask, read the loss, find a head, open one's own model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
import torch
from browser_tools import Server, chip_texts, settle
from playwright.sync_api import Page, expect
from transformers import BertConfig, BertForMaskedLM

import bertviz_lite

Visit = Callable[..., Page]
TEXT = "She cut the bread & butter with 100% care."


def query(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def go(page: Page, label: str) -> None:
    page.get_by_role("link", name=label, exact=True).first.click()
    settle(page)
    expect(page.get_by_role("heading", name=label)).to_be_visible()


def type_text(page: Page, text: str) -> None:
    page.locator("textarea").fill(text)
    page.locator("textarea").blur()
    page.wait_for_function("t => new URLSearchParams(location.search).get('text') === t", arg=text)
    settle(page)


def test_mask_a_word_and_go_through_the_pages(server: Server, visit: Visit) -> None:
    page = visit(server.url)
    type_text(page, TEXT)
    page.locator(".chip", has_text="bread").click()
    expect(page.locator(".chip.masked")).to_have_count(1)
    settle(page)
    assert query(page) == {"text": TEXT, "mask": "3"}
    expect(page.get_by_text("stood here")).to_contain_text("bread")

    go(page, "Token loss")
    assert query(page) == {"text": TEXT, "mask": "3"}
    assert "bread" in chip_texts(page)
    page.get_by_text("bits", exact=True).click()
    settle(page)
    assert query(page)["unit"] == "bits"

    go(page, "Attention")
    assert chip_texts(page).count("[MASK]") == 1
    go(page, "Fill the mask")
    page.locator(".chip.masked").click()
    expect(page.locator(".chip.masked")).to_have_count(0)


def test_a_link_opens_the_same_view_on_a_freshly_started_server(visit: Visit) -> None:
    fresh = Server()
    try:
        page = visit(f"{fresh.url}/attention?layer=4&head=7&hide=sep&mask=3&text={quote(TEXT)}")
        expect(page.locator("textarea").first).to_have_value(TEXT)
        assert chip_texts(page)[4] == "[MASK]"
        expect(page.get_by_role("combobox", name="Layer", exact=True)).to_have_value("4")
        expect(page.get_by_role("combobox", name="Head", exact=True)).to_have_value("7")
        expect(page.get_by_role("checkbox", name="[SEP]")).to_be_checked()
        expect(page.get_by_role("link", name="Token loss")).to_be_visible()
        go(page, "Token loss")
        expect(page.locator("textarea")).to_have_value(TEXT)
    finally:
        fresh.stop()


def test_back_and_forward_walk_through_what_was_seen(server: Server, visit: Visit) -> None:
    page = visit(server.url)
    type_text(page, "One fish.")
    type_text(page, "Two fish.")
    page.go_back()
    settle(page)
    expect(page.locator("textarea")).to_have_value("One fish.")
    page.go_forward()
    settle(page)
    expect(page.locator("textarea")).to_have_value("Two fish.")
    page.reload()
    settle(page)
    expect(page.locator("textarea")).to_have_value("Two fish.")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that transformers wrote, with the bundled vocabulary."""
    folder = tmp_path_factory.mktemp("made-with-transformers")
    torch.manual_seed(3)
    sizes = {"hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 6, "intermediate_size": 50}
    BertForMaskedLM(BertConfig(vocab_size=30522, **sizes)).save_pretrained(folder)
    for name, content in bertviz_lite.load().tokenizer.to_files().items():
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def test_open_ones_own_checkpoint(server: Server, visit: Visit, theirs: Path) -> None:
    page = visit(f"{server.url}/checkpoint")
    other = visit(server.url)
    page.locator('input[type="file"]').set_input_files([str(path) for path in sorted(theirs.iterdir())])
    expect(page.get_by_text("is open and serves all pages")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("3 × 6")).to_be_visible()
    for label in ("Fill the mask", "Token loss", "Attention"):
        go(page, label)
        expect(page.locator(".st-key-top")).to_contain_text("uploaded model")
        picture = ".attention canvas" if label == "Attention" else ".js-plotly-plot"
        expect(page.locator(picture).first).to_be_visible()
    other.reload()
    settle(other)
    expect(other.locator(".st-key-top")).to_contain_text("english-mini")


def test_a_model_that_is_opened_stays_in_use_though_another_was_chosen(
    server: Server, visit: Visit, theirs: Path
) -> None:
    page = visit(f"{server.url}/checkpoint")
    top = page.locator(".st-key-top")
    for view in ("Vocabulary", "Tensors"):
        page.locator('input[type="file"]').set_input_files([str(path) for path in sorted(theirs.iterdir())])
        expect(top).to_contain_text("uploaded model", timeout=60_000)
        settle(page)
        page.get_by_role("button", name=view).or_(page.get_by_role("radio", name=view)).first.click()
        settle(page)
        expect(top).to_contain_text("uploaded model")
        top.get_by_test_id("stPopoverButton").first.click()
        page.locator("label", has_text="english-mini").last.click()
        settle(page)
        page.keyboard.press("Escape")
        expect(top).to_contain_text("english-mini")


def test_quick_clicks_are_not_undone(server: Server, visit: Visit) -> None:
    """The browser's address lags behind quick clicks: an old one must not be taken for "back"."""
    page = visit(server.url)
    page.locator(".chip.masked").click()
    settle(page)
    words = ("cat", "drank", "bowl", "milk")
    for word in words:
        page.get_by_role("button", name=f"mask {word}", exact=True).click()
        page.wait_for_timeout(150)
    expect(page.locator(".chip.masked")).to_have_count(len(words))
    settle(page)
    expect(page.locator(".chip.masked")).to_have_count(len(words))
    assert query(page)["mask"] == "1,2,4,6"


def test_words_can_be_masked_from_the_keyboard(server: Server, visit: Visit) -> None:
    page = visit(server.url)
    page.locator(".chip", has_text="drank").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".chip.masked")).to_have_count(2)
    settle(page)
    focused = page.evaluate("document.activeElement.shadowRoot?.activeElement?.dataset.word")
    assert focused == "2", "the word that was pressed keeps the keyboard"


@pytest.mark.parametrize("path", ["", "token_loss", "attention", "checkpoint"])
def test_nothing_is_wider_than_a_phone(server: Server, visit: Visit, path: str) -> None:
    page = visit(f"{server.url}/{path}", width=390, height=844)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.locator(".st-key-top")).to_contain_text("english-mini")


def test_colours_follow_a_change_of_theme(server: Server, visit: Visit) -> None:
    page = visit(f"{server.url}/token_loss")
    piece = page.locator(".chip .piece[style]").first
    light = piece.evaluate("e => getComputedStyle(e).backgroundColor")
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(1500)
    settle(page)
    assert piece.evaluate("e => getComputedStyle(e).backgroundColor") != light
