"""Measures what a visit costs the server's memory: a base-sized model opened, saved, closed, opened again, left.

    python tests/benchmarks/memory.py

Prints the server's resident memory after each step, in MB and in sizes of the model (float32 weights). Takes about
four minutes, most of it the wait for a visitor who does not come back.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import torch
from playwright.sync_api import Page, sync_playwright
from transformers import BertConfig, BertForMaskedLM

import bertviz_lite
from bertviz_lite.ui.visit import GRACE_SECONDS

sys.path.insert(0, str(Path(__file__).parent.parent / "browser"))
from browser_tools import FLAGS, SHELL, Server, settle

FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        n_bytes = make_base(Path(folder))
        server = Server()
        browser = playwright.chromium.launch(executable_path=SHELL, args=FLAGS)
        page = browser.new_page()

        def told(step: str) -> None:
            time.sleep(3)
            resident = server.resident_bytes()
            print(f"| {step} | {resident / 1e6:,.0f} | {resident / n_bytes:.2f} |", flush=True)

        print("| after | MB | × the model |\n|---|---:|---:|")
        page.goto(f"{server.url}/checkpoint?view=save")
        settle(page)
        told("the bundled model alone")
        open_files(page, Path(folder))
        told("opened")
        with page.expect_download(timeout=120_000) as download:
            page.get_by_role("button", name="Download the folder").click()
        download.value.path()  # waits until the browser has all of it
        told("downloaded")
        close(page)
        told("closed")
        open_files(page, Path(folder))
        told("opened again")
        browser.close()
        time.sleep(GRACE_SECONDS + 5)
        told(f"left, {GRACE_SECONDS + 8:.0f} s later")
        server.stop()


def make_base(folder: Path) -> int:
    """A model of bert-base's size with random weights and the bundled tokenizer; returns the bytes of its weights."""
    bundled = bertviz_lite.load()
    torch.manual_seed(0)
    BertForMaskedLM(BertConfig(vocab_size=len(bundled.tokenizer))).save_pretrained(folder)
    for name, content in bundled.tokenizer.to_files().items():
        (folder / name).write_text(content, encoding="utf-8")
    return (folder / "model.safetensors").stat().st_size


def open_files(page: Page, folder: Path) -> None:
    page.locator("input[type=file]").first.set_input_files([folder / name for name in FILES])
    page.get_by_text("is open and serves").wait_for(timeout=180_000)
    settle(page)


def close(page: Page) -> None:
    page.get_by_test_id("stPopover").get_by_role("button").first.click()
    page.get_by_role("button", name="Close this model").click()
    settle(page)


if __name__ == "__main__":
    main()
