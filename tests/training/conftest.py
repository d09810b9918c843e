"""A small corpus for the tests of training."""

from pathlib import Path

import pytest
from small_texts import write_corpus


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("text") / "corpus")
