"""The views of "Fill the mask"."""

from bertviz_lite.ui.fill import contrast, tables, views, words

__all__ = ["contrast", "tables", "views", "words"]
