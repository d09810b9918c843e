"""Words and phrases of any number of pieces at a masked place, scored whole.

The place is widened to as many masks as the word has pieces. The score is the joint log-probability from left to
right: Σ ln p(piece | the text, the pieces before it put in, the pieces after it masked). It is the sum over one word
of PLL-word-l2r (Kauf & Ivanova 2023, arXiv 2305.10588).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lite.analysis._rows import Progress, allowed_ids, log_probs_by_batch, ranks_of
from bertviz_lite.analysis.predictions import NO_ID, require_slot
from bertviz_lite.errors import TextError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Encoding, Tokenizer

Spelling = tuple[int, ...]


@dataclass(frozen=True)
class Candidates:
    """N words at one place, in the order given; P is the number of pieces of the longest.

    Attributes:
        words: (N,) as they were given.
        ids: (N, P) their pieces; -1 beyond.
        log_probs: (N, P) ln p of each piece, the earlier ones put in and the later ones masked; NaN beyond the word,
            and throughout where the word is not scored.
        ranks: (N, P) of each piece among the ids that were not excluded, 1 = best; -1 where there is no log_prob.
        unknown: (N,) True where the vocabulary spells a part of the word with [UNK]; such a word is not scored, since
            the probability of [UNK] is not the word's.
    """

    words: tuple[str, ...]
    ids: NDArray[np.int64]
    log_probs: NDArray[np.float32]
    ranks: NDArray[np.int64]
    unknown: NDArray[np.bool_]

    @property
    def n_pieces(self) -> NDArray[np.int64]:
        """(N,) pieces of each word."""
        n: NDArray[np.int64] = (self.ids != NO_ID).sum(-1)
        return n

    @property
    def joint_log_probs(self) -> NDArray[np.float64]:
        """(N,) ln of the joint probability of each word's pieces, in nats; NaN where it is not scored."""
        joint = np.nansum(self.log_probs, axis=-1, dtype=np.float64)
        return np.where(self.unknown, np.nan, joint)

    @property
    def order(self) -> NDArray[np.int64]:
        """(N,) indices from the likeliest word to the least likely; those that are not scored come last."""
        order: NDArray[np.int64] = np.argsort(-self.joint_log_probs, kind="stable")
        return order


def spelling(tokenizer: Tokenizer, word: str) -> Spelling:
    """The pieces of a word or phrase, without [CLS] and [SEP].

    Raises:
        TextError: there is nothing to spell, or it holds [MASK].
    """
    encoding = tokenizer.encode(word)
    ids = tuple(i for i, special in zip(encoding.ids, encoding.special_mask, strict=True) if not special)
    if not ids:
        raise TextError(f"{word!r} is no word: there is nothing in it that the tokenizer reads.")
    if encoding.mask_id in ids:
        raise TextError(f"{word!r} holds the mask itself; a candidate must be written out.")
    return ids


@torch.inference_mode()
def candidates(
    model: BERTForMaskedLM,
    tokenizer: Tokenizer,
    encoding: Encoding,
    words: Sequence[str],
    *,
    slot: int = 0,
    exclude: Collection[int] = (),
    exclude_at_start: Collection[int] = (),
    progress: Progress | None = None,
) -> Candidates:
    """Score words at one masked place of a text; its other masks stay masked.

    Words that begin with the same pieces share a pass, so a thousand words of one piece cost one.
    `progress(done, all)` is called between batches; it counts passes.

    Args:
        slot: which masked place, counted from 0; see `slots`.
        exclude, exclude_at_start: ids that do not count for the ranks, as in `top_k`.

    Raises:
        InputError: there is no such slot.
        TextError: nothing is masked, a word is empty or holds a mask, or is too long to fit in the text.
        CheckpointError: the model answers with NaN.
    """
    place = require_slot(encoding, slot)
    spelled = [spelling(tokenizer, word) for word in words]
    _require_room(model, encoding, len(place), words, spelled)
    unknown = np.array([tokenizer.unk_id in ids for ids in spelled], dtype=bool)
    shape = (len(words), max(map(len, spelled), default=0))
    found = Candidates(
        words=tuple(words),
        ids=np.full(shape, NO_ID),
        log_probs=np.full(shape, np.nan, dtype=np.float32),
        ranks=np.full(shape, NO_ID),
        unknown=unknown,
    )
    for i, ids in enumerate(spelled):
        found.ids[i, : len(ids)] = ids
    n = model.config.vocab_size
    allowed = (allowed_ids(n, {*exclude, *exclude_at_start}), allowed_ids(n, exclude))
    _score(model, encoding, place, found, allowed, progress)
    return found


def _score(
    model: BERTForMaskedLM,
    encoding: Encoding,
    place: tuple[int, ...],
    found: Candidates,
    allowed: tuple[Tensor, Tensor],
    progress: Progress | None,
) -> None:
    """Fill in log-probabilities and ranks; one pass per number of pieces and beginning that occurs.

    Args:
        allowed: (V,) True for the ids that count for the rank of a first piece, and of a later one.
    """
    asked: dict[int, dict[Spelling, list[int]]] = defaultdict(lambda: defaultdict(list))
    for i in np.flatnonzero(~found.unknown).tolist():
        n = int(found.n_pieces[i])
        for step in range(n):
            asked[n][tuple(found.ids[i, :step].tolist())].append(i)
    n_passes, n_done = sum(map(len, asked.values())), 0

    def told(n: int) -> None:
        nonlocal n_done
        n_done += n
        if progress is not None:
            progress(n_done, n_passes)

    for n, beginnings in asked.items():
        rows = torch.tensor(
            [_widened(encoding.ids, place, (*b, *[encoding.mask_id] * (n - len(b)))) for b in beginnings]
        )
        segments = torch.tensor(_widened(encoding.segment_ids, place, n * (encoding.segment_ids[place[0]],)))
        at = torch.tensor([place[0] + len(b) for b in beginnings])
        left = iter(beginnings.items())
        for log_probs in log_probs_by_batch(model, rows, segments, at, told):
            for row, (beginning, who) in zip(log_probs, left, strict=False):
                step = len(beginning)
                ids = torch.from_numpy(found.ids[who, step])
                found.log_probs[who, step] = row[ids].numpy()
                found.ranks[who, step] = ranks_of(row.expand(len(who), -1), ids, allowed[step > 0]).numpy()


def _widened(row: Sequence[int], place: tuple[int, ...], filling: Sequence[int]) -> list[int]:
    """A row with the tokens of a place replaced by others, more or fewer."""
    return [*row[: place[0]], *filling, *row[place[-1] + 1 :]]


def _require_room(
    model: BERTForMaskedLM, encoding: Encoding, width: int, words: Sequence[str], spelled: Sequence[Spelling]
) -> None:
    limit = model.config.max_position_embeddings
    for word, ids in zip(words, spelled, strict=True):
        if (n := len(encoding) - width + len(ids)) > limit:
            raise TextError(
                f"With {word[:60]!r} in its place the text is {n:,} tokens long; this model reads at most {limit:,}. "
                "Shorten the text, or leave that candidate out."
            )


__all__ = ["Candidates", "Spelling", "candidates", "spelling"]
