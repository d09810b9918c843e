"""The shell: `python -m bertviz_lite COMMAND`, one module per command, on the same core as the pages.

Every error of ours ends as one sentence on stderr and exit status 2.
"""

from bertviz_lite.commands._app import app, main

__all__ = ["app", "main"]
