"""The models a visitor can use: the bundled one, shared by all, and those the visitor opened, theirs alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import IO

import streamlit as st
import torch

from bertviz_lite.checkpoints import Checkpoint, load
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.ui import state

TWIN = "untrained"  # in place of a key: the untrained twin of the model in use

_BYTES_A_PARAMETER = 4
_MOST_BYTES = 3 << 30  # of one visitor's opened models; the one opened longest ago goes first
_DIGEST_SHOWN = 12


@st.cache_resource(show_spinner="Opening the bundled model …")
def bundled() -> Checkpoint:
    """The model that ships; read once for the whole server."""
    return load()


@st.cache_resource(show_spinner=False, max_entries=4)
def untrained(_checkpoint: Checkpoint, digest: str = "") -> Checkpoint:
    """The twin of a checkpoint before its first training step: same network and tokenizer, random weights, seed 0."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = BERTForMaskedLM(_checkpoint.config).eval()
    name, digest = f"{_checkpoint.report.name} (untrained)", f"untrained-{digest}"
    return replace(_checkpoint, model=model, report=replace(_checkpoint.report, name=name, digest=digest))


def models() -> dict[str, Checkpoint]:
    """All models of this visitor by the key that stands in the address; the bundled one has the empty key."""
    opened: Mapping[str, Checkpoint] = st.session_state.get("shelf", {})
    return {"": bundled(), **opened}


def current() -> Checkpoint:
    """The model in use."""
    return models().get(state.get("model")) or bundled()


def absent_key() -> str:
    """The key of a model that the address asks for and this visitor has not opened; empty if all is well."""
    key: str = state.get("model")
    return key if key not in models() else ""


def open_files(files: Mapping[str, IO[bytes]]) -> Checkpoint:
    """Open uploaded files and use them from now on; the model in use stays where they cannot be opened.

    Raises:
        BertvizError: the files are no checkpoint that can predict; the message says why.
    """
    checkpoint = load(files)
    key = checkpoint.report.digest[:_DIGEST_SHOWN]
    opened = {k: c for k, c in st.session_state.get("shelf", {}).items() if k != key}
    opened[key] = checkpoint
    while len(opened) > 1 and sum(map(_bytes, opened.values())) > _MOST_BYTES:
        del opened[next(iter(opened))]
    st.session_state["shelf"] = opened
    state.put(model=key)
    return checkpoint


def lacking_files(names: Iterable[str]) -> list[str]:
    """What is still to be given before `open_files` makes sense; empty for a zip or a complete folder."""
    lower = [name.lower() for name in names]
    if any(name.endswith(".zip") for name in lower):
        return []
    needed = {
        "config.json": ("config.json",),
        "the weights (model.safetensors or pytorch_model.bin)": (".safetensors", ".bin", ".h5", ".msgpack"),
        "the tokenizer (tokenizer.json, or vocab.txt)": ("tokenizer.json", "vocab.txt"),
    }
    return [what for what, endings in needed.items() if not any(name.endswith(endings) for name in lower)]


def close(key: str) -> None:
    """Take a model of this visitor off the shelf and free its memory."""
    st.session_state["shelf"] = {k: c for k, c in st.session_state.get("shelf", {}).items() if k != key}
    if state.get("model") == key:
        state.put(model="")


def _bytes(checkpoint: Checkpoint) -> int:
    return checkpoint.report.parameters.total * _BYTES_A_PARAMETER


__all__ = ["TWIN", "absent_key", "bundled", "close", "current", "lacking_files", "models", "open_files", "untrained"]
