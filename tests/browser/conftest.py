"""A real server and a real headless Chromium. Where no Chromium is installed the tests are skipped, except in CI."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from browser_tools import FLAGS, SHELL, Server, settle
from playwright.sync_api import Browser, Page, sync_playwright


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if SHELL is None:
        if os.environ.get("CI"):
            pytest.fail("CI must install Chromium: the browser tests are a part of the product's proof")
        pytest.skip("no Chromium on this machine: install Debian's 'chromium' to run the browser tests")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=SHELL, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[[str], Page]]:
    """Open an address as a new visitor; no request may leave this machine and no script may fail."""
    contexts = []
    outside: list[str] = []
    failures: list[str] = []

    def open_at(url: str, width: int = 1440, height: int = 900, scheme: str = "light") -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda r: None if _is_local(r.url) else outside.append(r.url))
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.goto(url)
        settle(page)
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert not outside, "requests left the machine"
    assert not failures, "a script failed in the page"


def _is_local(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "http://localhost:", "data:", "blob:"))
