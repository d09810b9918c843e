"""The attention view in Chromium: what is drawn, told and saved is compared with transformers' maps."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from browser_tools import Server, chip_texts, settle
from numpy.typing import NDArray
from outside import Outside
from playwright.sync_api import Locator, Page, expect

import bertviz_lite
from bertviz_lite.figures import palette

Visit = Callable[..., Page]
TEXT = "The keys to the old cabinet were on the table."
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def maps(outside: Outside) -> NDArray[np.float32]:
    """(L, H, T, T) of TEXT."""
    return outside.maps(bertviz_lite.load().tokenizer.encode(TEXT))


PIECES = ["[CLS]", "the", "keys", "to", "the", "old", "cabinet", "were", "on", "the", "table", ".", "[SEP]"]


def view(visit: Visit, server: Server, **query: str) -> Page:
    parts = "&".join(f"{name}={quote(value)}" for name, value in {"text": TEXT, **query}.items())
    page = visit(f"{server.url}/attention?{parts}")
    expect(the_map(page)).to_be_visible()
    page.wait_for_function("canvas => Number(canvas.dataset.drawn) > 0", arg=the_map(page).element_handle())
    return page


def overview(page: Page) -> Locator:
    return page.locator(".attention .figure > canvas").first


def the_map(page: Page) -> Locator:
    return page.locator(".attention .scroll .figure > canvas")


def told(page: Page) -> Locator:
    return page.locator(".attention .told")


def wait_for(page: Page, name: str, value: str | None) -> None:
    """Until the address says so."""
    page.wait_for_function(
        "([name, value]) => new URLSearchParams(location.search).get(name) === value", arg=[name, value]
    )


def cell(page: Page, row: int, column: int) -> tuple[float, float]:
    """Where a cell of the heatmap is."""
    left, top, width, height = map(float, (the_map(page).get_attribute("data-cells") or "").split())
    box = the_map(page).bounding_box()
    assert box is not None
    return box["x"] + left + (column + 0.5) * width, box["y"] + top + (row + 0.5) * height


def saved(page: Page, kind: str) -> Path:
    """The map as a file."""
    with page.expect_download() as download:
        page.locator(".attention .save", has_text=kind).nth(1).click()
    return Path(download.value.path())


def svg(picture: Path) -> ET.Element:
    """A saved picture; well-formed, or this fails."""
    return ET.parse(picture).getroot()  # noqa: S314 - our own file


def cells(picture: Path) -> list[tuple[float, float, float, float, str]]:
    """Place, size and colour of every cell of a saved heatmap."""
    rects = svg(picture).iter(f"{SVG}rect")
    found = [
        (*(float(rect.get(name, "nan").rstrip("%")) for name in ("x", "y", "width", "height")), rect.get("fill", ""))
        for rect in rects
    ]
    return [one for one in found if one[4].startswith("rgb(")][: len(PIECES) ** 2]


def test_a_head_opens_from_the_overview_and_is_drawn_as_it_is(
    server: Server, visit: Visit, maps: NDArray[np.float32]
) -> None:
    page = view(visit, server)
    box = overview(page).bounding_box()
    assert box is not None
    # Layers go down and heads across below their numbers, at equal distances.
    pitch = (box["width"] - 24) / 12
    page.mouse.move(box["x"] + 24 + pitch * 8.5, box["y"] + 22 + pitch * 1.5)
    expect(page.locator(".attention .card")).to_contain_text("layer 1, head 8")
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_role("combobox", name="Head", exact=True)).to_have_value("8")
    wait_for(page, "head", "8")
    wait_for(page, "layer", "1")
    page.mouse.move(2, 2)
    expected = maps[1, 8] / maps[1, 8].max()
    drawn = cells(saved(page, "SVG"))
    assert len(drawn) == 13 * 13
    for share, (*_, colour) in zip(expected.ravel().tolist(), drawn, strict=True):
        wanted = palette.colour("attention", share)
        channels = [int(wanted[i : i + 2], 16) for i in (1, 3, 5)]
        assert np.allclose([int(n) for n in re.findall(r"\d+", colour)], channels, atol=2)


def test_hovering_tells_the_weight_and_pressing_keeps_it(
    server: Server, visit: Visit, maps: NDArray[np.float32]
) -> None:
    page = view(visit, server, layer="2", head="3")
    place = cell(page, 2, 7)
    page.mouse.move(*place)
    expect(told(page)).to_have_text(f"“keys” (token 2) looks at “were” (token 7) with weight {maps[2, 3, 2, 7]:.4f}.")
    page.mouse.move(2, 2)
    expect(told(page)).to_contain_text("Hover a token")
    page.mouse.click(*place)
    page.mouse.move(2, 2)
    expect(told(page)).to_contain_text("“keys” (token 2) looks at “were” (token 7)")
    panel = page.locator(".attention .panel")
    expect(panel).to_contain_text(f"Why {maps[2, 3, 2, 7]:.3f} from “keys” to “were”?")
    wait_for(page, "pin", "2.7")
    page.reload()
    settle(page)
    expect(told(page)).to_contain_text("“keys” (token 2) looks at “were” (token 7)")
    with page.expect_download() as download:
        page.locator(".attention .panel .save", has_text="SVG").click()
    texts = [text.text or "" for text in svg(Path(download.value.path())).iter(f"{SVG}text")]
    score = next(text for text in texts if text.startswith("sum "))
    total, scaled = (float(number.replace("−", "-")) for number in re.findall(r"[−\d.]+(?= ÷|$)", score))
    assert total / np.sqrt(32) == pytest.approx(scaled, abs=2e-3)
    assert f"{maps[2, 3, 2, 7]:.3f}" in texts, "the softmax gives the weight"


def test_keys_move_pin_and_open(server: Server, visit: Visit, maps: NDArray[np.float32]) -> None:
    page = view(visit, server, layer="0", head="2")
    the_map(page).focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    expect(told(page)).to_have_text(f"“the” (token 1) looks at “[CLS]” (token 0) with weight {maps[0, 2, 1, 0]:.4f}.")
    page.keyboard.press("Enter")
    wait_for(page, "pin", "1.0")
    page.keyboard.press("Escape")
    wait_for(page, "pin", None)
    overview(page).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_role("combobox", name="Head", exact=True)).to_have_value("3")


def test_filters_and_words_change_the_picture(server: Server, visit: Visit, maps: NDArray[np.float32]) -> None:
    page = view(visit, server, layer="3", head="1")
    page.get_by_role("checkbox", name="[CLS]").check()
    page.get_by_role("checkbox", name="[SEP]").check()
    page.get_by_role("checkbox", name="punctuation").check()
    wait_for(page, "hide", "cls,sep,punctuation")
    root = svg(saved(page, "SVG"))
    labels = [text.text for text in root.iter(f"{SVG}text")]
    assert "cabinet" in labels
    assert "[CLS]" not in labels
    page.mouse.move(*cell(page, 0, 0))
    expect(told(page)).to_contain_text(f"“the” (token 1) looks at “the” (token 1) with weight {maps[3, 1, 1, 1]:.4f}")
    page.get_by_role("checkbox", name="rescale rows to 1").check()
    page.mouse.move(*cell(page, 0, 1))
    left = maps[3, 1, 1, 1:11].sum()
    expect(told(page)).to_contain_text(f"weight {maps[3, 1, 1, 2] / left:.4f}")


def test_a_head_opened_again_after_back_is_heard(server: Server, visit: Visit) -> None:
    page = view(visit, server, layer="0", head="3")
    place = overview(page).bounding_box()
    assert place is not None
    pitch = (place["width"] - 24) / 12

    def press(layer: int, head: int) -> None:
        page.mouse.click(place["x"] + 24 + pitch * (head + 0.5), place["y"] + 22 + pitch * (layer + 0.5))

    press(2, 5)
    wait_for(page, "head", "5")
    page.go_back()
    expect(page.get_by_role("combobox", name="Head", exact=True)).to_have_value("3")
    press(2, 5)
    wait_for(page, "head", "5")
    for _ in range(3):  # quick clicks that end where they began
        press(4, 8)
        page.wait_for_timeout(60)
        press(2, 5)
        page.wait_for_timeout(60)
    wait_for(page, "head", "5")
    settle(page)
    page.wait_for_timeout(1500)
    wait_for(page, "head", "5")
    the_map(page).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(told(page)).to_have_text(re.compile(r"with weight \d\.\d{4}\.$"))  # exact numbers, not the small map's


def test_masking_from_the_map(server: Server, visit: Visit) -> None:
    page = view(visit, server, layer="1", head="2", pin="6.")
    page.get_by_role("button", name="Mask “cabinet”").click()
    expect(page.locator(".chip.masked")).to_have_count(1)
    settle(page)
    assert chip_texts(page)[6] == "[MASK]"
    page.get_by_role("button", name="Show the masked word again").click()
    expect(page.locator(".chip.masked")).to_have_count(0)


def test_pictures_and_pages_are_saved(server: Server, visit: Visit, tmp_path: Path) -> None:
    page = view(visit, server, layer="2", head="3")
    assert saved(page, "PNG").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with page.expect_download() as download:
        page.get_by_role("button", name="HTML").click()
    file = tmp_path / "attention.html"
    download.value.save_as(file)
    alone = page.context.new_page()
    failures: list[str] = []
    alone.on("pageerror", lambda error: failures.append(str(error)))
    alone.context.set_offline(True)
    alone.goto(file.as_uri())
    expect(alone.get_by_role("combobox", name="Layer", exact=True)).to_have_value("2")
    alone.wait_for_function("canvas => Number(canvas.dataset.drawn) > 0", arg=the_map(alone).element_handle())
    alone.get_by_role("combobox", name="Layer", exact=True).select_option("0")
    the_map(alone).focus()
    alone.keyboard.press("ArrowDown")
    expect(told(alone)).to_contain_text("Where “[CLS]” (token 0) looks")
    assert not failures


@pytest.mark.parametrize("query", [{}, {"maps": "means"}, {"maps": "change", "mask": "1"}], ids=str)
def test_numbers_are_taken_away_as_shown(server: Server, visit: Visit, query: dict[str, str]) -> None:
    page = view(visit, server, hide="cls", **query)
    for kind in ("CSV", "JSON", "NPZ"):
        with page.expect_download() as download:
            page.get_by_role("button", name=kind, exact=True).click()
        taken = Path(download.value.path()).read_bytes()
        if kind == "CSV":
            lines = taken.decode().splitlines()
            assert lines[0] == "layer,head,query,key,token,key_token,weight"
            assert len(lines) == 1 + 12 * 12, "[CLS] is left out"


def test_what_was_said_of_one_map_is_not_said_of_the_next(server: Server, visit: Visit) -> None:
    page = view(visit, server, maps="change", mask="1")
    page.get_by_role("radio", name="Means and rollout").or_(
        page.get_by_role("button", name="Means and rollout")
    ).first.click()
    expect(page.get_by_text("How much of each token's start is left")).to_be_visible()
    settle(page)
    expect(told(page)).to_have_text("Hover a token to see where it looks, or who looks at it; press to keep it.")


@pytest.mark.parametrize(("width", "scheme"), [(1440, "dark"), (390, "light")])
def test_dark_pages_and_phones(server: Server, visit: Visit, width: int, scheme: str) -> None:
    page = visit(f"{server.url}/attention?text={quote(TEXT)}", width=width, scheme=scheme)
    expect(the_map(page)).to_be_visible()
    box = the_map(page).bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    expect(page.get_by_text("Attention is not an explanation.").first).to_be_visible()


def test_the_first_press_keeps_the_views_that_stand(server: Server, visit: Visit) -> None:
    page = view(visit, server, text="A text that no page has asked for yet.", layer="0", head="0")
    canvases = [overview(page).element_handle(), the_map(page).element_handle()]
    page.get_by_role("combobox", name="Head", exact=True).select_option("5")
    wait_for(page, "head", "5")
    settle(page)
    assert all(canvas.evaluate("canvas => canvas.isConnected") for canvas in canvases), "they were built anew"
