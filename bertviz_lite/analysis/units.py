"""What the rows and columns of a map stand for: tokens, or whole words with the pieces of a word merged."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bertviz_lite.errors import InputError
from bertviz_lite.tokenizer import Encoding

Kind = Literal["cls", "sep", "punctuation"]
KINDS: tuple[Kind, ...] = ("cls", "sep", "punctuation")

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Units:
    """N tokens or words in reading order; all fields have N entries.

    Attributes:
        labels: how each is shown: a token by its piece, a word as it was typed, a hidden one by its masks.
        positions: the tokens of each.
        ids: the vocabulary ids of those tokens; two units with the same ids are the same token, or word.
        segments: 0 for the first text, 1 for the second.
        cls: the special token that opens the text, [CLS].
        sep: all other special tokens that encoding added, [SEP]; those that were typed are words like others.
        punctuation: nothing but punctuation marks and signs, such as . or $.
    """

    labels: tuple[str, ...]
    positions: tuple[tuple[int, ...], ...]
    ids: tuple[tuple[int, ...], ...]
    segments: NDArray[np.int64]
    cls: Flags
    sep: Flags
    punctuation: Flags

    def __len__(self) -> int:
        return len(self.labels)

    def of_kind(self, kinds: Sequence[Kind]) -> Flags:
        """(N,) whether a unit is of one of these kinds."""
        flags: dict[Kind, Flags] = {"cls": self.cls, "sep": self.sep, "punctuation": self.punctuation}
        found = np.zeros(len(self), bool)
        for kind in kinds:
            found |= flags[kind]
        return found

    def twins(self) -> Flags:
        """(N, N) whether two units are the same token or word at different places, [CLS] and [SEP] aside."""
        _, number = np.unique([" ".join(map(str, ids)) for ids in self.ids], return_inverse=True)
        same: Flags = (number[:, None] == number) & ~np.eye(len(self), dtype=bool)
        return same & ~self.of_kind(("cls", "sep"))

    def where(self, keep: Flags) -> Units:
        """The units of which (N,) flags are set."""
        at = np.flatnonzero(keep)
        return Units(
            labels=tuple(self.labels[i] for i in at),
            positions=tuple(self.positions[i] for i in at),
            ids=tuple(self.ids[i] for i in at),
            segments=self.segments[at],
            cls=self.cls[at],
            sep=self.sep[at],
            punctuation=self.punctuation[at],
        )


def token_units(encoding: Encoding) -> Units:
    """Every token by itself."""
    return _units(encoding, [(i,) for i in range(len(encoding))], encoding.pieces)


def word_units(encoding: Encoding) -> Units:
    """The pieces of each word together; [CLS] and [SEP] by themselves. Words are the tokenizer's."""
    words: list[tuple[int, ...]] = []
    for i, word in enumerate(encoding.word_ids):
        if words and word is not None and word == encoding.word_ids[i - 1]:
            words[-1] += (i,)
        else:
            words.append((i,))
    return _units(encoding, words, [_word_label(encoding, positions) for positions in words])


def merge(weights: Floats, units: Units) -> Floats:
    """Maps of tokens as maps of units: columns of a unit are summed, its rows averaged. Rows still sum to 1.

    Args:
        weights: (..., T, T).

    Returns:
        (..., N, N).

    Raises:
        InputError: the units are not those of all the map's tokens.
    """
    n_tokens = sum(map(len, units.positions))
    if weights.ndim < 2 or weights.shape[-2:] != (n_tokens, n_tokens):
        raise InputError(f"A map of shape {weights.shape} is not one of {n_tokens} tokens by {n_tokens}.")
    if len(units) == n_tokens:
        return weights
    starts = [positions[0] for positions in units.positions]
    sizes = np.array([len(positions) for positions in units.positions])
    summed = np.add.reduceat(weights, starts, -1, np.float64)  # (..., T, N)
    merged: Floats = (np.add.reduceat(summed, starts, -2) / sizes[:, None]).astype(np.float32)
    return merged


def _units(encoding: Encoding, positions: Sequence[tuple[int, ...]], labels: Sequence[str]) -> Units:
    firsts = [at[0] for at in positions]
    special = np.array([encoding.special_mask[i] for i in firsts])
    opens = np.array(firsts) == 0
    return Units(
        labels=tuple(labels),
        positions=tuple(positions),
        ids=tuple(tuple(encoding.ids[i] for i in at) for at in positions),
        segments=np.array([encoding.segment_ids[i] for i in firsts]),
        cls=special & opens,
        sep=special & ~opens,
        punctuation=np.array([all(_is_punctuation(encoding, i) for i in at) for at in positions]),
    )


def _word_label(encoding: Encoding, positions: tuple[int, ...]) -> str:
    word = encoding.word_ids[positions[0]]
    hidden = any(encoding.ids[i] != encoding.typed_ids[i] for i in positions)
    return " ".join(encoding.pieces[i] for i in positions) if word is None or hidden else encoding.word_text(word)


def _is_punctuation(encoding: Encoding, position: int) -> bool:
    piece = encoding.pieces[position]
    marks = piece.removeprefix("##") or piece
    return not encoding.special_mask[position] and all(unicodedata.category(mark)[0] in "PS" for mark in marks)


__all__ = ["KINDS", "Kind", "Units", "merge", "token_units", "word_units"]
