"""A real server and a real headless Chromium. Where no Chromium is installed the tests are skipped, except in CI."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parent.parent.parent
SHELL = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip


class Server:
    """`streamlit run app.py` on a free port of this machine."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        options = ["--server.port", str(port), "--server.address", "127.0.0.1", "--server.headless", "true"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", *options],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
        )
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=1)
                return
            except OSError:
                time.sleep(0.1)
        self.stop()
        raise RuntimeError("the app did not start within a minute")

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(20)


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


def settle(page: Page) -> None:
    """Wait until the app has answered and drawn."""
    page.wait_for_timeout(200)
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=60_000)
    page.wait_for_timeout(200)


def chip_texts(page: Page) -> list[str]:
    """What stands on the chips; they live in a shadow root, which locators see."""
    page.locator(".chip").first.wait_for()
    return [text.strip() for text in page.locator(".chip").all_inner_texts()]
