""" "How it was trained" and "Train": one training example, and runs of a visitor's own."""

from bertviz_lite.ui.training import end, folders, job, masking, plan, text, view

__all__ = ["end", "folders", "job", "masking", "plan", "text", "view"]
