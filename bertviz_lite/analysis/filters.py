"""Which pieces of a vocabulary may be predicted: special tokens, pieces inside words, upper and lower case."""

from __future__ import annotations

from typing import Literal

from bertviz_lite.tokenizer import Tokenizer

Case = Literal["any", "lower", "capital"]

_CONTINUES = "##"


def continuing_ids(tokenizer: Tokenizer) -> frozenset[int]:
    """Ids of the pieces that continue a word, spelled with ##."""
    return frozenset(
        i for i, piece in enumerate(tokenizer.pieces) if piece is not None and piece.startswith(_CONTINUES)
    )


def wrong_case_ids(tokenizer: Tokenizer, case: Case) -> frozenset[int]:
    """Ids that a choice of case leaves out; special tokens and pieces without a letter are never among them.

    Args:
        case: `lower` keeps pieces without a capital letter, `capital` those whose first letter is one.
    """
    if case == "any":
        return frozenset()
    wrong = _has_capital if case == "lower" else _begins_small
    special = tokenizer.special_ids
    return frozenset(
        i for i, piece in enumerate(tokenizer.pieces) if piece is not None and i not in special and wrong(piece)
    )


def _has_capital(piece: str) -> bool:
    return piece != piece.lower()


def _begins_small(piece: str) -> bool:
    first = piece.removeprefix(_CONTINUES)[:1]
    return first != first.upper()


__all__ = ["Case", "continuing_ids", "wrong_case_ids"]
