"""Any source to a plain folder of the files that matter: a folder, an archive, a file of weights, files, a hub id.

Archives and uploads are written into a temporary folder by base name alone, so nothing is ever written elsewhere.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from bertviz_lite.checkpoints import hub
from bertviz_lite.checkpoints._archives import ARCHIVES, unpack
from bertviz_lite.errors import CheckpointError
from bertviz_lite.tokenizer import TOKENIZER_FILES

Source = str | Path | Mapping[str, IO[bytes]]

PICKLES = (".bin", ".pt", ".pth", ".ckpt")
_ENDINGS = (".safetensors", *PICKLES, ".h5", ".msgpack", ".index.json")
_WANTED = ("config.json", *TOKENIZER_FILES)
_LONGEST_NAME = 200


@dataclass(frozen=True)
class Folder:
    """Where the files lie.

    Attributes:
        weights: the one file of weights that was named, or None where the folder itself says which.
    """

    path: Path
    weights: str | None = None


@contextmanager
def opened(source: Source) -> Iterator[Folder]:
    """The source as a folder, for the time of a `with` block.

    Args:
        source: path of a folder, of a zip or tar, or of a file of weights with its config.json beside it; "hub:" and a
            model id; or open binary files by name (an archive among them is unpacked).

    Raises:
        CheckpointError: there is no such path, or nothing in it belongs to a checkpoint.
        ArchiveError: the archive is damaged, too large unpacked, encrypted, or names files outside itself.
    """
    if isinstance(source, str) and source.startswith(hub.PREFIX):
        yield Folder(hub.fetch(hub.find(source)))
        return
    with tempfile.TemporaryDirectory(prefix="bertviz-") as name:
        folder = Path(name)
        if not isinstance(source, (str, Path)):
            _write(source, folder)
            yield Folder(folder)
            return
        path, is_folder = _look(source)
        if is_folder:
            yield Folder(path)
        elif path.name.lower().endswith(ARCHIVES):
            with path.open("rb") as file:
                unpack(file, path.name, folder, matters)
            yield Folder(folder)
        elif path.name.endswith((".safetensors", *PICKLES)):
            yield Folder(path.parent, path.name)
        else:
            raise CheckpointError(
                f"{path.name} is neither a folder, an archive ({', '.join(ARCHIVES)}) nor a file of weights "
                f"({', '.join(('.safetensors', *PICKLES))})."
            )


def matters(base: str) -> bool:
    """Whether a file of this name belongs to a checkpoint."""
    return base in _WANTED or (base.endswith(_ENDINGS) and len(base) <= _LONGEST_NAME)


def _look(source: str | Path) -> tuple[Path, bool]:
    """The path, and whether it is a folder."""
    try:
        path = Path(source).expanduser()
        is_folder, is_file = path.is_dir(), path.is_file()
    except (OSError, RuntimeError, ValueError) as error:  # no such user, a name too long, no right to look
        raise CheckpointError(f"{str(source)[:1000]} cannot be opened ({str(error)[:1000]}).") from error
    if not is_folder and not is_file:
        raise CheckpointError(f"There is no folder and no file at {str(path)[:1000]}.")
    return path, is_folder


def _write(files: Mapping[str, IO[bytes]], folder: Path) -> None:
    archives = [name for name in files if name.lower().endswith(ARCHIVES)]
    if archives and len(files) > 1:
        raise CheckpointError(f"Give either one archive or the single files, not both ({_some(files)}).")
    if archives:
        unpack(files[archives[0]], archives[0], folder, matters)
        return
    wanted: dict[str, IO[bytes]] = {}
    for name, file in files.items():
        base = PurePosixPath(name.replace("\\", "/")).name
        if not matters(base):
            continue
        if base in wanted:
            raise CheckpointError(f"There are two files called {base}: give the files of one folder.")
        wanted[base] = file
    if not wanted:
        raise CheckpointError(
            f"None of these files belongs to a checkpoint: {_some(files) or 'nothing was given'}. Needed are "
            "config.json, model.safetensors (or pytorch_model.bin) and tokenizer.json (or vocab.txt)."
        )
    for base, file in wanted.items():
        file.seek(0)
        with (folder / base).open("wb") as out:
            shutil.copyfileobj(file, out, 1 << 20)


def _some(files: Mapping[str, IO[bytes]]) -> str:
    return ", ".join(name[:60] for name in list(files)[:6])


__all__ = ["PICKLES", "Folder", "Source", "matters", "opened"]
