"""Shared by all tests: one thread a process (pytest-xdist runs several), and the bundled folder."""

from pathlib import Path

import pytest
import torch

torch.set_num_threads(1)

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def bundled_folder() -> Path:
    return ROOT / "bertviz_lite" / "bundled" / "english-mini"
