"""Ways to open a model that only a browser shows: a download that is cancelled, and files that clash."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser_tools import Server, settle
from playwright.sync_api import Page, expect
from small_hub import SmallHub, serving

from bertviz_lite.checkpoints._load import BUNDLED as FOLDER

Visit = Callable[..., Page]
FILES = {name: (FOLDER / name).read_bytes() for name in ("config.json", "model.safetensors", "tokenizer.json")}


@pytest.fixture
def hub() -> Iterator[SmallHub]:
    with serving(SmallHub({"someone/mini": FILES})) as running:
        yield running


@pytest.fixture
def beside_hub(hub: SmallHub, tmp_path: Path) -> Iterator[Server]:
    server = Server(HF_ENDPOINT=hub.url, HF_HOME=str(tmp_path), NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")
    yield server
    server.stop()


def test_a_download_from_the_hub_is_cancelled_then_finished(hub: SmallHub, beside_hub: Server, visit: Visit) -> None:
    page = visit(f"{beside_hub.url}/checkpoint")
    page.get_by_text("From the Hugging Face hub").click()
    page.get_by_label("Model id").fill("someone/mini")
    page.get_by_label("Model id").press("Enter")
    settle(page)
    page.get_by_role("button", name="Look it up").click()
    settle(page)
    expect(page.get_by_text("3 files")).to_be_visible()
    assert hub.fetched() == [], "nothing is fetched before the button is pressed"

    hub.seconds = 60.0
    page.get_by_role("button", name="Download and open").click()
    expect(page.get_by_text("MB of")).to_be_visible(timeout=30_000)
    page.get_by_role("button", name="Cancel").click()
    settle(page)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(page.locator(".st-key-top")).to_contain_text("english-mini")

    hub.seconds = 0.0
    page.get_by_role("button", name="Download and open").click()
    expect(page.get_by_text("is open and serves all pages")).to_be_visible(timeout=60_000)
    expect(page.locator(".st-key-top")).to_contain_text("someone/mini")


def test_two_files_of_one_name_are_not_mixed(server: Server, visit: Visit, tmp_path: Path) -> None:
    page = visit(f"{server.url}/checkpoint")
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "config.json").write_bytes(FILES["config.json"])
    box = page.locator('input[type="file"]')
    box.set_input_files([tmp_path / "one" / "config.json", tmp_path / "two" / "config.json"])
    expect(page.get_by_text("Two of these files are called config.json")).to_be_visible()
