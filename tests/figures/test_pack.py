"""Expected values: the arrays that went in, read back by another reader."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from unpacked import unpack

from bertviz_lite.figures.pack import pack


@given(
    st.dictionaries(st.text(max_size=30), st.text(max_size=30) | st.integers(-5, 10**9), max_size=4),
    st.lists(st.tuples(st.sampled_from(["uint8", "float16", "float32"]), st.integers(0, 70)), max_size=4),
)
def test_what_goes_in_comes_out(header: dict[str, str | int], kinds: list[tuple[str, int]]) -> None:
    header.pop("arrays", None)
    dice = np.random.default_rng(0)
    arrays = {f"array {i}": dice.integers(0, 200, (n, 2)).astype(dtype) for i, (dtype, n) in enumerate(kinds)}
    data = pack(header, arrays)
    found, read = unpack(data)
    places = found.pop("arrays")
    assert found == header
    assert list(read) == list(arrays)
    for name, array in arrays.items():
        assert_array_equal(read[name], array)
        assert read[name].dtype == array.dtype
        assert places[name]["start"] % 8 == 0, "a view reads wider numbers at their own step only"
    assert len(data) % 8 == 0


def test_bytes_are_laid_out_as_described() -> None:
    data = pack({"é": 1}, {"a": np.array([1.5], np.float32)})
    (length,) = struct.unpack_from("<I", data)
    assert data[4 : 4 + length].decode().startswith('{"é": 1')
    assert struct.unpack_from("<f", data, -(-(4 + length) // 8) * 8) == (1.5,)


def test_large_arrays_of_bytes_are_deflated() -> None:
    little, much = np.zeros(200, np.uint8), np.tile(np.arange(250, dtype=np.uint8), 400)
    data = pack({}, {"little": little, "much": much})
    header, read = unpack(data)
    assert [header["arrays"][name]["deflated"] for name in ("little", "much")] == [False, True]
    assert_array_equal(read["little"], little)
    assert_array_equal(read["much"], much)
    assert len(data) < much.nbytes / 10


def test_what_json_cannot_say_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        pack({"share": float("nan")}, {})
