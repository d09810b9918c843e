"""Good files with bytes flipped, cut, put in or zeroed, by seed; and what opening them ends in."""

from __future__ import annotations

import json
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
import torch
from bounds import TookTooLong, in_time
from small_files import PICKLE, WEIGHTS, files, packed, saved, tar_of, tensors_of, zip_of

from bertviz_lite.checkpoints import inspect, load
from bertviz_lite.errors import BertvizError

KINDS = ("flip a bit", "flip some bytes", "cut short", "put in", "zero a range", "take out", "double a range")
_FIRST = 4096  # headers, names and settings stand at the start; weights are most of a file and hardly matter


@dataclass(frozen=True)
class Damage:
    """One damaged file of a checkpoint."""

    seed: int
    file: str
    kind: str
    contents: Mapping[str, bytes]

    def __str__(self) -> str:
        return f"{self.kind} in {self.file} (seed {self.seed})"


def good() -> dict[str, dict[str, bytes]]:
    """A checkpoint for every file that is to be damaged."""
    plain = files()
    pickled = {name: content for name, content in plain.items() if name != WEIGHTS}
    pickled[PICKLE] = packed(tensors_of(), PICKLE)
    fast = dict(saved())
    return {
        WEIGHTS: plain,
        PICKLE: pickled,
        "config.json": plain,
        "tokenizer.json": fast,
        "tokenizer_config.json": fast,
        "vocab.txt": plain,
        "tiny.zip": {"tiny.zip": zip_of(plain)},
        "tiny.tar": {"tiny.tar": tar_of(plain)},
        "tiny.tar.gz": {"tiny.tar.gz": tar_of(plain, ".tar.gz")},
    }


def damages(file: str, seeds: range) -> Iterator[Damage]:
    """The same files with the same damage for the same seeds."""
    contents = good()[file]
    for seed in seeds:
        kind = KINDS[seed % len(KINDS)]
        yield Damage(seed, file, kind, contents | {file: damaged(contents[file], kind, np.random.default_rng(seed))})


def damaged(content: bytes, kind: str, rng: np.random.Generator) -> bytes:
    """The content with one damage, mostly near its start or its end, where the structure is."""
    near = rng.integers(min(len(content), _FIRST))
    at = int(rng.choice([near, len(content) - 1 - near, rng.integers(len(content))]))
    length = int(rng.integers(1, 40))
    noise = rng.bytes(length)
    if kind == "flip a bit":
        return content[:at] + bytes([content[at] ^ (1 << int(rng.integers(8)))]) + content[at + 1 :]
    if kind == "cut short":
        return content[:at]
    middle = {
        "flip some bytes": noise,
        "put in": noise + content[at : at + length],
        "zero a range": bytes(length),
        "take out": b"",
        "double a range": content[at : at + length] * 2,
    }
    return content[:at] + middle[kind] + content[at + length :]


ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 3, 100, 10**6, 2**63, 10**30, 10**400, 0.5, -0.0, 1e-300, 1e300, float("nan"),
    float("inf"), "", "x", "é", "[MASK]", "\ud800", "\x00", [], {}, [1], ["a"], [[]], {"a": 1}, {"type": "x"},
    {"content": "x"}, {"content": 1}, {"id": 1},
)  # fmt: skip


def other_values(file: str, seeds: range) -> Iterator[Damage]:
    """The same checkpoints with one odd value in a JSON file, or one value gone, for the same seeds."""
    contents = good()[file]
    for seed in seeds:
        rng = np.random.default_rng(seed)
        values = json.loads(contents[file])
        places = list(_places(values))
        where, key = places[rng.integers(len(places))]
        if rng.integers(4) == 0:
            del where[key]
        else:
            where[key] = ODD_VALUES[rng.integers(len(ODD_VALUES))]
        yield Damage(seed, file, f"another value at {key!r}", contents | {file: json.dumps(values).encode()})


def _places(values: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401
    """Every (container, key) of a JSON value; of a vocabulary a few."""
    keys = list(values) if isinstance(values, dict) else range(len(values))
    for key in keys[:12]:
        yield values, key
        if isinstance(values[key], (dict, list)):
            yield from _places(values[key])


def ends_badly(damage: Damage) -> str:
    """Empty if a model that works or an error of ours comes out in time; else what came out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of odd pickles
        try:
            with in_time():
                use(damage.contents)
        except BertvizError:
            return ""
        except (Exception, TookTooLong):
            return f"{damage}: {traceback.format_exc(limit=-2)}"
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # how Rust's panics arrive
                raise
            return f"{damage}: a panic: {error}"
    return ""


def use(contents: Mapping[str, bytes]) -> None:
    """Report on a checkpoint, open it and predict."""
    with suppress(BertvizError):
        inspect({name: BytesIO(content) for name, content in contents.items()})
    checkpoint = load({name: BytesIO(content) for name, content in contents.items()})
    json.dumps(checkpoint.report.to_dict())
    checkpoint.tokenizer.encode("the cat [MASK] w1.", "sats")
    with torch.no_grad():
        logits = checkpoint.model(torch.tensor([[2, 1, 4, 3]])).logits
    assert logits.shape == (1, 4, checkpoint.config.vocab_size)
