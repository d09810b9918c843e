"""Zip and tar archives: only the files that matter, by base name, after every check that can be made on paper."""

from __future__ import annotations

import lzma
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from bertviz_lite.checkpoints import limits
from bertviz_lite.errors import ArchiveError, CheckpointError

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")

_LONGEST_HEADER = 1 << 16

# Whatever the two packages raise for a damaged file; ValueError and IndexError come from broken headers.
_DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OSError,
    ValueError,
    IndexError,
    OverflowError,
)


@dataclass(frozen=True)
class _Member:
    """A file in an archive: its path, its size unpacked, how to open it, and whether it is a link."""

    path: PurePosixPath
    size: int
    open: Callable[[], AbstractContextManager[IO[bytes]]]
    is_link: bool


class _ShortHeaders(tarfile.TarInfo):
    """A member whose long name or attributes are bounded: tarfile reads them whole, before anybody can ask."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        is_header = self.type in (
            tarfile.GNUTYPE_LONGNAME,
            tarfile.GNUTYPE_LONGLINK,
            tarfile.XHDTYPE,
            tarfile.XGLTYPE,
            tarfile.SOLARIS_XHDTYPE,
        )
        if is_header and self.size > _LONGEST_HEADER:
            raise tarfile.ReadError("a header is too long")
        member: tarfile.TarInfo = super()._proc_member(tar)  # type: ignore[misc]
        return member


def unpack(file: IO[bytes], name: str, folder: Path, matters: Callable[[str], bool]) -> None:
    """Write the files that matter, all of one folder of the archive, into `folder`.

    Raises:
        ArchiveError: damaged, encrypted, too large unpacked, or with links or paths out of itself.
        CheckpointError: not one checkpoint, but none or several.
    """
    try:
        file.seek(0)
        if name.lower().endswith(".zip"):
            with zipfile.ZipFile(file) as archive:
                _check_packed(archive, file, name)
                _write([_zip_member(archive, m) for m in archive.infolist() if not m.is_dir()], name, folder, matters)
        else:
            with tarfile.open(fileobj=file, mode="r:*", tarinfo=_ShortHeaders) as tar:
                _write(_tar_members(tar, name, _length(file)), name, folder, matters)
    except _DAMAGE as error:
        reason = str(error).split("\n")[0][:200]
        raise ArchiveError(f"{name} cannot be unpacked: it is damaged or no archive ({reason}).") from error


def _check_packed(archive: zipfile.ZipFile, file: IO[bytes], name: str) -> None:
    """The ratio, against the real length of the file: the sizes in its directory may lie."""
    total = sum(m.file_size for m in archive.infolist())
    if total > limits.RATIO_FREE_BYTES and total > limits.MOST_RATIO * _length(file):
        times = total / max(_length(file), 1)
        raise ArchiveError(
            f"{name} would unpack to {total / 1e9:.1f} GB, {times:,.0f} times its size; no checkpoint does."
        )
    if any(m.flag_bits & 1 for m in archive.infolist()):
        raise ArchiveError(f"{name} is encrypted; give it without a password.")


def _zip_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> _Member:
    is_link = stat.S_ISLNK(member.external_attr >> 16)
    return _Member(_path(member.filename), member.file_size, lambda: archive.open(member), is_link)


def _tar_members(tar: tarfile.TarFile, name: str, packed: int) -> list[_Member]:
    """Listing a tar unpacks it in memory, piece by piece: the limits are watched on the way."""
    members: list[_Member] = []
    total = 0
    for n, info in enumerate(tar, start=1):
        total += info.size
        if n > limits.MOST_MEMBERS:
            raise ArchiveError(f"{name} holds more than {limits.MOST_MEMBERS:,} files; a checkpoint has a few.")
        if total > limits.RATIO_FREE_BYTES and total > limits.MOST_RATIO * packed:
            raise ArchiveError(f"{name} would unpack to over {limits.MOST_RATIO} times its size; no checkpoint does.")
        if total > limits.max_bytes():
            members.append(_Member(_path(info.name), total, tar.close, False))  # type: ignore[arg-type]
            break  # _check_members says it
        if not info.isdir():

            def content(info: tarfile.TarInfo = info) -> AbstractContextManager[IO[bytes]]:
                found = tar.extractfile(info)
                if found is None:
                    raise ArchiveError(f"{name} holds something that is no file ({info.name[:80]}).")
                return found

            members.append(_Member(_path(info.name), info.size, content, not info.isreg()))
    return members


def _write(members: Sequence[_Member], name: str, folder: Path, matters: Callable[[str], bool]) -> None:
    _check_members(members, name)
    for member in _of_one_checkpoint(members, name):
        if matters(member.path.name):
            with member.open() as packed, (folder / member.path.name).open("wb") as out:
                shutil.copyfileobj(packed, out, 1 << 20)


def _check_members(members: Sequence[_Member], name: str) -> None:
    if len(members) > limits.MOST_MEMBERS:
        raise ArchiveError(f"{name} holds more than {limits.MOST_MEMBERS:,} files; a checkpoint has a few.")
    for member in members:
        parts = member.path.parts
        if member.path.is_absolute() or ".." in parts or not parts or ":" in parts[0]:
            raise ArchiveError(f"{name} names a file outside itself ({str(member.path)[:120]}); it was not unpacked.")
        if member.is_link:
            raise ArchiveError(f"{name} holds a link ({str(member.path)[:120]}); it was not unpacked.")
    total = sum(m.size for m in members)
    if total > limits.max_bytes():
        raise ArchiveError(
            f"{name} would unpack to {total / 1e9:.1f} GB; the limit here is {limits.max_bytes() / 1e9:.1f} GB "
            f"({limits.MAX_GB})."
        )


def _of_one_checkpoint(members: Sequence[_Member], name: str) -> list[_Member]:
    """The files beside the one config.json, however deep it lies."""
    real = [m for m in members if "__MACOSX" not in m.path.parts]
    homes = {m.path.parent for m in real if m.path.name == "config.json"}
    if len(homes) != 1:
        found = ", ".join(str(home)[:60] for home in sorted(homes)[:4]) if homes else "none"
        raise CheckpointError(f"{name} should hold one folder with a config.json; found: {found}.")
    return [m for m in real if m.path.parent in homes]


def _path(name: str) -> PurePosixPath:
    """Some programs write backslashes."""
    return PurePosixPath(name.replace("\\", "/"))


def _length(file: IO[bytes]) -> int:
    at = file.tell()
    end = file.seek(0, 2)
    file.seek(at)
    return end


__all__ = ["ARCHIVES", "unpack"]
