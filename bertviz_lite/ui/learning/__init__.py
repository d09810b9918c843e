""" "Watch it learn": one model at the moments of its training."""

from bertviz_lite.ui.learning import moments, strips, view

__all__ = ["moments", "strips", "view"]
