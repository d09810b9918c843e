"""Runs the JavaScript tests of this folder (*.test.mjs), which need node but no package."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

TESTS = sorted(Path(__file__).parent.glob("*.test.mjs"))


def test_there_are_tests_of_the_views() -> None:
    assert TESTS


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name)
def test_view(path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip(
            "node is not installed; the JavaScript of the views can only be tested with it (version 20 or later)"
        )
    result = subprocess.run(
        [node, "--test", "--test-reporter=spec", str(path)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"^\S* ?pass [1-9]", result.stdout, re.M), f"no test ran:\n{result.stdout}"
