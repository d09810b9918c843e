"""The rules of the house: which room may call which, what each module shows, where things stand."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
from pathlib import Path

import pytest

import bertviz_lite

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "bertviz_lite"

# From the ground up: a room may call those before it, and itself.
ROOMS = (
    ("errors", "_version", "bundled"),
    ("config", "texts"),
    ("_inputs", "_tokenizer_files"),
    ("model", "tokenizer"),
    ("checkpoints",),
    ("training",),
    ("analysis",),
    ("figures",),
    ("notebook",),
    ("ui", "commands"),
)
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}
MODULES = sorted(p for p in PACKAGE.rglob("*.py"))
PAGES = [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))]


def room_of(module: str) -> str:
    return module.split(".")[1]


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            assert node.module is not None
            found.add(node.module)
            # "from bertviz_lite.ui import state" names a module too
            found |= {f"{node.module}.{alias.name}" for alias in node.names if node.module == "bertviz_lite"}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_arrows_point_down(path: Path) -> None:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    if parts[0] in ("__init__", "__main__"):
        return  # the front doors may call anything
    own = parts[0]
    assert own in LEVEL, f"{own} is in no room of ROOMS"
    for module in imports(path):
        if module.startswith("bertviz_lite."):
            other = room_of(module)
            assert other == own or LEVEL[other] < LEVEL[own], f"{own} must not call {other}"
        assert module != "bertviz_lite", "a room calls rooms, not the front door"


@pytest.mark.parametrize("path", [*MODULES, *PAGES], ids=lambda p: str(p.relative_to(ROOT)))
def test_outside_packages_stay_in_their_rooms(path: Path) -> None:
    allowed = {
        "streamlit": ("ui",),
        "plotly": ("figures",),
        "matplotlib": ("figures",),
        "typer": ("commands",),
        "transformers": (),
    }
    room = path.relative_to(PACKAGE).parts[0] if path.is_relative_to(PACKAGE) else "page"
    for module in imports(path):
        package = module.split(".")[0]
        if package in allowed:
            is_page = room == "page" and package == "streamlit"
            assert is_page or room in allowed[package], f"{package} does not belong in {room}"


def module_names() -> list[str]:
    names = [m.name for m in pkgutil.walk_packages([str(PACKAGE)], "bertviz_lite.") if not m.name.endswith("__main__")]
    return ["bertviz_lite", *names]


@pytest.mark.parametrize("name", module_names())
def test_all_names_every_public_definition(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__file__ is not None
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    defined = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    public = {n for n in defined if not n.startswith("_")}
    assert public <= set(module.__all__), "public names that __all__ lacks"
    assert list(module.__all__) == sorted(module.__all__, key=lambda n: (not n.isupper(), n[0].islower(), n))
    for exported in module.__all__:
        assert hasattr(module, exported)


def test_the_fixed_names_are_exported() -> None:
    assert {"BERTConfig", "BERTModel", "BERTForMaskedLM", "MaskedLMOutput", "load"} <= set(bertviz_lite.__all__)


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_pages_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 120


def test_nothing_else_stands_at_the_top() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    top = {name.split("/")[0] for name in tracked if name}
    rooms = {"app.py", "requirements.txt", "README.md", "pyproject.toml", "LICENSE", "bertviz_lite", "pages", "tests"}
    assert top <= rooms | {".ci", ".streamlit", ".gitignore"}


def test_no_view_calls_out() -> None:
    for path in [*PACKAGE.rglob("*.js"), *PACKAGE.rglob("*.css"), *PACKAGE.rglob("*.html")]:
        text = path.read_text(encoding="utf-8")
        for named in ("http://www.w3.org/2000/svg", "https://arxiv.org/abs/"):  # a name; papers, to be pressed
            text = text.replace(named, "")
        assert "http:" not in text, path
        assert "https:" not in text, path
