"""A map as it is shown: of tokens or whole words, one sentence looking at the other, without [CLS], [SEP] or marks.

What is left out is told row by row, and a row that had nothing else is told too: never a division by nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bertviz_lite.analysis.units import Flags, Floats, Kind, Units, merge, token_units, word_units
from bertviz_lite.errors import InputError, TextError
from bertviz_lite.tokenizer import Encoding

Pairing = Literal["a_to_a", "a_to_b", "b_to_a", "b_to_b"]
# Segment of the units that look, and of those looked at.
PAIRINGS: dict[Pairing, tuple[int, int]] = {"a_to_a": (0, 0), "a_to_b": (0, 1), "b_to_a": (1, 0), "b_to_b": (1, 1)}

_NOTHING = 1e-6  # of a row's 1: less is what float32 leaves of a row that went elsewhere whole


@dataclass(frozen=True)
class MapChoice:
    """How a map is read.

    Attributes:
        unit: `words` merges the pieces of a word: rows averaged, columns summed.
        without: kinds of tokens whose rows and columns are left out.
        pairing: which sentence looks at which, [CLS] counted to the first; None for all at all.
        renormalised: each row divided by what is left of it, so that rows sum to 1 again.
    """

    unit: Literal["tokens", "words"] = "tokens"
    without: tuple[Kind, ...] = ()
    pairing: Pairing | None = None
    renormalised: bool = False


@dataclass(frozen=True)
class ShownMap:
    """One map, or many, as chosen: R rows by C columns.

    Attributes:
        weights: (..., R, C). Rows sum to 1 - gone_prob, or to 1 where renormalised; bare rows are zero then.
        rows, columns: what they stand for; they differ where one sentence looks at the other.
        gone_prob: (..., R) attention of each row on what is not shown.
        bare: (..., R) rows with nothing left: less than a millionth of their attention is on what is shown.
    """

    weights: Floats
    rows: Units
    columns: Units
    gone_prob: Floats
    bare: Flags


def shown_map(weights: Floats, encoding: Encoding, choice: MapChoice = MapChoice()) -> ShownMap:
    """Read maps of a text in one way.

    Args:
        weights: (..., T, T) probabilities, queries by keys; rows sum to 1.

    Raises:
        InputError: the maps are not those of this text.
        TextError: a pairing is asked for, and there is no second sentence.
    """
    units = token_units(encoding) if choice.unit == "tokens" else word_units(encoding)
    merged = merge(weights, units)  # (..., N, N)
    keep = ~units.of_kind(choice.without)
    rows, columns = keep, keep
    if choice.pairing is not None:
        between = pair_mask(units, choice.pairing)  # (N, N)
        rows, columns = keep & between.any(1), keep & between.any(0)
    left: Floats = merged[..., rows, :][..., columns]
    sums = left.sum(-1, dtype=np.float64)  # (..., R)
    bare: Flags = sums < _NOTHING
    if choice.renormalised:
        left = np.where(bare[..., None], 0, left / np.where(bare, 1, sums)[..., None]).astype(np.float32)
    gone: Floats = np.clip(1 - sums, 0, 1).astype(np.float32)
    return ShownMap(left, units.where(rows), units.where(columns), gone, bare)


def pair_mask(units: Units, pairing: Pairing) -> Flags:
    """(N, N) the cells of a map at which one sentence looks at the other, or at itself, by segment.

    Raises:
        InputError: there is no such pairing.
        TextError: the text has no second sentence.
    """
    if pairing not in PAIRINGS:
        raise InputError(f"There is no pairing {pairing!r}; the pairings are {', '.join(PAIRINGS)}.")
    if not (units.segments == 1).any():
        raise TextError("There is only one sentence here: give a second one to see which looks at which.")
    looking, looked_at = PAIRINGS[pairing]
    mask: NDArray[np.bool_] = np.outer(units.segments == looking, units.segments == looked_at)
    return mask


__all__ = ["PAIRINGS", "MapChoice", "Pairing", "ShownMap", "pair_mask", "shown_map"]
