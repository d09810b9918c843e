"""Shared by all tests: one thread a process (pytest-xdist runs several), and the bundled model, by us and by others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

import bertviz_lite

if TYPE_CHECKING:
    from outside import Outside

torch.set_num_threads(1)

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def bundled_folder() -> Path:
    return ROOT / "bertviz_lite" / "bundled" / "english-mini"


@pytest.fixture(scope="session")
def bundled(bundled_folder: Path) -> bertviz_lite.Checkpoint:
    return bertviz_lite.load(bundled_folder)


@pytest.fixture(scope="session")
def outside(bundled_folder: Path) -> Outside:
    from outside import Outside  # noqa: PLC0415 - transformers takes seconds, and most tests do without it

    return Outside(bundled_folder)
