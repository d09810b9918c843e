"""A file of 5,000 lines in the browser, as a person goes it: stopped half-way, kept, gone on with."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from browser_tools import Server, settle
from playwright.sync_api import Page, expect

import bertviz_lite
from bertviz_lite.analysis import pseudo_loss

Visit = Callable[..., Page]
SENTENCES = ["The cat drank a bowl of milk.", "", "word " * 600, "It rained all day, so we stayed at home.", "No."]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(SENTENCES * 1000) + "\n", encoding="utf-8")
    return path


def lines_done(page: Page) -> int:
    found = re.search(r"([\d,]+) of 5,000", page.locator("[data-testid=stMain]").inner_text())
    assert found, "the page tells how many lines are scored"
    return int(found.group(1).replace(",", ""))


def stop(page: Page) -> None:
    page.get_by_role("button", name="Stop and keep").click()
    expect(page.get_by_role("button", name="Go on from line")).to_be_visible(timeout=60_000)
    settle(page)


def test_stop_half_way_and_go_on(server: Server, visit: Visit, corpus: Path, tmp_path: Path) -> None:
    page = visit(f"{server.url}/token_loss?scored=file")
    page.locator('input[type="file"]').set_input_files(str(corpus))
    page.get_by_role("button", name="Score 5,000 lines").click()
    expect(page.get_by_text(re.compile(r"[1-9]\d* of 5,000 lines scored, about"))).to_be_visible(timeout=120_000)
    other = visit(f"{server.url}/token_loss")  # nobody waits for the whole file
    expect(other.locator(".chip").first).to_be_visible()

    stop(page)
    resume = page.get_by_role("button", name="Go on from line")
    begun = int(re.sub(r"\D", "", resume.inner_text())) - 1
    assert 0 < begun < 5000
    blocks, more = divmod(begun, 5)
    assert lines_done(page) == 3 * blocks + (more > 0) + (more > 3), "the second and third of five have no score"

    resume.click()
    expect(page.get_by_text("of 5,000 lines scored, about")).to_be_visible(timeout=120_000)
    page.get_by_role("link", name="Attention", exact=True).click()
    settle(page)
    page.get_by_role("link", name="Token loss", exact=True).click()
    stop(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="All lines as CSV").click()
    download.value.save_as(tmp_path / "scores.csv")
    table = pd.read_csv(tmp_path / "scores.csv", keep_default_na=False, na_values={"sum_nats": [""]})
    assert len(table) > begun
    assert table["line"].tolist() == list(range(1, len(table) + 1))
    checkpoint = bertviz_lite.load()
    for number, row in table.head(10).iterrows():
        text = SENTENCES[number % 5]
        if row["error"]:
            assert text in (SENTENCES[1], SENTENCES[2])
            continue
        expected = pseudo_loss(checkpoint.model, checkpoint.tokenizer.encode(text)).sum_nats
        assert float(row["sum_nats"]) == pytest.approx(expected, abs=1e-3)
