"""Watching a model learn, by keyboard, as a person does."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from browser_tools import Server, settle
from playwright.sync_api import Page, expect

from bertviz_lite.bundled import moments

Visit = Callable[..., Page]


def test_the_slider_moves_by_keyboard_and_the_picture_changes(server: Server, visit: Visit) -> None:
    page = visit(f"{server.url}/learning")
    guesses = page.locator(".js-plotly-plot").first
    guesses.wait_for()
    at_the_end = guesses.inner_text()
    last = len(moments()) - 1
    page.get_by_role("slider").focus()
    for number in (last - 1, last - 2):
        page.keyboard.press("ArrowLeft")
        page.wait_for_function("n => new URLSearchParams(location.search).get('moment') === n", arg=str(number))
    settle(page)
    expect(page.get_by_text(f"{moments()[last - 2].held_out_nats:.2f} nats").first).to_be_visible()
    assert guesses.inner_text() != at_the_end
    page.get_by_role("slider").focus()
    page.keyboard.press("Home")
    page.wait_for_function("() => new URLSearchParams(location.search).get('moment') === '0'")
    settle(page)
    page.locator(".chip", has_text="would").click()
    settle(page)
    assert parse_qs(urlsplit(page.url).query)["moment"] == ["0"]
    expect(page.locator(".chip.masked")).to_have_count(2)


def test_a_moment_is_pressed_on_the_curve(server: Server, visit: Visit) -> None:
    page = visit(f"{server.url}/learning")
    box = page.locator(".js-plotly-plot").nth(2).locator(".points path").nth(4).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function("() => new URLSearchParams(location.search).get('moment') === '4'")
    settle(page)
    expect(page.get_by_text(f"{moments()[4].held_out_nats:.2f} nats").first).to_be_visible()


def test_pictures_lie_in_sight_and_the_page_fits_a_phone(server: Server, visit: Visit) -> None:
    page = visit(f"{server.url}/learning")
    for i in range(3):
        expect(page.locator(".js-plotly-plot").nth(i)).to_be_in_viewport(ratio=1)
    phone = visit(f"{server.url}/learning", width=390, height=844)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
