"""How much one checkpoint may take, checked on what files declare before anything is written or allocated."""

from __future__ import annotations

import os
import sys

MAX_GB = "BERTVIZ_MAX_GB"

_DEFAULT_GB = 8.0
MOST_MEMBERS = 2_000  # files in an archive
MOST_RATIO = 100  # trained weights hardly shrink; text shrinks to a fifth
RATIO_FREE_BYTES = 64 << 20
MOST_LAYERS = 512
MOST_NAME = 1_000  # characters of a tensor's name
MOST_IDS = 10_000_000  # of a vocabulary


def max_bytes() -> int:
    """Bytes that the weights of one checkpoint may take in float32; the server's owner sets BERTVIZ_MAX_GB."""
    try:
        gigabytes = float(os.environ.get(MAX_GB, _DEFAULT_GB))
    except ValueError:
        gigabytes = _DEFAULT_GB
    usable = gigabytes if gigabytes > 0 else _DEFAULT_GB  # NaN is not above 0 either
    return int(usable * 1e9) if usable < sys.maxsize / 1e9 else sys.maxsize


__all__ = [
    "MAX_GB",
    "MOST_IDS",
    "MOST_LAYERS",
    "MOST_MEMBERS",
    "MOST_NAME",
    "MOST_RATIO",
    "RATIO_FREE_BYTES",
    "max_bytes",
]
