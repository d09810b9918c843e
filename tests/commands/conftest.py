"""A small checkpoint whose answers are known by hand."""

from __future__ import annotations

import pytest
from shell_runs import write_checkpoint


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_checkpoint(tmp_path_factory.mktemp("checkpoints") / "small-one"))
