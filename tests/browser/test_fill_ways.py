"""The other views of "Fill the mask", as a person goes through them."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from browser_tools import Server, chip_texts, settle
from playwright.sync_api import Page, expect

Visit = Callable[..., Page]


def choose(page: Page, view: str) -> None:
    page.get_by_role("radio", name=view).or_(page.get_by_role("button", name=view)).first.click()
    settle(page)


def test_from_a_contradiction_to_own_words_and_two_sentences(server: Server, visit: Visit) -> None:
    page = visit(server.url)
    choose(page, "All masks together")
    page.get_by_role("button", name="A country").click()
    settle(page)
    assert chip_texts(page)[5:7] == ["[MASK]", "[MASK]"]
    expect(page.get_by_text("united party").first).to_be_visible()
    expect(page.get_by_text("times likelier")).to_be_visible()

    page.get_by_role("button", name="A drink").click()
    settle(page)
    choose(page, "Your own words")
    expect(page.locator(".js-plotly-plot").first).to_contain_text("ice cream")
    box = page.get_by_label("Your words or phrases")
    box.fill("green tea, souvenirs")
    box.blur()
    settle(page)
    expect(page.locator(".js-plotly-plot").first).to_contain_text("##irs")
    assert parse_qs(urlsplit(page.url).query)["words"] == ["green tea, souvenirs"]

    choose(page, "Two sentences")
    page.get_by_role("button", name="Nurse and doctor").click()
    settle(page)
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    expect(page.get_by_text("Log-odds of she against he")).to_be_visible()
    second = page.locator(".chips").nth(1)
    second.get_by_role("button", name="mask tired").click()
    settle(page)
    expect(page.locator(".chip.masked")).to_have_count(3)


def test_a_long_text_opens_at_its_mask(server: Server, visit: Visit) -> None:
    text = "The house stood near the river. " * 90 + "The cat drank [MASK]. " + "It was late. " * 150
    page = visit(f"{server.url}/?text={quote(text)}")
    expect(page.locator(".chip.masked")).to_be_in_viewport()
    expect(page.locator(".js-plotly-plot").first).to_be_in_viewport()
    expect(page.get_by_text("out of its sight")).to_be_visible()
    assert page.locator(".chip.unseen").count() > 300


@pytest.mark.parametrize("view", ["each", "together", "words", "contrast"])
def test_no_view_is_wider_than_a_phone(server: Server, visit: Visit, view: str) -> None:
    page = visit(f"{server.url}/?ask={view}", width=390, height=844)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("view", ["together", "words", "contrast"])
def test_the_picture_lies_below_the_sentence_without_scrolling(server: Server, visit: Visit, view: str) -> None:
    page = visit(f"{server.url}/?ask={view}")
    expect(page.locator(".js-plotly-plot").first).to_be_in_viewport(ratio=1)
