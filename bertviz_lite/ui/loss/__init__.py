"""The views of the Token loss page: a sentence, a minimal pair, a file."""

from bertviz_lite.ui.loss import file, job, metrics, pair, sentence

__all__ = ["file", "job", "metrics", "pair", "sentence"]
