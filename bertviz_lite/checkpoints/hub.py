"""Checkpoints from the Hugging Face hub, or a mirror of it (HF_ENDPOINT); called only when a person asks for one.

The package's own rules hold: HF_HOME for the cache, HF_TOKEN for the token, HF_HUB_OFFLINE to forbid the network.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertviz_lite.errors import CheckpointError
from bertviz_lite.tokenizer import TOKENIZER_FILES

PREFIX = "hub:"  # in front of a model id where a path could stand too

_ID = re.compile(r"(?P<repo>[\w.-]+(/[\w.-]+)?)(@(?P<revision>[\w./-]+))?")
# Where errors of the network come from that are no OSError; json, since a proxy may answer with a web page.
_NETWORK = ("httpx", "httpx2", "httpcore", "httpcore2", "h11", "requests", "urllib3", "huggingface_hub", "json")
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class HubCheckpoint:
    """What would be fetched.

    Attributes:
        repo, revision: the model and the commit that the name stood for when it was looked up.
        sizes: bytes by file name.
    """

    repo: str
    revision: str
    sizes: dict[str, int]

    @property
    def n_bytes(self) -> int:
        """Everything together."""
        return sum(self.sizes.values())


def find(name: str) -> HubCheckpoint:
    """Ask the hub what a model consists of; nothing is fetched yet.

    Args:
        name: `owner/model`, or `owner/model@revision`.

    Raises:
        CheckpointError: the name is malformed, the hub cannot be reached or does not have it, or it has no weights.
    """
    match = _ID.fullmatch(name.strip().removeprefix(PREFIX))
    if match is None:
        raise CheckpointError(f"{name!r} is no model id: write owner/model, or owner/model@revision.")
    hub = _hub()
    try:
        with _explained(match["repo"]):
            info = hub.HfApi(endpoint=_endpoint()).model_info(
                match["repo"], revision=match["revision"], files_metadata=True
            )
    except CheckpointError as error:
        refused = (hub.errors.RepositoryNotFoundError, hub.errors.RevisionNotFoundError, hub.errors.HFValidationError)
        if isinstance(error.__cause__, refused):  # the hub did answer; a gated model is one it does not show
            raise
        if (cached := _cached(match["repo"], match["revision"])) is not None:
            return cached
        raise
    sizes = {sibling.rfilename: sibling.size or 0 for sibling in info.siblings or []}
    wanted = _wanted(list(sizes))
    if not any(file in wanted for file in _WEIGHTS):
        raise CheckpointError(
            f"{match['repo']} has no model.safetensors and no pytorch_model.bin; it holds "
            f"{', '.join(list(sizes)[:5]) or 'nothing'}."
        )
    return HubCheckpoint(match["repo"], info.sha or match["revision"] or "main", {f: sizes[f] for f in wanted})


def _cached(repo: str, revision: str | None) -> HubCheckpoint | None:
    """What the cache holds of a model, the newest commit first, for a server without network."""
    snapshots = Path(_hub().constants.HF_HUB_CACHE) / f"models--{repo.replace('/', '--')}" / "snapshots"
    if not snapshots.is_dir():
        return None
    for folder in sorted(snapshots.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True):
        sizes = {file.name: file.stat().st_size for file in folder.iterdir() if file.is_file()}
        wanted = _wanted(list(sizes))
        is_asked = revision is None or folder.name.startswith(revision)
        if is_asked and any(name in wanted for name in _WEIGHTS):
            return HubCheckpoint(repo, folder.name, {name: sizes[name] for name in wanted})
    return None


def fetch(found: HubCheckpoint, progress: Progress | None = None) -> Path:
    """Fetch the files, or find them in the cache, and return their folder.

    Args:
        progress: called with (bytes done, bytes in all); an exception that it raises ends the download, and what came
            so far is kept for the next try.

    Raises:
        CheckpointError: the hub cannot be reached or refuses a file.
    """
    hub = _hub()
    done = 0
    folder: Path | None = None
    for name, size in found.sizes.items():
        before = done

        def count(so_far: int, before: int = before) -> None:
            if progress is not None:
                progress(min(before + so_far, found.n_bytes), found.n_bytes)

        with _explained(found.repo):
            path = hub.hf_hub_download(
                found.repo, name, revision=found.revision, endpoint=_endpoint(), tqdm_class=_counter(count)
            )
        folder = Path(path).parent
        done = before + size
        count(size)
    if folder is None:
        raise CheckpointError(f"{found.repo} has no file to fetch.")
    return folder


def _wanted(names: list[str]) -> list[str]:
    """The files of a checkpoint among all of a repository, one form of the weights only."""
    weights = next((w for w in _WEIGHTS if w in names), None)
    wanted = [n for n in ("config.json", *TOKENIZER_FILES) if n in names]
    if weights is None:
        return wanted
    if weights.endswith(".index.json"):
        suffix = ".safetensors" if "safetensors" in weights else ".bin"
        stem = weights.split(".")[0]
        wanted += [n for n in names if n.startswith(f"{stem}-") and n.endswith(suffix)]
    return [*wanted, weights]


def _hub() -> Any:  # noqa: ANN401 - a module
    """The package, imported when it is needed: it takes a moment, and most visitors never ask for a hub model."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_XET", "1")  # its transfers run elsewhere and could not be cancelled
    import huggingface_hub  # noqa: PLC0415

    return huggingface_hub


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT") or None


def _counter(count: Callable[[int], None]) -> type:
    """A progress bar class for the package that draws nothing and counts bytes."""
    from tqdm import tqdm  # noqa: PLC0415 - comes with huggingface_hub

    class Counter(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
            kwargs.pop("name", None)
            super().__init__(*args, **{**kwargs, "disable": True})
            self._so_far = int(kwargs.get("initial") or 0)

        def update(self, n: float | None = 1) -> bool | None:
            self._so_far += int(n or 0)
            count(self._so_far)
            return None

    return Counter


class _explained:  # noqa: N801 - reads as a phrase where it is used
    """Turns what the package raises into a sentence."""

    def __init__(self, repo: str) -> None:
        self.repo = repo

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        from huggingface_hub import errors  # noqa: PLC0415

        where = _endpoint() or "the Hugging Face hub"
        if isinstance(error, errors.OfflineModeIsEnabled):
            told = "HF_HUB_OFFLINE forbids the network on this server, and the model is not in its cache."
        elif isinstance(error, errors.GatedRepoError):
            told = f"{self.repo} wants its terms accepted: accept them on its page, then set HF_TOKEN on this server."
        elif isinstance(error, errors.RevisionNotFoundError):
            told = f"{self.repo} has no such revision."
        elif isinstance(error, errors.RepositoryNotFoundError):
            told = f"{where} has no model {self.repo}, or it is private and HF_TOKEN is not set on this server."
        elif isinstance(error, errors.HFValidationError):
            told = f"{self.repo!r} is no model id: write owner/model."
        elif isinstance(error, OSError) or type(error).__module__.split(".")[0] in _NETWORK:
            told = f"{where} cannot be reached or broke off ({type(error).__name__}). Try again, or upload the files."
        else:
            return
        raise CheckpointError(told) from error


__all__ = ["PREFIX", "HubCheckpoint", "fetch", "find"]
