"""The JavaScript and the styles of the views, read once; a view of several modules is joined into one.

Streamlit and an exported file take one module each, so that nothing has to be fetched; node's tests import the parts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files

_VIEWS = files("bertviz_lite.figures") / "views"
_IMPORT = re.compile(r"^import .* from \"\./.*\";\n", re.M)
_EXPORT = re.compile(r"^export (?!default)", re.M)
_COMMENT = re.compile(r"^\s*//.*\n", re.M)
_INDENT = re.compile(r"^ +", re.M)


def read(name: str) -> str:
    """The text of a file among the views."""
    return (_VIEWS / name).read_text(encoding="utf-8")


def joined(folder: str, modules: Sequence[str]) -> str:
    """Modules of a folder as one, without what only a reader needs: comments of their own line, and indents.

    Args:
        modules: names without `.js`, each after those that it imports. No two may declare the same name, and none may
            hold a string over several lines.
    """
    whole = "".join(read(f"{folder}/{module}.js") for module in modules)
    for pattern in (_IMPORT, _EXPORT, _COMMENT, _INDENT):
        whole = pattern.sub("", whole)
    return whole


__all__ = ["joined", "read"]
