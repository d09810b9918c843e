"""A tar, packed or not, is as safe as a zip: nothing outside, nothing past the limits, nothing left."""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from bounds import HAS_PEAK, in_memory, in_time
from small_files import WEIGHTS, files, logits_of, reference, tar_of
from torch.testing import assert_close

from bertviz_lite.checkpoints import inspect, load
from bertviz_lite.errors import ArchiveError, CheckpointError

FILES = files()
ENDINGS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".TAR.GZ")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("folder", ["", "./", "models/tiny/"], ids=["flat", "dot", "nested"])
def test_a_tar_opens(ending: str, folder: str, tmp_path: Path, written: list[int]) -> None:
    contents = {folder + name: content for name, content in FILES.items()} | {"__MACOSX/._config.json": b"x"}
    (tmp_path / f"tiny{ending}").write_bytes(tar_of(contents, ending))
    for source in (tmp_path / f"tiny{ending}", {f"tiny{ending}": BytesIO(tar_of(contents, ending))}):
        opened = load(source)
        assert opened.report.name == "tiny"
        assert_close(logits_of(opened.model), logits_of(reference()), atol=1e-5, rtol=1e-5)
    assert sum(written) == 2 * sum(len(content) for content in FILES.values())


def test_an_open_tar_may_be_read_again() -> None:
    source = {"tiny.tar": BytesIO(tar_of(FILES))}  # an upload box gives the same file at every run of its page
    assert load(source).report == load(source).report


def special(name: str, kind: bytes, **attributes: Any) -> bytes:  # noqa: ANN401
    """A good checkpoint's tar with one member more, of this kind."""
    member = tarfile.TarInfo(name)
    member.type = kind
    for attribute, value in attributes.items():
        setattr(member, attribute, value)
    return tar_of(FILES, ".tar", member)


def in_a_circle() -> bytes:
    """A member whose size of -1536 leads back to its own header."""
    member = tarfile.TarInfo("x")
    member.pax_headers = {"size": "-1536"}
    return tarfile.TarInfo("a").tobuf() + member.tobuf(tarfile.PAX_FORMAT) + bytes(4096)


REFUSED: Mapping[str, tuple[Callable[[], bytes], tuple[str, ...]]] = {
    "a path upwards": (lambda: tar_of(FILES | {"../outside.bin": b"x"}), ("outside.bin",)),
    "an absolute path": (lambda: tar_of(FILES | {"/tmp/outside.bin": b"x"}), ("outside.bin",)),  # noqa: S108
    "a drive": (lambda: tar_of(FILES | {"C:/outside.bin": b"x"}), ("outside.bin",)),
    "a link": (lambda: special("pytorch_model.bin", tarfile.SYMTYPE, linkname="/etc/passwd"), ("link",)),
    "a hard link": (lambda: special("pytorch_model.bin", tarfile.LNKTYPE, linkname=WEIGHTS), ("link",)),
    "a device": (lambda: special("pytorch_model.bin", tarfile.CHRTYPE), ("pytorch_model.bin",)),
    "a pipe": (lambda: special("pytorch_model.bin", tarfile.FIFOTYPE), ("pytorch_model.bin",)),
    "too many files": (lambda: tar_of(FILES | {f"{i}.txt": b"" for i in range(2001)}), ("files",)),
    "in a circle": (in_a_circle, ()),
    "no tar": (lambda: b"not a tar", ("tiny.tar",)),
    "nothing": (lambda: b"", ("tiny.tar",)),
    "cut short": (lambda: tar_of(FILES)[:60_000], ("damaged",)),
}


@pytest.mark.parametrize(("make", "words"), REFUSED.values(), ids=REFUSED)
def test_a_bad_tar_is_refused(
    make: Callable[[], bytes], words: tuple[str, ...], tmp_path: Path, written: list[int]
) -> None:
    (tmp_path / "tiny.tar").write_bytes(make())
    before = set(tmp_path.parent.rglob("*"))
    for read in (load, inspect):
        for source in (tmp_path / "tiny.tar", {"tiny.tar": BytesIO(make())}):
            with in_time(), pytest.raises(ArchiveError) as caught:
                read(source)
            assert all(word in str(caught.value) for word in words)
            assert str(caught.value).endswith(".")
    assert sum(written) <= 4 * sum(len(content) for content in FILES.values())
    assert {p for p in tmp_path.parent.rglob("*") if p.name != "unpacked"} <= before


def header_of(kind: bytes, size: int) -> bytes:
    """A header alone; what it describes would follow."""
    member = tarfile.TarInfo("big.bin")
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


def test_a_bomb_is_refused_before_anything_is_written(tmp_path: Path, written: list[int]) -> None:
    size = 70 << 20
    bomb = gzip.compress(header_of(tarfile.REGTYPE, size) + bytes(size) + tar_of(FILES), 1)
    with pytest.raises(ArchiveError, match="times"):
        load({"tiny.tar.gz": BytesIO(bomb)})
    assert written == []


@pytest.mark.skipif(not HAS_PEAK, reason="the peak of a process's memory can be set back on Linux alone")
@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_a_name_of_240_mb_is_not_read(kind: bytes) -> None:
    size = 240 << 20
    bomb = gzip.compress(header_of(kind, size), 1) + gzip.compress(bytes(size), 1) + gzip.compress(tar_of(FILES), 1)
    assert len(bomb) < 2 << 20
    with in_memory(), in_time(10), pytest.raises(CheckpointError):
        load({"tiny.tar.gz": BytesIO(bomb)})


def test_folders_count_too() -> None:
    """Half a million of them take 2 MB and 9 seconds."""
    bomb = gzip.compress(header_of(tarfile.DIRTYPE, 0) * 20_000 + tar_of(FILES))
    with pytest.raises(ArchiveError, match="files"):
        load({"tiny.tar.gz": BytesIO(bomb)})
