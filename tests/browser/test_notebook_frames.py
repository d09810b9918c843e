"""The attention view as a notebook shows it: frames in one page, with no server and no network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Frame, Page

import bertviz_lite


@pytest.fixture
def notebook(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """Two outputs of one notebook, of other texts and other heads."""
    checkpoint = bertviz_lite.load()
    outputs = (
        bertviz_lite.show_attention(checkpoint, "The cat sat on the mat.", layer=0, head=2),
        bertviz_lite.show_attention(checkpoint, "The cat sat.", "It was tired.", layer=1, head=8, mask=[1]),
    )
    frames = "".join(f"<div>{output._repr_html_()}</div>" for output in outputs)
    (tmp_path / "notebook.html").write_text(f"<!doctype html><meta charset=utf-8>{frames}", encoding="utf-8")
    context = browser.new_context(offline=True, viewport={"width": 1300, "height": 900})
    page = context.new_page()
    failed: list[str] = []
    page.on("pageerror", lambda error: failed.append(str(error)))
    page.on("request", lambda r: failed.append(r.url) if r.url.startswith("http") else None)
    page.goto((tmp_path / "notebook.html").as_uri())
    for frame in views(page):
        frame.locator("canvas[data-drawn]").nth(1).wait_for()
    yield page
    context.close()
    assert not failed


def views(page: Page) -> list[Frame]:
    return [frame for frame in page.frames if frame is not page.main_frame]


def opened(frame: Frame) -> list[str]:
    """Layer and head."""
    return [frame.locator("select").nth(i).input_value() for i in (0, 1)]


def test_each_view_shows_its_own_and_opening_a_head_in_one_leaves_the_other(notebook: Page) -> None:
    first, second = views(notebook)
    assert (opened(first), opened(second)) == (["0", "2"], ["1", "8"])
    first.locator("select").first.select_option("4")
    first.wait_for_function("[...document.querySelectorAll('canvas')].some((c) => Number(c.dataset.drawn) > 1)")
    assert (opened(first), opened(second)) == (["4", "2"], ["1", "8"])


@pytest.mark.parametrize("width", [1300, 600])
def test_a_frame_is_as_high_as_its_view(notebook: Page, width: int) -> None:
    notebook.set_viewport_size({"width": width, "height": 900})
    for frame in views(notebook):
        frame.wait_for_function("innerHeight === document.documentElement.scrollHeight", timeout=5000)
        frame.wait_for_function("Math.abs(innerHeight - document.body.offsetHeight) < 40", timeout=5000)
        assert frame.evaluate("document.documentElement.scrollWidth <= innerWidth")
