"""Where commands print to."""

from __future__ import annotations

import sys

from rich.console import Console

_PIPE_WIDTH = 200  # into a file or a pipe: wide enough that no name is cut


def console() -> Console:
    """A console as wide as the terminal, or wide where there is none."""
    return Console(width=None if sys.stdout is not None and sys.stdout.isatty() else _PIPE_WIDTH)


__all__ = ["console"]
