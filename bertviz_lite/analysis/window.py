"""The part of a long text that a model can read: as many whole words around a mask as fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bertviz_lite.analysis.predictions import slots
from bertviz_lite.errors import TextError
from bertviz_lite.tokenizer import Encoding


@dataclass(frozen=True)
class Window:
    """A part of a text, in the order of the text, [CLS] and [SEP] kept.

    Attributes:
        encoding: what the model reads; its words keep the numbers they have in the whole text.
        kept: positions in the whole text of the tokens of `encoding`.
        n_tokens: of the whole text.
    """

    encoding: Encoding
    kept: tuple[int, ...]
    n_tokens: int

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out."""
        return len(self.kept) == self.n_tokens

    @property
    def left_out(self) -> frozenset[int]:
        """Positions in the whole text that the model does not read."""
        return frozenset(range(self.n_tokens)) - set(self.kept)

    def slot_at(self, position: int) -> int:
        """Which masked place of `encoding` begins at a position of the whole text; see `slots`."""
        return [self.kept[positions[0]] for positions in slots(self.encoding)].index(position)


def window(encoding: Encoding, limit: int, *, at: int | None = None, room: int = 0) -> Window:
    """Cut a text to what fits, around one of its masks and as many of the masks after it as fit with it.

    Args:
        limit: how many tokens the model reads, [CLS] and [SEP] included.
        at: the token to read around; the first mask, else the beginning, if left out.
        room: tokens to keep free, for a word that is put in and has more pieces than the masks it replaces.

    Raises:
        TextError: not even the word at `at` fits.
    """
    if len(encoding) + room <= limit:
        return Window(encoding, tuple(range(len(encoding))), len(encoding))
    special = {i for i, is_special in enumerate(encoding.special_mask) if is_special}
    body = [i for i in range(len(encoding)) if i not in special]
    masks = encoding.mask_positions
    if not body:
        raise TextError(f"The model reads {limit:,} tokens at a time: [CLS] and [SEP] alone are more.")
    centre = at if at is not None else masks[0] if masks else body[0]
    low, high = _around(encoding, body, body.index(centre), limit - len(special) - room)
    kept = sorted(special.union(body[low:high]))
    if centre not in kept:
        raise TextError(
            f"The model reads {limit:,} tokens at a time, too few for the word at token {centre} with "
            f"{room:,} tokens to spare. Take a shorter word."
        )
    return Window(_part(encoding, kept), tuple(kept), len(encoding))


def _around(encoding: Encoding, body: list[int], first: int, size: int) -> tuple[int, int]:
    """Bounds in `body` of at most `size` tokens around its `first`, cut between words."""
    size = max(size, 0)
    masked = set(encoding.mask_positions)
    last = max((i for i in range(first, min(first + size, len(body))) if body[i] in masked), default=first)
    low = min(max((first + last + 1) // 2 - size // 2, 0), max(len(body) - size, 0))
    high = low + size
    words = [encoding.word_ids[i] for i in body]
    while 0 < low < high and words[low] == words[low - 1]:
        low += 1
    while low < high < len(body) and words[high] == words[high - 1]:
        high -= 1
    return low, high


def _part(encoding: Encoding, kept: list[int]) -> Encoding:
    return replace(
        encoding,
        ids=tuple(encoding.ids[i] for i in kept),
        pieces=tuple(encoding.pieces[i] for i in kept),
        word_ids=tuple(encoding.word_ids[i] for i in kept),
        offsets=tuple(encoding.offsets[i] for i in kept),
        segment_ids=tuple(encoding.segment_ids[i] for i in kept),
        special_mask=tuple(encoding.special_mask[i] for i in kept),
        typed_ids=tuple(encoding.typed_ids[i] for i in kept),
        typed_pieces=tuple(encoding.typed_pieces[i] for i in kept),
    )


__all__ = ["Window", "window"]
