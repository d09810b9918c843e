"""Makes training examples for a masked language model: selects tokens and hides, replaces or keeps each of them.

Pre-training and the page that explains it draw with this same code. Notation: B sequences, T tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bertviz_lite._inputs import IGNORED_LABEL
from bertviz_lite.errors import ConfigError, InputError

# What became of a token, as `MaskedBatch.kinds` counts it.
KINDS = ("not selected", "masked", "random", "kept")
NOT_SELECTED, MASKED, RANDOM, KEPT = range(len(KINDS))


@dataclass(frozen=True)
class MaskingRule:
    """How training examples are drawn.

    Attributes:
        rate: share of the tokens that are selected, to be predicted.
        masked_share: share of the selected that become the mask token.
        random_share: share of the selected that become a random id; the rest stay as they are.
        whole_words: select words, not pieces.
        at_least_one: a sequence of which nothing was drawn gets one token (or word) selected after all.
        max_predictions: the most tokens selected in a sequence; None for no limit.
        independent: each token (or word) is drawn by itself with probability `rate`, as in transformers; otherwise the
            number n = round(rate × tokens of the sequence) is fixed, as in Google's code, and n are drawn.

    Raises:
        ConfigError: a share outside its range, or shares that do not fit together.
    """

    rate: float = 0.15
    masked_share: float = 0.8
    random_share: float = 0.1
    whole_words: bool = False
    at_least_one: bool = True
    max_predictions: int | None = None
    independent: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise ConfigError(f"rate = {self.rate}: the share of selected tokens must be above 0 and at most 1.")
        for name, share in (("masked_share", self.masked_share), ("random_share", self.random_share)):
            if not 0 <= share <= 1:
                raise ConfigError(f"{name} = {share}: a share goes from 0 to 1.")
        if self.masked_share + self.random_share > 1 + 1e-9:
            raise ConfigError(
                f"masked_share = {self.masked_share} and random_share = {self.random_share} are more than 1 together."
            )
        if self.max_predictions is not None and self.max_predictions < 1:
            raise ConfigError(f"max_predictions = {self.max_predictions}: allow 1 at least, or None for no limit.")
        if self.independent and self.max_predictions is not None:
            raise ConfigError("max_predictions limits a fixed number of predictions; independent draws have none.")

    def n_predictions(self, lengths: Tensor) -> Tensor:
        """How many tokens of sequences of these lengths a rule with a fixed number selects, (B,).

        Source: create_pretraining_data.py of google-research/bert, min(max_predictions, max(1, round(rate × length))).
        """
        n = (self.rate * lengths.double()).round().long()  # half to even, as Python rounds
        return n.clamp(min=int(self.at_least_one), max=self.max_predictions)


# By name. Google's limit of 20 belongs to its sequences of 128 tokens; with whole words transformers masks them all.
RULES = {
    "google": MaskingRule(max_predictions=20),
    "google whole words": MaskingRule(max_predictions=20, whole_words=True),
    "transformers": MaskingRule(independent=True, at_least_one=False),
    "transformers whole words": MaskingRule(
        independent=True, at_least_one=False, whole_words=True, masked_share=1.0, random_share=0.0
    ),
}


@dataclass(frozen=True)
class MaskedBatch:
    """Sequences made into training examples, all (B, T).

    Attributes:
        input_ids: what the model reads.
        labels: the right id where a token is selected, -100 elsewhere.
        kinds: int8, an index of `KINDS`.
    """

    input_ids: Tensor
    labels: Tensor
    kinds: Tensor

    @property
    def positions(self) -> Tensor:
        """The selected tokens as pairs (sequence, token), (N, 2)."""
        return self.kinds.nonzero()


def mask(
    ids: Tensor,
    candidates: Tensor,
    *,
    mask_id: int,
    vocab_size: int,
    rule: MaskingRule,
    generator: torch.Generator,
    word_ids: Tensor | None = None,
    lengths: Tensor | None = None,
) -> MaskedBatch:
    """Select tokens by a rule, and mask, replace or keep each of them.

    The same generator state gives the same draws. A sequence without candidates has nothing selected.

    Args:
        ids: (B, T) int64.
        candidates: (B, T) bool, the tokens that may be selected: no special tokens, no padding.
        vocab_size: a random token is one of this many ids, special ones included, as in both sources.
        word_ids: (B, T) number of a token's word, from 0 to T - 1; read where a token is a candidate and the rule
            selects whole words.
        lengths: (B,) tokens that are no padding, special tokens included; T by default.

    Raises:
        InputError: shapes differ, `mask_id` is outside the vocabulary, or the rule needs `word_ids`.

    Source: create_pretraining_data.py of google-research/bert; DataCollatorForLanguageModeling of transformers 5.24.
    """
    _check(ids, candidates, mask_id, vocab_size)
    n_tokens = ids.shape[1]
    lengths = torch.full(ids.shape[:1], n_tokens) if lengths is None else lengths
    units = _units(ids, candidates, word_ids, rule)  # (B, T) what is drawn together: a token by itself, or its word
    selected = _draw(units, candidates, lengths, rule, generator)

    fate = torch.rand(ids.shape, generator=generator)
    kinds = torch.full(ids.shape, KEPT, dtype=torch.int8)
    kinds[fate < rule.masked_share + rule.random_share] = RANDOM
    kinds[fate < rule.masked_share] = MASKED
    kinds[~selected] = NOT_SELECTED

    other = torch.randint(vocab_size, ids.shape, generator=generator)
    inputs = torch.where(kinds == RANDOM, other, ids.masked_fill(kinds == MASKED, mask_id))
    return MaskedBatch(inputs, ids.masked_fill(~selected, IGNORED_LABEL), kinds)


def _units(ids: Tensor, candidates: Tensor, word_ids: Tensor | None, rule: MaskingRule) -> Tensor:
    if not rule.whole_words:
        return torch.arange(ids.shape[1]).expand_as(ids)
    if word_ids is None:
        raise InputError("whole_words needs word_ids: the number of the word that each token belongs to.")
    if word_ids.shape != ids.shape:
        raise InputError(f"word_ids has shape {tuple(word_ids.shape)}, but ids has {tuple(ids.shape)}.")
    words = word_ids.masked_fill(~candidates, 0)
    if ((words < 0) | (words >= ids.shape[1])).any():
        raise InputError(f"word_ids of candidates must go from 0 to {ids.shape[1] - 1}, counted in each sequence.")
    return words


def _draw(units: Tensor, candidates: Tensor, lengths: Tensor, rule: MaskingRule, generator: torch.Generator) -> Tensor:
    """Which tokens are selected, (B, T) bool."""
    sizes = torch.zeros_like(units).scatter_add(1, units, candidates.long())  # (B, T) candidates of each unit
    draws = torch.rand(units.shape, generator=generator).masked_fill(sizes == 0, 2.0)
    draws, order = draws.sort(dim=1)  # units in drawn order, those without a candidate last
    sizes = sizes.gather(1, order)
    if rule.independent:
        chosen = draws < rule.rate
    else:
        chosen = _first_that_fit(sizes, rule.n_predictions(lengths), rule.whole_words)
    chosen &= sizes > 0
    if rule.at_least_one:
        chosen[:, 0] |= ~chosen.any(1) & (sizes[:, 0] > 0)
    by_unit = torch.zeros_like(chosen).scatter(1, order, chosen)
    return by_unit.gather(1, units) & candidates


def _first_that_fit(sizes: Tensor, n: Tensor, whole_words: bool) -> Tensor:
    """Units in drawn order until n tokens are full, (B, T) bool; a word too long for what is left is passed over."""
    if not whole_words:
        return torch.arange(sizes.shape[1]) < n[:, None]
    chosen = torch.zeros(sizes.shape, dtype=torch.bool)
    left = n.clone()
    for i, size in enumerate(sizes.T):
        chosen[:, i] = size <= left
        left -= size * chosen[:, i]
    return chosen


def _check(ids: Tensor, candidates: Tensor, mask_id: int, vocab_size: int) -> None:
    if ids.ndim != 2 or 0 in ids.shape or ids.dtype != torch.int64:
        raise InputError(f"ids must be int64 of shape (batch, tokens), not {ids.dtype} of {tuple(ids.shape)}.")
    if candidates.shape != ids.shape or candidates.dtype != torch.bool:
        raise InputError(
            f"candidates must be bool of shape {tuple(ids.shape)}, not {candidates.dtype} of {tuple(candidates.shape)}."
        )
    if not 0 <= mask_id < vocab_size:
        raise InputError(f"mask_id {mask_id} is outside the vocabulary of {vocab_size:,} ids.")


__all__ = ["KEPT", "KINDS", "MASKED", "NOT_SELECTED", "RANDOM", "RULES", "MaskedBatch", "MaskingRule", "mask"]
