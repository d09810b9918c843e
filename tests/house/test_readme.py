"""The README is tested: its two commands stand where they must, its examples run, no setting is left out."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bertviz_lite.ui.state import SETTINGS

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(title: str, language: str = "bash") -> str:
    found = re.search(rf"^#+ *{title}\b[^\n]*\n.*?^```{language}\n(.*?)^```", README, re.M | re.S)
    assert found, f"the README has no heading {title} with a {language} block"
    return found.group(1).strip()


def test_run_starts_the_app_in_one_command() -> None:
    assert len(block("Run").splitlines()) == 1
    assert "requirements.txt" in block("Run")
    assert "streamlit run app.py" in block("Run")


def test_test_runs_all_tests_in_one_command_and_ci_calls_it() -> None:
    assert len(block("Test").splitlines()) == 1
    assert "pytest" in block("Test")
    assert "README.md" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize("line", [line for line in block("Shell").splitlines() if line and not line.startswith("#")])
def test_shell_examples_run(line: str) -> None:
    words = shlex.split(line, comments=True)
    assert words[:3] == ["python", "-m", "bertviz_lite"]
    result = subprocess.run([sys.executable, *words[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout


def test_attention_examples_write_what_they_say(tmp_path: Path) -> None:
    for line in block("Attention for a paper").splitlines():
        words = shlex.split(line)
        assert words[:4] == ["python", "-m", "bertviz_lite", "attention"]
        path = {**os.environ, "PYTHONPATH": str(ROOT)}
        ran = subprocess.run(
            [sys.executable, *words[1:]], cwd=tmp_path, env=path, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        assert (tmp_path / words[words.index("--out") + 1]).stat().st_size > 0


def test_notebook_example_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    code = block("Notebook", "python")
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - our own README


@pytest.mark.parametrize("name", SETTINGS)
def test_every_part_of_the_address_is_documented(name: str) -> None:
    assert f"`{name}`" in README


def test_pictures_exist() -> None:
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README)
    assert pictures
    for picture in pictures:
        assert (ROOT / picture).is_file(), picture
