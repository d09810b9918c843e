"""Expected values: transformers' maps; analysis/shown_maps.py for what the browser works out itself."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from outside import Outside
from unpacked import unpack

import bertviz_lite
from bertviz_lite.analysis import MapChoice, attention_maps, layer_attention, shown_map, survey
from bertviz_lite.figures import attention_view as view
from bertviz_lite.figures import palette
from bertviz_lite.tokenizer import Encoding

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node runs the JavaScript of the views (version 20 or later)")
TEXTS = ("Unbelievably, the dog saw it.", "It barked!")


def head(checkpoint: bertviz_lite.Checkpoint, encoding: Encoding, layer: int, number: int) -> bytes:
    found = layer_attention(checkpoint.model, encoding, layer)
    return view.head_data(encoding, found, number, n_layers=6, state=view.ViewState(pin=(1, 2)), link="x")


def test_a_head_travels_exactly_with_what_makes_it(bundled: bertviz_lite.Checkpoint, outside: Outside) -> None:
    encoding = bundled.tokenizer.encode(*TEXTS).masked([3])
    header, arrays = unpack(head(bundled, encoding, 4, 9))
    assert arrays["weights"].dtype == np.float32
    assert_allclose(arrays["weights"], outside.maps(encoding)[4, 9], atol=1e-5)
    scores = arrays["queries"] @ arrays["keys"].T / np.sqrt(32)
    assert_allclose(np.exp(scores) / np.exp(scores).sum(-1, keepdims=True), arrays["weights"], atol=1e-5)
    assert header["tokens"]["labels"] == list(encoding.pieces)
    assert header["state"] == {
        "layer": 4, "head": 9, "by": "pieces", "without": [], "pairs": "all", "rescale": False, "large": False,
        "readable": False, "pin": [1, 2],
    }  # fmt: skip
    assert header["opens"] == [6, 12]
    assert [encoding.typed_pieces[i] for i in header["masked"]] == ["dog"]


def test_a_long_text_travels_in_half_the_bytes(bundled: bertviz_lite.Checkpoint, outside: Outside) -> None:
    encoding = bundled.tokenizer.encode("The dog saw the cat and the cat saw the dog. " * 10)
    _, arrays = unpack(head(bundled, encoding, 5, 0))
    assert arrays["weights"].dtype == np.float16
    expected = outside.maps(encoding)[5, 0]
    assert_allclose(arrays["weights"], expected, rtol=2**-11, atol=1e-5)


def test_all_heads_travel_as_bytes(bundled: bertviz_lite.Checkpoint, outside: Outside) -> None:
    encoding = bundled.tokenizer.encode(*TEXTS)
    found = survey(bundled.model, encoding)
    data = view.overview_data(found, link="x")
    header, arrays = unpack(data)
    maps = outside.maps(encoding)
    assert header["shape"] == list(maps.shape[:3])
    told = arrays["levels"] / 255 * arrays["peaks"][..., None, None]
    assert_allclose(told, maps, atol=1 / 509)
    assert len(data) < maps.size + 20_000
    previous = np.diagonal(maps, -1, -2, -1).mean(-1)
    names = {name: heads for name, heads, _, _ in header["names"]}
    listed = {(layer, number): score for layer, number, score in names["previous token"]}
    assert listed == {
        (layer, number): pytest.approx(float(previous[layer, number]), abs=1e-5)
        for layer, number in np.argwhere(previous > 0.5).tolist()
    }
    assert "pooled" not in header["note"]


def test_opening_a_head_leaves_the_overview_as_it_is(bundled: bertviz_lite.Checkpoint) -> None:
    """What stays the same byte for byte is not sent again."""
    encoding = bundled.tokenizer.encode(TEXTS[0])
    made = []
    for _ in range(2):
        found = survey(bundled.model, encoding)
        made.append(view.overview_data(found, link="x"))
        head(bundled, encoding, 2, 2)
    assert made[0] == made[1]


def test_the_colours_are_those_of_the_palette(bundled: bertviz_lite.Checkpoint) -> None:
    header, _ = unpack(head(bundled, bundled.tokenizer.encode("Hello."), 0, 0))
    assert header["ramps"]["dark"]["attention"] == palette.stops("attention", dark=True)
    assert header["ramps"]["light"]["signed"] == palette.signed()


@needs_node
def test_the_browser_reads_maps_as_python_does(bundled: bertviz_lite.Checkpoint, tmp_path: Path) -> None:
    encoding = bundled.tokenizer.encode(*TEXTS)
    weights = attention_maps(bundled.model, encoding).weights[2, 5]
    header, _ = unpack(head(bundled, encoding, 2, 5))
    choices: list[dict[str, Any]] = [
        {"by": by, "without": without, "pairs": pairs, "rescale": rescale}
        for by, without, pairs, rescale in product(
            ("pieces", "words"),
            ([], ["cls"], ["sep", "punctuation"], ["cls", "sep", "punctuation"]),
            ("all", "a_to_a", "a_to_b", "b_to_a", "b_to_b"),
            (False, True),
        )
    ]
    cases = {
        "map": {"n": len(encoding), "weights": weights.ravel().tolist()}
        | {name: header[name] for name in ("tokens", "words")},
        "choices": choices,
    }
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    script = f"""
        import {{ readFile }} from "node:fs/promises";
        import {{ load }} from {json.dumps((Path(__file__).parent / "view_modules.mjs").as_uri())};
        const {{ shape }} = await load("shape");
        const {{ map, choices }} = JSON.parse(await readFile({json.dumps(str(tmp_path / "cases.json"))}, "utf8"));
        console.log(JSON.stringify(choices.map((choice) => {{
          const {{ units, rows, columns, weights, gone }} = shape(map, choice);
          return [rows.map((i) => units.labels[i]), columns.map((i) => units.labels[i]), [...weights], [...gone]];
        }})));
    """
    read = json.loads(node(script))
    assert len(read) == 80
    for choice, (rows, columns, values, gone) in zip(choices, read, strict=True):
        expected = shown_map(
            weights,
            encoding,
            MapChoice(
                unit="words" if choice["by"] == "words" else "tokens",
                without=tuple(choice["without"]),
                pairing=None if choice["pairs"] == "all" else choice["pairs"],
                renormalised=choice["rescale"],
            ),
        )
        assert rows == list(expected.rows.labels)
        assert columns == list(expected.columns.labels)
        assert_allclose(np.reshape(values, expected.weights.shape), expected.weights, atol=1e-6)
        assert_allclose(gone, expected.gone_prob, atol=1e-6)


@needs_node
def test_the_parts_are_joined_into_one_module() -> None:
    """Node reads it: no name is declared twice, no import is left."""
    assert "import " not in view.JS
    script = f"{view.JS}\nconsole.log(typeof mount, typeof MapView, typeof OverviewView);"
    assert node(script).split() == ["function"] * 3
    assert "globalThis" in node(f"{view.PART_JS}\nconsole.log('globalThis');")


def test_a_page_asks_for_nothing_and_a_text_cannot_leave_its_place(bundled: bertviz_lite.Checkpoint) -> None:
    text = "</script><script>alert(1)</script> & “quotes”"
    encoding = bundled.tokenizer.encode(text)
    page = view.page(None, [head(bundled, encoding, 0, 0)], text)
    assert page.count("<script") == 1
    assert page.count("</script") == 1
    addresses = set(re.findall(r"https?://[^\"'\s)<]+", page)) - {"http://www.w3.org/2000/svg"}
    assert all(address.startswith("https://arxiv.org/abs/") for address in addresses), addresses
    assert not re.search(r"@import|url\(|<link|\bfetch\(|XMLHttpRequest|src=", page)


def test_labels_may_stand_in_for_the_pieces_and_signs_travel(bundled: bertviz_lite.Checkpoint) -> None:
    encoding = bundled.tokenizer.encode("a b")
    change = np.array([[0.5, -0.5, 0, 0]] * 4, np.float32)
    header, arrays = unpack(
        view.map_data(encoding, change, "t", state=view.ViewState(), link="x", labels=["w", "x", "y", "z"], signed=True)
    )
    assert_array_equal(arrays["weights"], change)
    assert header["tokens"]["labels"] == ["w", "x", "y", "z"]
    assert (header["signed"], header["opens"]) == (True, None)


def node(script: str) -> str:
    assert NODE is not None
    done = subprocess.run(
        [NODE, "--input-type=module", "-"], input=script, capture_output=True, text=True, encoding="utf-8",
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
