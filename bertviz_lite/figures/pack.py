"""Arrays and their names as one run of bytes for a view in the browser: a JSON header, then the arrays as they are.

A weight as text takes up to twenty bytes, here one, two or four. views/attention/pack.js reads what is written here.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.uint8] | NDArray[np.float16] | NDArray[np.float32]

_STEP = 8  # bytes: where an array may begin
_LARGE = 16_384  # bytes from which deflating is worth its milliseconds


def pack(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """Four bytes with the length of the header (little end first), the header in UTF-8, then each array.

    Args:
        header: what JSON can say; `arrays` is added: each array's dtype, shape, first byte, how many bytes it takes,
            and whether these are deflated (zlib), as large arrays of bytes are: attention is mostly little.
        arrays: uint8, float16 or float32.
    """
    written = {name: _written(array) for name, array in arrays.items()}
    places: dict[str, dict[str, Any]] = {
        name: {
            "dtype": array.dtype.name,
            "shape": array.shape,
            "start": 0,
            "bytes": len(written[name]),
            "deflated": _is_deflated(array),
        }
        for name, array in arrays.items()
    }
    head = _header(header, places)
    while True:  # the starts are part of the header, whose length moves the starts
        start = _after(4 + len(head))
        for name, content in written.items():
            places[name]["start"] = start
            start = _after(start + len(content))
        if len(longer := _header(header, places)) == len(head):
            break
        head = longer
    packed = bytearray(start)
    packed[:4] = len(longer).to_bytes(4, "little")
    packed[4 : 4 + len(longer)] = longer
    for name, content in written.items():
        at = places[name]["start"]
        packed[at : at + len(content)] = content
    return bytes(packed)


def _is_deflated(array: Array) -> bool:
    return array.dtype == np.uint8 and array.nbytes >= _LARGE


def _written(array: Array) -> bytes:
    content = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return zlib.compress(content, level=1) if _is_deflated(array) else content


def _header(header: Mapping[str, Any], places: Mapping[str, Any]) -> bytes:
    return json.dumps({**header, "arrays": places}, allow_nan=False, ensure_ascii=False).encode()


def _after(at: int) -> int:
    return -(-at // _STEP) * _STEP


__all__ = ["Array", "pack"]
