"""What the tests of archives share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Bytes of every file that was unpacked, noted when its folder is removed; nothing may be left behind."""
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(unpacked))
    sizes: list[int] = []
    remove = shutil.rmtree

    def noted(path: str, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        sizes.extend(p.stat().st_size for p in Path(path).rglob("*") if p.is_file())
        remove(path, *args, **kwargs)

    monkeypatch.setattr(shutil, "rmtree", noted)
    yield sizes
    assert not list(unpacked.iterdir())
