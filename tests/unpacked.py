"""Reads what figures/pack.py writes, by its description alone."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays."""
    (length,) = struct.unpack_from("<I", data)
    header = json.loads(data[4 : 4 + length].decode("utf-8"))
    arrays = {}
    for name, place in header["arrays"].items():
        dtype = np.dtype(place["dtype"]).newbyteorder("<")
        count = int(np.prod(place["shape"]))
        arrays[name] = np.frombuffer(data, dtype, count, place["start"]).reshape(place["shape"])
    return header, arrays
