"""Any source to a plain folder of the files that matter: a directory, a zip, or files chosen one by one.

Archives and uploads are unpacked into a temporary folder by base name alone, so nothing is ever written elsewhere.
"""

from __future__ import annotations

import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from bertviz_lite.errors import ArchiveError, CheckpointError
from bertviz_lite.tokenizer import TOKENIZER_FILES

Source = str | Path | Mapping[str, IO[bytes]]

_SUFFIXES = (".safetensors", ".bin", ".h5", ".msgpack")
_WANTED = ("config.json", *TOKENIZER_FILES)

_MOST_MEMBERS = 2_000
_MOST_BYTES = 4 << 30
_MOST_RATIO = 100  # trained weights hardly shrink; text shrinks to a fifth
_RATIO_FREE_BYTES = 64 << 20


@contextmanager
def opened(source: Source) -> Iterator[Path]:
    """The source as a folder, for the time of a `with` block.

    Args:
        source: path of a folder or of a zip file, or open binary files by name (a single zip among them is unpacked).

    Raises:
        CheckpointError: there is no such path, or nothing in it belongs to a checkpoint.
        ArchiveError: the zip is damaged, too large unpacked, encrypted, or names files outside itself.
    """
    if isinstance(source, (str, Path)):
        try:
            path = Path(source).expanduser()
            is_folder, is_file = path.is_dir(), path.is_file()
        except (OSError, RuntimeError) as error:  # no such user, a name too long, no right to look
            raise CheckpointError(f"{source} cannot be opened ({error}).") from error
        if is_folder:
            yield path
            return
        if not is_file:
            raise CheckpointError(f"There is no folder and no file at {path}.")
        if path.suffix.lower() != ".zip":
            raise CheckpointError(
                f"{path.name} is a single file. Give the folder that holds it together with config.json and the "
                "tokenizer, or a zip of that folder."
            )
        with tempfile.TemporaryDirectory(prefix="bertviz-") as folder, path.open("rb") as file:
            _unzip(file, path.name, Path(folder))
            yield Path(folder)
        return
    with tempfile.TemporaryDirectory(prefix="bertviz-") as folder:
        _write(source, Path(folder))
        yield Path(folder)


def _write(files: Mapping[str, IO[bytes]], folder: Path) -> None:
    archives = [name for name in files if name.lower().endswith(".zip")]
    if archives and len(files) > 1:
        raise CheckpointError(f"Give either one zip or the single files, not both ({', '.join(files)}).")
    if archives:
        _unzip(files[archives[0]], archives[0], folder)
        return
    wanted = {base: file for name, file in files.items() if _matters(base := PurePosixPath(name).name)}
    if not wanted:
        raise CheckpointError(
            f"None of these files belongs to a checkpoint: {', '.join(files) or 'nothing was given'}. Needed are "
            "config.json, model.safetensors (or pytorch_model.bin) and tokenizer.json (or vocab.txt)."
        )
    for base, file in wanted.items():
        file.seek(0)
        with (folder / base).open("wb") as out:
            shutil.copyfileobj(file, out, 1 << 20)


def _unzip(file: IO[bytes], name: str, folder: Path) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            members = [m for m in archive.infolist() if not m.is_dir()]
            _check_members(members, name)
            for member in _members_of_one_folder(members, name):
                with archive.open(member) as packed, (folder / PurePosixPath(member.filename).name).open("wb") as out:
                    shutil.copyfileobj(packed, out, 1 << 20)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise ArchiveError(f"{name} cannot be unpacked: it is damaged or no zip file ({error}).") from error


def _check_members(members: list[zipfile.ZipInfo], name: str) -> None:
    """All limits are checked on what the archive declares, before anything is written; reading stops there too."""
    if len(members) > _MOST_MEMBERS:
        raise ArchiveError(f"{name} holds {len(members):,} files; a checkpoint has a few (at most {_MOST_MEMBERS:,}).")
    for member in members:
        path = PurePosixPath(member.filename.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
            raise ArchiveError(f"{name} names a file outside itself ({member.filename}); it was not unpacked.")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise ArchiveError(f"{name} holds a link ({member.filename}); it was not unpacked.")
        if member.flag_bits & 1:
            raise ArchiveError(f"{name} is encrypted; give it without a password.")
    total = sum(m.file_size for m in members)
    packed = sum(m.compress_size for m in members)
    if total > _MOST_BYTES:
        raise ArchiveError(f"{name} would unpack to {total / 1e9:.1f} GB; the limit is {_MOST_BYTES / 1e9:.1f} GB.")
    if total > _RATIO_FREE_BYTES and total > _MOST_RATIO * packed:
        raise ArchiveError(f"{name} would unpack to {total / max(packed, 1):,.0f} times its size; no checkpoint does.")


def _members_of_one_folder(members: list[zipfile.ZipInfo], name: str) -> list[zipfile.ZipInfo]:
    """The files that matter beside the one config.json, however deep it lies."""
    homes = {PurePosixPath(m.filename).parent for m in members if PurePosixPath(m.filename).name == "config.json"}
    homes = {home for home in homes if "__MACOSX" not in home.parts}
    if len(homes) != 1:
        found = ", ".join(str(home) for home in sorted(homes)[:4]) if homes else "none"
        raise CheckpointError(f"{name} should hold one folder with a config.json; found: {found}.")
    home = homes.pop()
    inside = [m for m in members if PurePosixPath(m.filename).parent == home]
    return [m for m in inside if _matters(PurePosixPath(m.filename).name)]


def _matters(base: str) -> bool:
    return base in _WANTED or base.endswith(_SUFFIXES)


__all__ = ["Source", "opened"]
