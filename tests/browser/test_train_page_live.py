"""A model trained in the browser, as a person does it: begun, reloaded in the middle, explored, downloaded."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from browser_tools import Server, settle
from playwright.sync_api import Page, expect
from transformers import AutoModelForMaskedLM, AutoTokenizer, pipeline

Visit = Callable[..., Page]
MINUTE = 60_000


@pytest.fixture
def fresh() -> Iterator[Server]:
    """A server of its own: a run may not wait for those of other tests."""
    running = Server()
    yield running
    running.stop()


def test_train_reload_explore_download(fresh: Server, visit: Visit, tmp_path: Path) -> None:
    page = visit(f"{fresh.url}/training?minutes=0.5")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_text(re.compile(r"step \d"))).to_be_visible(timeout=3 * MINUTE)
    run = parse_qs(urlsplit(page.url).query)["run"]

    other = visit(page.url)
    expect(other.get_by_text("open in another tab")).to_be_visible()
    expect(other.get_by_role("button", name="Stop")).to_have_count(0)

    page.reload()
    expect(page.get_by_text(re.compile(r"step \d"))).to_be_visible(timeout=MINUTE)
    assert parse_qs(urlsplit(page.url).query)["run"] == run
    expect(page.locator(".js-plotly-plot").first).to_contain_text("held-out text")
    expect(page.locator(".learns")).to_contain_text("The cat drank a bowl of")

    expect(page.get_by_text("is trained, and in use on all pages")).to_be_visible(timeout=3 * MINUTE)
    expect(page.locator(".st-key-top")).to_contain_text("Everyday sentences, 2 × 128")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the folder (zip)").click()
    download.value.save_as(tmp_path / "trained.zip")
    page.get_by_role("button", name="Explore it").click()
    settle(page)
    expect(page.get_by_role("heading", name="Fill the mask")).to_be_visible()
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    expect(page.locator(".st-key-top")).to_contain_text("Everyday sentences, 2 × 128")
    page.go_back()
    expect(page.get_by_text("is trained, and in use on all pages")).to_be_visible(timeout=MINUTE)
    assert parse_qs(urlsplit(page.url).query)["run"] == run

    with zipfile.ZipFile(tmp_path / "trained.zip") as archive:
        archive.extractall(tmp_path)
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    model, tokenizer = AutoModelForMaskedLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    assert (model.config.num_hidden_layers, model.config.hidden_size) == (2, 128)
    found = pipeline("fill-mask", model=model, tokenizer=tokenizer)("Once upon a [MASK] there was a lion.")
    assert len(found) == 5

    page.reload()
    settle(page)
    expect(page.locator(".st-key-top")).to_contain_text("Everyday sentences, 2 × 128", timeout=MINUTE)
