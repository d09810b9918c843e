"""Reads what figures/pack.py writes, by its description alone."""

from __future__ import annotations

import json
import struct
import zlib
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
        content = data[place["start"] : place["start"] + place["bytes"]]
        whole = zlib.decompress(content) if place["deflated"] else content
        arrays[name] = np.frombuffer(whole, dtype).reshape(place["shape"])
    return header, arrays
