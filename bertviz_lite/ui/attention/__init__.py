"""The views of the Attention page."""

from bertviz_lite.ui.attention import answers, files, map, views

__all__ = ["answers", "files", "map", "views"]
