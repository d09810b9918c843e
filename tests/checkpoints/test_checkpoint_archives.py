"""A hostile or damaged zip is refused from what it declares: nothing outside, nothing past the limits, nothing left."""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from small_files import PICKLE, WEIGHTS, files, logits_of, reference, zipped
from torch.testing import assert_close

from bertviz_lite.checkpoints import inspect, load
from bertviz_lite.errors import ArchiveError, BertvizError, CheckpointError

FILES = files()
CENTRAL, LOCAL = b"PK\x01\x02", b"PK\x03\x04"


def with_member(name: str, content: bytes = b"x", **attributes: int) -> Callable[[Path], Path]:
    """A good checkpoint's zip with one member more."""

    def make(at: Path) -> Path:
        file = zipped(FILES, at / "tiny.zip")
        member = zipfile.ZipInfo(name)
        for attribute, value in attributes.items():
            setattr(member, attribute, value)
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr(member, content)
        return file

    return make


def patched(file: Path, name: str, central: dict[int, bytes], local: dict[int, bytes]) -> Path:
    """Overwrite fields of one member's headers, by their offsets in the two kinds of header."""
    data = bytearray(file.read_bytes())
    for signature, name_at, fields in ((CENTRAL, 46, central), (LOCAL, 30, local)):
        at = data.find(signature)
        while data[at + name_at : at + name_at + len(name)] != name.encode():
            at = data.find(signature, at + 1)
        for offset, value in fields.items():
            data[at + offset : at + offset + len(value)] = value
    file.write_bytes(data)
    return file


def declared(name: str, content: bytes, size: int, crc: bytes = b"") -> Callable[[Path], Path]:
    """A zip whose headers say that this member unpacks to `size` bytes."""

    def make(at: Path) -> Path:
        file = zipped(FILES | {name: content}, at / "tiny.zip")
        length = struct.pack("<I", size)
        central, local = {24: length}, {22: length}
        if crc:
            central[16] = local[14] = crc
        return patched(file, name, central, local)

    return make


def bomb_that_says_otherwise(at: Path) -> Path:
    """A file that is never read claims to take up 4 GB packed, so that the sums look well."""
    file = with_member("big.bin", ZEROS, compress_type=zipfile.ZIP_DEFLATED)(at)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("notes.txt", b"x")
    return patched(file, "notes.txt", {20: struct.pack("<I", 0xFFFFFFF0)}, {})


def encrypted(at: Path) -> Path:
    file = zipped(FILES, at / "tiny.zip")
    return patched(file, WEIGHTS, {8: b"\x01"}, {6: b"\x01"})


def damaged(at: Path, compression: int) -> Path:
    """The packed weights start with bytes that no method of packing writes."""
    file = zipped(FILES, at / "tiny.zip", compression)
    data = bytearray(file.read_bytes())
    with zipfile.ZipFile(file) as archive:
        start = archive.getinfo(WEIGHTS).header_offset + 30 + len(WEIGHTS)
    data[start : start + 16] = b"\xff" * 16
    file.write_bytes(data)
    return file


def cut(at: Path) -> Path:
    file = zipped(FILES, at / "tiny.zip")
    file.write_bytes(file.read_bytes()[:-3000])
    return file


def bytes_of(content: bytes) -> Callable[[Path], Path]:
    def make(at: Path) -> Path:
        (at / "tiny.zip").write_bytes(content)
        return at / "tiny.zip"

    return make


def name_is_no_text(at: Path) -> Path:
    file = with_member("notes.txt", flag_bits=0x800)(at)
    return patched(file, "notes.txt", {9: b"\x08", 46: b"\xff\xfe"}, {})


ZEROS = bytes(66 << 20)  # past what may shrink freely
LINK = (stat.S_IFLNK | 0o777) << 16

# name: (a function that writes the zip, words of the message)
REFUSED: dict[str, Any] = {
    "a path upwards": (with_member("../outside.bin"), ("../outside.bin",)),
    "a path upwards inside": (with_member("a/../../outside.bin"), ("outside.bin",)),
    "a path upwards by backslash": (with_member("..\\outside.bin"), ("outside.bin",)),
    "an absolute path": (with_member("/tmp/outside.bin"), ("/tmp/outside.bin",)),  # noqa: S108
    "an absolute path by backslash": (with_member("\\outside.bin"), ("outside.bin",)),
    "a drive": (with_member("C:\\outside.bin"), ("outside.bin",)),
    "a drive with slashes": (with_member("C:/outside.bin"), ("outside.bin",)),
    "a link": (with_member("pytorch_model.bin", b"/etc/passwd", external_attr=LINK), ("link", "pytorch_model.bin")),
    "a link elsewhere": (with_member("docs/link", b"..", external_attr=LINK), ("link",)),
    "encrypted": (encrypted, ("encrypted",)),
    "too many files": (lambda at: zipped(FILES | {f"{i}.txt": b"" for i in range(2001)}, at / "tiny.zip"), ("files",)),
    "a bomb": (with_member("big.bin", ZEROS, compress_type=zipfile.ZIP_DEFLATED), ("times",)),
    "a bomb elsewhere": (with_member("x/big.txt", ZEROS, compress_type=zipfile.ZIP_DEFLATED), ("times",)),
    "a bomb that says otherwise": (bomb_that_says_otherwise, ("times",)),
    "4 GB declared": (declared("big.bin", b"x", 0xFFFFFFF0), ("GB",)),
    "a small size declared": (declared(PICKLE, bytes(8 << 20), 1000), ()),
    "a small size of other data": (declared(PICKLE, FILES[WEIGHTS], 1000), ()),
    "no zip": (bytes_of(b"not a zip"), ("tiny.zip",)),
    "nothing": (bytes_of(b""), ("tiny.zip",)),
    "cut short": (cut, ("damaged",)),
    "an odd name": (with_member("."), ("tiny.zip",)),
    "a name that is no text": (name_is_no_text, ("tiny.zip",)),
    "damaged": (lambda at: damaged(at, zipfile.ZIP_STORED), ("damaged",)),
    "damaged deflate": (lambda at: damaged(at, zipfile.ZIP_DEFLATED), ("damaged",)),
    "damaged bzip2": (lambda at: damaged(at, zipfile.ZIP_BZIP2), ("damaged",)),
    "damaged lzma": (lambda at: damaged(at, zipfile.ZIP_LZMA), ("damaged",)),
}  # fmt: skip


@pytest.mark.parametrize(("make", "words"), REFUSED.values(), ids=REFUSED)
def test_a_bad_zip_is_refused(
    make: Callable[[Path], Path], words: tuple[str, ...], tmp_path: Path, written: list[int]
) -> None:
    file = make(tmp_path)
    before = set(tmp_path.parent.rglob("*"))
    allowed = sum(len(content) for content in FILES.values()) + 1000
    for source in (file, {"tiny.zip": BytesIO(file.read_bytes())}):
        written.clear()
        for read in (load, inspect):
            with pytest.raises(ArchiveError) as caught:
                read(source)
            assert all(word in str(caught.value) for word in words)
            assert str(caught.value).endswith(".")
        assert sum(written) <= 2 * allowed, "no more than declared, both times"
    assert {p for p in tmp_path.parent.rglob("*") if p.name != "unpacked"} <= before


@pytest.mark.parametrize("name", ["a path upwards", "a link", "encrypted", "too many files", "a bomb", "4 GB declared"])
def test_what_the_directory_tells_is_refused_before_anything_is_written(
    name: str, tmp_path: Path, written: list[int]
) -> None:
    with pytest.raises(ArchiveError):
        load(REFUSED[name][0](tmp_path))
    assert written == []


def test_a_small_size_with_the_checksum_of_the_small_part(tmp_path: Path, written: list[int]) -> None:
    crc = struct.pack("<I", zlib.crc32(bytes(1000)))
    file = declared(WEIGHTS, bytes(8 << 20), 1000, crc=crc)(tmp_path)
    with pytest.raises(BertvizError):
        load(file)
    assert max(written) <= 1000


def test_large_but_plausible_members_are_no_bomb(tmp_path: Path) -> None:
    noise = FILES[WEIGHTS][:50_000] * 40  # 2 MB that shrink to a fortieth
    opened = load(zipped(FILES | {"a.txt": noise, "zeros.txt": bytes(8 << 20)}, tmp_path / "tiny.zip"))
    assert_close(logits_of(opened.model), logits_of(reference()), atol=1e-5, rtol=1e-5)


def at_home(folder: str, contents: dict[str, bytes] = FILES) -> dict[str, bytes]:
    return {f"{folder}/{name}": content for name, content in contents.items()}


UNCLEAR = {
    "two checkpoints": (at_home("one") | at_home("two"), ("one", "two")),
    "one inside another": (FILES | at_home("checkpoint-500"), ("config.json", "checkpoint-500")),
    "no config.json": ({WEIGHTS: FILES[WEIGHTS]}, ("config.json",)),
    "config.json of the Mac alone": (at_home("__MACOSX"), ("config.json",)),
    "no files": ({}, ("config.json",)),
    "weights elsewhere": (
        {n: c for n, c in FILES.items() if n != WEIGHTS} | at_home("w", {WEIGHTS: FILES[WEIGHTS]}),
        (WEIGHTS,),
    ),
}


@pytest.mark.parametrize(("contents", "words"), UNCLEAR.values(), ids=UNCLEAR)
def test_a_zip_without_one_clear_checkpoint_is_told(
    contents: dict[str, bytes], words: tuple[str, ...], tmp_path: Path, written: list[int]
) -> None:
    with pytest.raises(CheckpointError) as caught:
        load(zipped(contents, tmp_path / "tiny.zip"))
    assert all(word in str(caught.value) for word in words)


def test_a_zip_written_with_backslashes_opens(tmp_path: Path) -> None:
    """As some Windows programs write them; the check of paths already reads a backslash as a slash."""
    file = zipped({f"tiny\\{name}": content for name, content in FILES.items()}, tmp_path / "tiny.zip")
    assert_close(logits_of(load(file).model), logits_of(reference()), atol=1e-5, rtol=1e-5)
