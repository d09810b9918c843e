"""AppTest runs a page's script without a browser; a tiny checkpoint stands for "one's own model"."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
import torch
from page_tools import Open
from streamlit.testing.v1 import AppTest

import bertviz_lite
from bertviz_lite import BERTConfig, BERTForMaskedLM

ROOT = Path(__file__).parent.parent.parent


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
