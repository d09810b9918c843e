"""Words from outside (a sentence, a piece, the name of a model or file) as Markdown shows them letter for letter.

Streamlit reads Markdown in texts, labels and messages: unescaped, a name could draw a formula or fetch a picture.
"""

from __future__ import annotations

import re


def plain(text: object) -> str:
    """The text with the marks of Markdown escaped, those of Streamlit's own colours, icons and formulas too."""
    return re.sub(r"([\\`*_{}\[\]()<>#!|$~:&])", r"\\\1", str(text))


def short(text: str, most: int) -> str:
    """The text, its end left out where it has more than so many characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip(' ,·')}…"


__all__ = ["plain", "short"]
