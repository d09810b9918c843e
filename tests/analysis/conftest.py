"""The bundled model, read by us and by transformers, once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from outside import Outside

import bertviz_lite


@pytest.fixture(scope="session")
def bundled(bundled_folder: Path) -> bertviz_lite.Checkpoint:
    return bertviz_lite.load(bundled_folder)


@pytest.fixture(scope="session")
def outside(bundled_folder: Path) -> Outside:
    return Outside(bundled_folder)
