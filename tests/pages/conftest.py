"""AppTest runs a page's script without a browser; a tiny checkpoint stands for "one's own model"."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
import torch
from streamlit.testing.v1 import AppTest

import bertviz_lite
from bertviz_lite import BERTConfig, BERTForMaskedLM

ROOT = Path(__file__).parent.parent.parent
Open = Callable[..., AppTest]


@pytest.fixture(autouse=True)
def _clean_caches() -> Iterator[None]:
    st.cache_data.clear()
    st.cache_resource.clear()
    yield


@pytest.fixture
def open_page() -> Open:
    """Open a page, as a link with this address would on a freshly started server."""

    def open_at(page: str = "app.py", **query: str) -> AppTest:
        at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        for name, value in query.items():
            at.query_params[name] = value
        if page != "app.py":
            at.switch_page(page)
        return at.run()

    return open_at


@pytest.fixture(scope="session")
def tiny_zip(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A model of 2 layers and 4 heads with the bundled vocabulary, zipped inside a folder."""
    torch.manual_seed(7)
    config = BERTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, max_position_embeddings=40
    )
    folder = tmp_path_factory.mktemp("tiny")
    BERTForMaskedLM(config).save_pretrained(folder)
    for name, content in bertviz_lite.load().tokenizer.to_files().items():
        (folder / name).write_text(content, encoding="utf-8")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, f"my-bert/{path.name}")
    return packed.getvalue()


def chips_of(at: AppTest) -> list[str]:
    """What stands on the chips, word by word."""
    return ["".join(p["text"] for p in word["pieces"]) for word in chips_data(at)["words"]]


def chips_data(at: AppTest) -> dict[str, list[dict[str, list[dict[str, str]]]]]:
    proto = at.get("bidi_component")[0].proto
    data: dict[str, list[dict[str, list[dict[str, str]]]]] = json.loads(proto.json)
    return data


def press_word(at: AppTest, word: int) -> AppTest:
    """What the browser sends when a chip is pressed."""
    proto = next(e.proto for e in at.get("bidi_component") if e.proto.id.endswith("-chips"))
    states = at._tree.get_widget_states()
    trigger = states.widgets.add()
    trigger.id = f"$$STREAMLIT_INTERNAL_KEY_{proto.id}__events"
    trigger.json_trigger_value = json.dumps([{"event": "word", "value": word}])
    return at._run(states)


def upload(at: AppTest, *files: tuple[str, bytes]) -> AppTest:
    """Choose files in the upload box of the Checkpoint page."""
    return at.file_uploader[0].set_value([(name, content, "application/octet-stream") for name, content in files]).run()


def chart(at: AppTest, key: str) -> dict[str, list[dict[str, object]]]:
    """A Plotly figure on the page, as JSON values."""
    proto = next(e.proto for e in at.get("plotly_chart") if e.proto.id.endswith(f"-{key}"))
    spec: dict[str, list[dict[str, object]]] = json.loads(proto.spec, object_hook=_array)
    return spec


def _array(value: dict[str, str]) -> object:
    """Plotly sends arrays as base64; everything else stays as it is."""
    if set(value) - {"shape"} != {"dtype", "bdata"}:
        return value
    flat = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
    shape = value.get("shape")
    return (flat.reshape([int(n) for n in shape.split(",")]) if shape else flat).tolist()
