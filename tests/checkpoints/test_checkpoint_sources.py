"""One checkpoint by every way in: a folder, a zip however packed, files chosen together."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from small_files import PICKLE, WEIGHTS, files, logits_of, put, reference, saved, told, zipped
from torch.testing import assert_close

from bertviz_lite.checkpoints import Source, inspect, load
from bertviz_lite.errors import CheckpointError

FILES = files()
DEEP = {f"models/tiny/{name}": content for name, content in FILES.items()}
MAC = {"__MACOSX/models/._tiny": b"x", "__MACOSX/models/tiny/._config.json": b"x", "__MACOSX/tiny/config.json": b"x"}
BESIDE = {"README.md": b"# A card", ".gitattributes": b"", "runs/1/model.safetensors": b"other weights"}


def loose(contents: dict[str, bytes]) -> dict[str, BytesIO]:
    """Open files that were read to the end before, as an upload box may leave them."""
    opened = {name: BytesIO(content) for name, content in contents.items()}
    for file in opened.values():
        file.read()
    return opened


def stored(folder: Path) -> Path:
    return zipped(DEEP, folder / "tiny.zip", zipfile.ZIP_STORED)


# name: a function of an empty folder that writes and returns a source
SOURCES: dict[str, Callable[[Path], Source]] = {
    "folder": lambda at: put(at / "tiny", FILES),
    "folder as text": lambda at: str(put(at / "tiny", FILES)),
    "folder with a slash": lambda at: f"{put(at / 'tiny', FILES)}/",
    "folder with other things": lambda at: put(at / "tiny", FILES | {"README.md": b"", "notes.txt": b"\xff"}),
    "folder named .zip": lambda at: put(at / "tiny.zip", FILES),
    "zip": lambda at: zipped(FILES, at / "tiny.zip"),
    "zip as text": lambda at: str(zipped(FILES, at / "tiny.zip")),
    "zip in capitals": lambda at: zipped(FILES, at / "TINY.ZIP"),
    "zip of ./": lambda at: zipped({f"./{name}": content for name, content in FILES.items()}, at / "tiny.zip"),
    "zip of a folder": lambda at: zipped({"models/": None, "models/tiny/": None, **DEEP}, at / "tiny.zip"),
    "zip stored": stored,
    "zip with bzip2": lambda at: zipped(FILES, at / "tiny.zip", zipfile.ZIP_BZIP2),
    "zip with lzma": lambda at: zipped(FILES, at / "tiny.zip", zipfile.ZIP_LZMA),
    "zip from a Mac": lambda at: zipped(DEEP | MAC, at / "tiny.zip"),
    "zip with other things": lambda at: zipped(FILES | BESIDE, at / "tiny.zip"),
    "zip of what transformers saved": lambda at: zipped(dict(saved()), at / "tiny.zip"),
    "files": lambda at: loose(FILES),
    "files under paths": lambda at: loose(DEEP),
    "files with other things": lambda at: loose(FILES | {"README.md": b"", "merges.txt": b""}),
    "files with a pickle": lambda at: loose(files(weights=PICKLE)),
    "a zip among open files": lambda at: {"tiny.zip": BytesIO(stored(at).read_bytes())},
    "a zip in capitals among open files": lambda at: {"TINY.ZIP": BytesIO(stored(at).read_bytes())},
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_every_source_opens_the_same_model(
    source: Callable[[Path], Source], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(unpacked))
    given = source(tmp_path)
    checkpoint = load(given)
    assert_close(logits_of(checkpoint.model), logits_of(reference()), atol=1e-5, rtol=1e-5)
    assert set(checkpoint.report.files) >= {"config.json"}
    assert len(checkpoint.report.files) == len(set(checkpoint.report.files))
    assert told(inspect(given)) == told(checkpoint.report), "a source can be read again"
    assert not list(unpacked.iterdir()), "what was unpacked is removed"


def test_a_model_outlives_its_files(tmp_path: Path) -> None:
    checkpoint = load(put(tmp_path, FILES))
    for path in tmp_path.iterdir():
        path.write_bytes(b"x" * path.stat().st_size)
    assert_close(logits_of(checkpoint.model), logits_of(reference()), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("source", "name"),
    [("folder", "tiny"), ("folder with a slash", "tiny"), ("zip", "tiny"), ("a zip among open files", "tiny")],
)
def test_a_checkpoint_is_called_by_its_folder_or_file(source: str, name: str, tmp_path: Path) -> None:
    assert load(SOURCES[source](tmp_path)).report.name == name
    assert load(SOURCES[source](tmp_path), name="another").report.name == "another"
    assert inspect(SOURCES[source](tmp_path), name="another").name == "another"


NOTHING_THERE: dict[str, Callable[[Path], Source]] = {
    "absent": lambda at: at / "absent",
    "absent zip": lambda at: at / "absent.zip",
    "empty folder": lambda at: put(at / "tiny", {}),
    "a file alone": lambda at: put(at / "tiny", {WEIGHTS: FILES[WEIGHTS]}) / WEIGHTS,
    "another file": lambda at: put(at / "tiny", {"photo.png": b"\x89PNG"}) / "photo.png",
    "no files": lambda at: {},
    "other files": lambda at: loose({"photo.png": b"\x89PNG"}),
    "two zips": lambda at: {"a.zip": BytesIO(), "b.zip": BytesIO()},
    "a name with a null": lambda at: "a\0b",
}


@pytest.mark.parametrize("source", NOTHING_THERE.values(), ids=NOTHING_THERE)
def test_a_source_without_a_checkpoint_is_told(source: Callable[[Path], Source], tmp_path: Path) -> None:
    given = source(tmp_path)
    for read in (load, inspect):
        with pytest.raises(CheckpointError) as caught:
            read(given)
        assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    "source",
    [
        "~no-such-person/model",
        "x" * 5000,
        {"x" * 300 + ".bin": BytesIO()},
        {"..": BytesIO(), "../../x.bin": BytesIO(b"x"), "/x.bin": BytesIO(b"x")},
    ],
    ids=["no home", "long path", "long name", "paths upwards"],
)
def test_names_that_no_file_can_have_are_told(source: Source) -> None:
    with pytest.raises(CheckpointError):
        load(source)


def test_files_of_two_folders_are_not_mixed() -> None:
    with pytest.raises(CheckpointError, match=r"config\.json"):
        load(loose(FILES | {"other/config.json": FILES["config.json"].replace(b"gelu", b"relu")}))
