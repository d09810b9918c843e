"""A server of this app on a free port, and what a test asks of a page in Chromium."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import Page

ROOT = Path(__file__).parent.parent.parent
SHELL = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip


class Server:
    """`streamlit run app.py` on a free port of this machine."""

    def __init__(self, **environment: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        options = ["--server.port", str(port), "--server.address", "127.0.0.1", "--server.headless", "true"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", *options],
            cwd=ROOT,
            env=os.environ | environment,
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

    def resident_bytes(self) -> int:
        """The memory that the server holds; of Linux alone."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(20)


def settle(page: Page) -> None:
    """Wait until the app has answered and drawn: a picture is moved while placeholders stand above it."""
    page.wait_for_timeout(200)
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=60_000)
    page.wait_for_function("() => !document.querySelector('[data-testid=stSkeleton]')", timeout=60_000)
    page.wait_for_timeout(200)


def chip_texts(page: Page) -> list[str]:
    """What stands on the chips; they live in a shadow root, which locators see."""
    page.locator(".chip").first.wait_for()
    return [text.strip() for text in page.locator(".chip").all_inner_texts()]
