"""The models a visitor can use: the bundled one and the server's, shared by all; the visitor's own, theirs alone."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO

import streamlit as st
import torch

from bertviz_lite.checkpoints import ARCHIVES, Checkpoint, Source, load, matters
from bertviz_lite.checkpoints.limits import max_bytes
from bertviz_lite.errors import BertvizError, CheckpointError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.ui import numbers, state
from bertviz_lite.ui.wording import plain

TWIN = "untrained"  # in place of a key: the untrained twin of the model in use
MODELS_DIR = "BERTVIZ_MODELS_DIR"

_SERVER = "@"  # opens the key of a model that lies in the server's folder
_BYTES_A_PARAMETER = 4
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack")
_DIGEST_SHOWN = 12


@st.cache_resource(show_spinner="Opening the bundled model …")
def bundled() -> Checkpoint:
    """The model that ships; read once for the whole server."""
    return load()


@st.cache_resource(show_spinner="Opening the model …", max_entries=4)
def _from_server(name: str, path: Path, changed: float) -> Checkpoint | BertvizError:
    """A model of the server's folder, or why it does not open; read once for all visitors, again when files change."""
    try:
        return load(path, name=name, headless=True)
    except BertvizError as error:
        return error


@st.cache_resource(show_spinner=False, max_entries=1, ttl=600)  # it may be a private model's, and as large
def untrained(_checkpoint: Checkpoint, digest: str, name: str) -> Checkpoint:
    """The twin of a checkpoint before its first training step: same network and tokenizer, random weights, seed 0.

    Args:
        name: of the checkpoint; a part of the key, since another visitor may have given equal files another name.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = BERTForMaskedLM(_checkpoint.config).eval()
    name, digest = f"{name} (untrained)", f"untrained-{digest}"
    return replace(_checkpoint, model=model, report=replace(_checkpoint.report, name=name, digest=digest, missing=()))


def server_models() -> dict[str, Path]:
    """Checkpoints in the folder that the server's owner named, by key; nothing outside it, links included."""
    try:
        root = _models_dir()
    except CheckpointError:
        return {}  # `trouble` tells it
    if root is None or not root.is_dir():
        return {}
    return {_SERVER + path.name: path for path in sorted(root.iterdir()) if _is_model_inside(path, root)}


def choices() -> dict[str, str]:
    """What can be used, as a label by key; the bundled model has the empty key. Nothing is opened for it."""
    found = {
        "": label(bundled()),
        **{key: key.removeprefix(_SERVER) for key in server_models()},
        **{key: label(checkpoint) for key, checkpoint in opened().items()},
    }
    labels = list(found.values())
    nth = {key: labels[: i + 1].count(label) for i, (key, label) in enumerate(found.items())}
    return {key: f"{label} ({nth[key]})" if nth[key] > 1 else label for key, label in found.items()}


def label(checkpoint: Checkpoint) -> str:
    """Name and size."""
    return f"{checkpoint.report.name} · {numbers.short(checkpoint.report.parameters.total)}"


def get(key: str) -> Checkpoint:
    """The model under a key, opened if it must be.

    Raises:
        BertvizError: a model of the server's folder does not open.
    """
    if key.startswith(_SERVER) and (path := server_models().get(key)) is not None:
        found = _from_server(path.name, path, _changed(path))
        if isinstance(found, BertvizError):
            raise found
        return found
    return opened().get(key) or bundled()


def current_key() -> str:
    """The key of the model in use."""
    key: str = state.get("model")
    return "" if trouble() else key


def current() -> Checkpoint:
    """The model in use; the bundled one where the one asked for is not there or does not open."""
    try:
        return get(state.get("model"))
    except BertvizError:
        return bundled()


def trouble() -> str:
    """Why the model that the address asks for is not the one in use; empty if all is well."""
    try:
        _models_dir()
    except CheckpointError as error:
        return plain(error)
    key: str = state.get("model")
    if key.startswith(_SERVER) and key not in choices():
        name = plain(key.removeprefix(_SERVER)[:80])
        return f"This server has no model called {name}; you see **{bundled().report.name}**."
    if key not in choices():
        return (
            "This address names a model that was opened in another visit; reloading the page closes it too. Open its "
            f"files again on the Checkpoint page; until then you see **{bundled().report.name}**, the bundled model."
        )
    try:
        get(key)
    except BertvizError as error:
        return plain(f"{key.removeprefix(_SERVER)}: {error}")
    return ""


def open_source(source: Source, *, name: str | None = None, note: str = "") -> Checkpoint:
    """Open a model and use it from now on; an encoder without a head is opened for its attention.

    Args:
        note: what its report shall say beside what was read.

    Raises:
        BertvizError: it does not open; the message says why, and the model in use stays.
    """
    checkpoint = load(source, name=name, headless=True)
    if checkpoint.report.name == "uploaded model":  # loose files have no name of their own: tell two apart
        named = f"uploaded model {checkpoint.report.digest[:4]}"
        checkpoint = replace(checkpoint, report=replace(checkpoint.report, name=named))
    if note:
        report = replace(checkpoint.report, notes=(note, *checkpoint.report.notes))
        checkpoint = replace(checkpoint, report=report)
    return keep(checkpoint)


def keep(checkpoint: Checkpoint) -> Checkpoint:
    """Put a model on the visitor's shelf and use it; what was opened longest ago makes room."""
    key = checkpoint.report.digest[:_DIGEST_SHOWN]
    own = opened()
    own.pop(key, None)
    own[key] = checkpoint
    while len(own) > 1 and sum(map(_bytes, own.values())) > max_bytes():
        del own[next(iter(own))]
    state.put(model=key)
    return checkpoint


def close(key: str) -> None:
    """Take a model of this visitor off the shelf and free its memory."""
    # In place: Streamlit keeps the old value of a session's entry for a while, and with it the memory.
    opened().pop(key, None)
    if state.get("model") == key:
        state.put(model="")


def opened() -> dict[str, Checkpoint]:
    """What the visitor opened, by key, oldest first; the session's own dictionary, to be changed in place."""
    own: dict[str, Checkpoint] = st.session_state.setdefault("shelf", {})
    return own


def is_own(key: str) -> bool:
    """Whether the visitor opened it, and so may close it."""
    return key in opened()


def lacking_files(names: Iterable[str]) -> list[str]:
    """What is still to be given before a model can be opened; empty for an archive or a complete folder."""
    bases = {name.lower().replace("\\", "/").rsplit("/", 1)[-1] for name in names}
    if any(base.endswith(ARCHIVES) for base in bases):
        return []
    has = {
        "config.json": "config.json" in bases,
        "the weights (model.safetensors or pytorch_model.bin)": any(base.endswith(_WEIGHTS) for base in bases),
        "the tokenizer (tokenizer.json, or vocab.txt)": bool(bases & {"tokenizer.json", "vocab.txt"}),
    }
    return [what for what, is_there in has.items() if not is_there]


def may_belong(name: str) -> bool:
    """Whether a file of this name can be a part of a checkpoint, or an archive of one."""
    return matters(name) or name.lower().endswith(ARCHIVES)


def lent(files: Mapping[str, IO[bytes]], lender: Checkpoint) -> dict[str, IO[bytes]]:
    """config.json and tokenizer of another model, as far as the files lack their own."""
    names = {name.lower() for name in files}
    all_files = lender.to_files()
    if names & {"tokenizer.json", "vocab.txt"}:
        all_files = {name: content for name, content in all_files.items() if name == "config.json"}
    return {name: content for name, content in all_files.items() if name not in names}


def _models_dir() -> Path | None:
    """From `streamlit run app.py -- --models-dir DIR`, else from the environment."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument("--models-dir")
    try:
        named = parser.parse_known_args(sys.argv[1:])[0].models_dir
    except argparse.ArgumentError as error:
        raise CheckpointError("--models-dir needs the path of a folder.") from error
    named = named or os.environ.get(MODELS_DIR)
    return Path(named).expanduser() if named else None


def _is_model_inside(path: Path, root: Path) -> bool:
    try:
        files = [path, *path.iterdir()] if path.is_dir() else [path]
        inside = all(file.resolve().is_relative_to(root.resolve()) for file in files)
        is_model = (path / "config.json").is_file() or path.name.lower().endswith(ARCHIVES)
        path.name.encode()
    except (OSError, RuntimeError, UnicodeError):  # a link that leads in a circle, a name that is no text
        return False
    return inside and is_model and not path.name.startswith(".")


def _changed(path: Path) -> float:
    files = path.iterdir() if path.is_dir() else [path]
    return max((file.stat().st_mtime for file in files if file.exists()), default=0.0)


def _bytes(checkpoint: Checkpoint) -> int:
    return checkpoint.report.parameters.total * _BYTES_A_PARAMETER


__all__ = [
    "MODELS_DIR",
    "TWIN",
    "bundled",
    "choices",
    "close",
    "current",
    "current_key",
    "get",
    "is_own",
    "keep",
    "label",
    "lacking_files",
    "lent",
    "may_belong",
    "open_source",
    "opened",
    "server_models",
    "trouble",
    "untrained",
]
