"""A corpus as token ids on disk, memory-mapped: tokenised once, then read at any place without loading it.

About one block of text in a hundred (a document, or ten lines of one) is held out of training, in a part of its own.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertviz_lite.errors import TrainingError
from bertviz_lite.tokenizer import Tokenizer
from bertviz_lite.training._files import replace_with
from bertviz_lite.training.corpus import Source

_FORMAT = 1
_PARTS = ("train", "held_out")
_CHUNK_BLOCKS = 2_000
HELD_OUT_EVERY = 100
_FIRST_HELD_OUT = 10  # early enough that a text of a few pages has one


@dataclass(frozen=True)
class SourceRange:
    """The sentences `first` to `end` (exclusive) of a part are those of one source."""

    name: str
    first: int
    end: int


@dataclass(frozen=True)
class Part:
    """The training text or the held-out text.

    Attributes:
        tokens: (N,) ids, all sentences one after the other, no special tokens.
        starts: (S + 1,) where each of S sentences starts in `tokens`; the last entry is N.
        sources: which sentences come from where.
    """

    tokens: NDArray[np.unsignedinteger]
    starts: NDArray[np.int64]
    sources: tuple[SourceRange, ...]


@dataclass(frozen=True)
class TokenStore:
    """A tokenised corpus.

    Attributes:
        train, held_out: its two parts.
        counts: (sources, V) how often each id occurs in the training text.
    """

    train: Part
    held_out: Part
    counts: NDArray[np.int64]

    @property
    def uniform_nats(self) -> float:
        """Loss of guessing blindly, ln V."""
        return math.log(self.counts.shape[1])

    @property
    def unigram_nats(self) -> float:
        """Loss of knowing nothing but how frequent each piece is: the entropy of the training text's pieces."""
        shares = self.counts.sum(0) / self.counts.sum()
        shares = shares[shares > 0]
        return float(-(shares * np.log(shares)).sum())


def open_store(
    root: Path,
    sources: Sequence[Source],
    tokenizer: Tokenizer,
    progress: Callable[[str], None] = lambda _: None,
    *,
    held_out_every: int = HELD_OUT_EVERY,
) -> TokenStore:
    """The store of this corpus and tokenizer below `root`; built first where there is none.

    Args:
        progress: called with a sentence while the store is built.
        held_out_every: of so many blocks one is held out.

    Raises:
        TrainingError: a file cannot be read, the store cannot be written, or the text holds no words.
    """
    known = [
        [_FORMAT, held_out_every, tokenizer.to_files()["tokenizer.json"]],
        *([s.name, s.digest()] for s in sources),
    ]
    folder = root / hashlib.sha256(json.dumps(known).encode()).hexdigest()[:16]
    if not (folder / "store.json").is_file():
        replace_with(folder, lambda fresh: _build(fresh, sources, tokenizer, progress, held_out_every))
    return _read(folder)


def _read(folder: Path) -> TokenStore:
    about = json.loads((folder / "store.json").read_text(encoding="utf-8"))
    parts = {
        part: Part(
            _mapped(folder / f"{part}.tokens", about["dtype"]),
            _mapped(folder / f"{part}.starts", "int64"),
            tuple(SourceRange(**entry) for entry in about[part]),
        )
        for part in _PARTS
    }
    return TokenStore(**parts, counts=np.load(folder / "counts.npy"))


def _mapped(file: Path, dtype: str) -> NDArray[Any]:
    return np.memmap(file, dtype, "r") if file.stat().st_size else np.empty(0, dtype)


def _build(
    folder: Path, sources: Sequence[Source], tokenizer: Tokenizer, progress: Callable[[str], None], held_out_every: int
) -> None:
    folder.mkdir()
    dtype = np.dtype("uint16" if len(tokenizer) <= 2**16 else "uint32")
    with ExitStack() as files:
        writers = [files.enter_context(_PartWriter(folder, part, dtype)) for part in _PARTS]
        counts = _write_parts(writers, sources, tokenizer, progress, held_out_every)
    if not writers[0].n_tokens:
        raise TrainingError("The text holds no words to train on.")
    np.save(folder / "counts.npy", counts)
    about = {"dtype": dtype.name, **{w.part: [asdict(r) for r in w.ranges] for w in writers}}
    (folder / "store.json").write_text(json.dumps(about), encoding="utf-8")


def _write_parts(
    writers: Sequence[_PartWriter],
    sources: Sequence[Source],
    tokenizer: Tokenizer,
    progress: Callable[[str], None],
    held_out_every: int,
) -> NDArray[np.int64]:
    """Write the training text and the held-out text; returns the counts of the former, (sources, V)."""
    counts = np.zeros((len(sources), len(tokenizer)), np.int64)
    for row, source in enumerate(sources):
        blocks = _flagged(source, held_out_every)
        while chunk := list(islice(blocks, _CHUNK_BLOCKS)):
            for writer, held_out in zip(writers, (False, True), strict=True):
                ids = tokenizer.ids_of([sentence for block, held in chunk if held == held_out for sentence in block])
                flat = writer.add([sentence for sentence in ids if sentence])
                if not held_out:
                    counts[row] += np.bincount(flat, minlength=len(tokenizer))
            progress(f"Turning {source.name} into tokens: {sum(w.n_tokens for w in writers) / 1e6:.1f} M so far.")
        for writer in writers:
            writer.end_source(source.name)
    return counts


def _flagged(source: Source, held_out_every: int) -> Iterator[tuple[list[str], bool]]:
    first = min(_FIRST_HELD_OUT, held_out_every // 2)
    for i, block in enumerate(source.blocks()):
        yield block, i % held_out_every == first


class _PartWriter:
    def __init__(self, folder: Path, part: str, dtype: np.dtype[Any]) -> None:
        self.part, self.dtype = part, dtype
        self.ranges: list[SourceRange] = []
        self.n_tokens = self.n_sentences = 0
        self._tokens = (folder / f"{part}.tokens").open("wb")
        self._starts = (folder / f"{part}.starts").open("wb")
        self._starts.write(np.zeros(1, np.int64).tobytes())

    def add(self, sentences: list[list[int]]) -> NDArray[Any]:
        flat = np.array([i for sentence in sentences for i in sentence], self.dtype)
        lengths = np.array([len(sentence) for sentence in sentences], np.int64)
        self._tokens.write(flat.tobytes())
        self._starts.write((self.n_tokens + lengths.cumsum()).tobytes())
        self.n_tokens += len(flat)
        self.n_sentences += len(sentences)
        return flat

    def end_source(self, name: str) -> None:
        self.ranges.append(SourceRange(name, self.ranges[-1].end if self.ranges else 0, self.n_sentences))

    def __enter__(self) -> _PartWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._tokens.close()
        self._starts.close()


__all__ = ["HELD_OUT_EVERY", "Part", "SourceRange", "TokenStore", "open_store"]
