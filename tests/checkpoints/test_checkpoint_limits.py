"""A few bytes that ask for a great deal cost nothing: no memory, no hang, an error of ours or a model that works."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import torch
from bounds import HAS_PEAK, in_memory, in_time
from refusal_cases import one_id
from small_files import (
    PICKLE,
    POSITIONS,
    SIZES,
    WEIGHTS,
    WORDS,
    files,
    logits_of,
    packed,
    put,
    reference,
    saved,
    tensors_of,
)
from torch.testing import assert_close

from bertviz_lite.checkpoints import Checkpoint, inspect, load
from bertviz_lite.errors import BertvizError

pytestmark = pytest.mark.skipif(not HAS_PEAK, reason="the peak of a process's memory can be set back on Linux alone")

HUGE = (10**6, 10**9, 10**12, 10**18, 10**30, 10**400, -(10**12), 1e300, "10" * 1000)
UPPER = {"hidden_size": 10**6, "num_attention_heads": 10**3, "num_hidden_layers": 10**6, "vocab_size": 10**6}
INTERMEDIATE = "bert.encoder.layer.0.intermediate.dense.weight"


def opened(folder: Path) -> Checkpoint | BertvizError:
    """What `load` ends in, in time; `inspect` too."""
    with in_time():
        with suppress(BertvizError):
            inspect(folder)
        try:
            return load(folder)
        except BertvizError as error:
            return error


@pytest.mark.parametrize("key", [*SIZES, "pad_token_id"])
def test_a_huge_size_is_refused_or_ignored(key: str, tmp_path: Path) -> None:
    with in_memory():
        for value in HUGE:
            result = opened(put(tmp_path, files(config={key: value})))
            if isinstance(result, Checkpoint):
                assert_close(logits_of(result.model), logits_of(reference()), atol=1e-5, rtol=1e-5)
                assert any(key in sentence for sentence in result.report.inferred)
            else:
                assert key in str(result)


def test_all_sizes_huge_together(tmp_path: Path) -> None:
    with in_memory():
        opened(put(tmp_path, files(config=UPPER)))


@pytest.mark.parametrize(
    ("key", "tensor"), [("max_position_embeddings", POSITIONS), ("intermediate_size", INTERMEDIATE)]
)
def test_a_huge_size_that_no_tensor_denies(key: str, tensor: str, tmp_path: Path) -> None:
    tensors = {name: t for name, t in tensors_of().items() if name != tensor}
    with in_memory():
        for value in (10**6, 10**9, 10**12, 10**18):
            assert isinstance(opened(put(tmp_path, files(tensors, config={key: value}))), BertvizError)


@pytest.mark.parametrize("value", [2**63, 10**30, 10**400])
def test_a_size_past_64_bits_that_no_tensor_denies(value: int, tmp_path: Path) -> None:
    tensors = {name: t for name, t in tensors_of().items() if name != POSITIONS}
    folder = put(tmp_path, files(tensors, config={"max_position_embeddings": value}))
    assert isinstance(opened(folder), BertvizError)


@pytest.mark.parametrize("key", ["num_attention_heads", "hidden_size"])
def test_a_number_of_400_digits_fills_no_page(key: str, tmp_path: Path) -> None:
    result = opened(put(tmp_path, files(config={key: 10**400})))
    said = " ".join(result.report.inferred) if isinstance(result, Checkpoint) else str(result)
    assert key in said
    assert len(said) < 300


def pickle_of(content: Mapping[str, Any]) -> dict[str, bytes]:
    return {n: c for n, c in files().items() if n != WEIGHTS} | {PICKLE: packed(content, PICKLE)}


def views_past_their_storage() -> dict[str, bytes]:
    """One number that claims to be an embedding of 256 MB."""
    return pickle_of({**tensors_of(), WORDS: torch.ones(1, 1).expand(2_000_000, 32)})


def one_storage_many_times() -> dict[str, bytes]:
    """A network of 40 layers whose every matrix is a view of the same 4 MB: 480 MB once each has a copy."""
    values = torch.ones(2048, 512)
    tensors = {"cls.predictions.transform.dense.weight": values[:512]}
    for n in range(40):
        layer = f"bert.encoder.layer.{n}."
        tensors |= {f"{layer}attention.self.{m}.weight": values[:512] for m in ("query", "key", "value")}
        tensors |= {f"{layer}attention.output.dense.weight": values[:512], f"{layer}intermediate.dense.weight": values}
        tensors |= {f"{layer}output.dense.weight": values.view(512, 2048)}
    with torch.device("meta"):
        needed = reference.__wrapped__(hidden_size=512, intermediate_size=2048, num_hidden_layers=40).state_dict()
    return pickle_of({n: tensors.get(n, values.flatten()[: t.numel()].view(t.shape)) for n, t in needed.items()})


def deflated() -> dict[str, bytes]:
    """A pickle's zip packed anew, so that 1 MB on disk holds 240 MB of zeros; torch itself never packs."""
    source, target = BytesIO(packed({**tensors_of(), "zeros": torch.zeros(60_000_000)}, PICKLE)), BytesIO()
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new:
        for member in old.infolist():
            new.writestr(member.filename, old.read(member))
    return {n: c for n, c in files().items() if n != WEIGHTS} | {PICKLE: target.getvalue()}


def dictionary_in_itself() -> dict[str, bytes]:
    content: dict[str, Any] = {}
    content["model"] = content
    return pickle_of(content)


def empty_layers() -> dict[str, bytes]:
    """4,000 tensors of no size, each the only one of its layer."""
    return files(tensors_of() | {f"bert.encoder.layer.{n}.x": torch.empty(0) for n in range(4_000)})


def a_far_id() -> dict[str, bytes]:
    return files() | {"tokenizer.json": one_id(50_000_000)}


def long_prefix() -> dict[str, bytes]:
    return files(tensors_of() | {"module." * 400_000 + "x": torch.ones(1)})


HOSTILE = (
    views_past_their_storage,
    one_storage_many_times,
    deflated,
    dictionary_in_itself,
    empty_layers,
    a_far_id,
    long_prefix,
)


@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
def test_a_small_file_that_asks_for_much_costs_little(make: Callable[[], dict[str, bytes]], tmp_path: Path) -> None:
    contents = make()
    assert sum(len(content) for content in contents.values()) < 8 << 20
    with in_memory():
        opened(put(tmp_path, contents))


def test_opening_a_good_checkpoint_stays_within_the_bounds(tmp_path: Path) -> None:
    with in_memory():
        assert isinstance(opened(put(tmp_path, saved())), Checkpoint)
