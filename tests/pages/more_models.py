"""Small models of every kind for the pages, made from the tiny zip, and what a page says of the one in use."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from page_tools import Open, upload
from safetensors.torch import load, save
from streamlit.testing.v1 import AppTest

WEIGHTS = "model.safetensors"
WORDS, DECODER = "bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"
Members = dict[str, bytes]

# facts/bert.md, no pooler; the untied large model shares one output bias
PRESETS = {"tiny": ("4,416,698", "8,323,514"), "mini": ("11,201,594", "19,015,226"),
           "base": ("109,514,298", "132,955,194"), "large": ("335,174,458", "366,428,986")}  # fmt: skip

# keys of the address that name no model of `server_folder`
OUT = ("@../outside", "@secret", "@secret.zip", "@tiny/../../outside", "@.hidden", "@", "@..", "@/etc", "@dangling",
       "@notes.txt")  # fmt: skip


def members(packed: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        return {Path(name).name: archive.read(name) for name in archive.namelist()}


def changed(packed: bytes, change: Callable[[dict[str, torch.Tensor]], None], **config: Any) -> Members:  # noqa: ANN401
    """The tiny checkpoint's files with other tensors and another configuration."""
    files = members(packed)
    tensors = load(files[WEIGHTS])
    change(tensors)
    values = json.loads(files["config.json"]) | config
    return files | {WEIGHTS: save(tensors, {"format": "pt"}), "config.json": json.dumps(values).encode()}


def untied(packed: bytes) -> Members:
    def change(tensors: dict[str, torch.Tensor]) -> None:
        tensors[DECODER] = tensors[WORDS].flip(0).contiguous()

    return changed(packed, change, tie_word_embeddings=False)


def encoder(packed: bytes) -> Members:
    def change(tensors: dict[str, torch.Tensor]) -> None:
        for name in [name for name in tensors if name.startswith("cls.")]:
            del tensors[name]

    return changed(packed, change)


def with_nan(packed: bytes) -> Members:
    return changed(packed, lambda tensors: tensors[WORDS].fill_(float("nan")))


def opened(open_page: Open, files: Mapping[str, bytes]) -> AppTest:
    return upload(open_page("pages/checkpoint.py"), *files.items())


def model_in_use(at: AppTest) -> str:
    told: str = at.get("popover")[0].proto.popover.help  # whole; the label is cut where it is long
    return told.removeprefix("The model in use: ").replace("\\", "").split(" · ", maxsplit=1)[0]


def said(at: AppTest) -> str:
    return "\n".join(m.value for m in at.markdown)


def press(at: AppTest, label: str) -> None:
    next(button for button in at.button if button.label.startswith(label)).click().run()


def server_folder(at: Path, packed: bytes) -> Path:
    """A server's folder: a folder, a zip, a link inside, links outwards, a hidden one; and a model beside it."""
    root, outside = at / "models", at / "outside"
    for folder in (root / "tiny", root / ".hidden", outside):
        folder.mkdir(parents=True)
        for name, content in members(packed).items():
            (folder / name).write_bytes(content)
    for file in (root / "packed.zip", outside / "packed.zip"):
        file.write_bytes(packed)
    (root / "notes.txt").write_text("no model")
    (root / "again").symlink_to(root / "tiny")
    (root / "secret").symlink_to(outside)
    (root / "secret.zip").symlink_to(outside / "packed.zip")
    (root / "dangling").symlink_to(root / "gone")
    return root
