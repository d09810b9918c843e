"""Batches of text made into training examples: masked anew every time they are read.

The masks of a batch depend on the seed and on its number in the run alone, as its text does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bertviz_lite.config import BERTConfig
from bertviz_lite.tokenizer import Tokenizer
from bertviz_lite.training.batches import Batch, BatchRule, Epoch, Frame
from bertviz_lite.training.masking import KINDS, MaskedBatch, MaskingRule, mask
from bertviz_lite.training.store import Part

_MOST_SHOWN = 48  # pieces of the sequence that a page shows


@dataclass(frozen=True)
class Numbered:
    """Training examples and their place in the run.

    Attributes:
        epoch, index: where the batch stands.
        n_tokens: its tokens, padding not counted.
    """

    epoch: int
    index: int
    n_tokens: int
    examples: MaskedBatch


class Masker:
    """Masks batches by one rule for one vocabulary."""

    def __init__(self, tokenizer: Tokenizer, config: BERTConfig, rule: MaskingRule) -> None:
        self.tokenizer, self.rule = tokenizer, rule
        self.frame = Frame(tokenizer.cls_id, tokenizer.sep_id, config.pad_token_id)
        ordinary = [i not in tokenizer.special_ids and i != config.pad_token_id for i in range(len(tokenizer))]
        self._ordinary = torch.tensor(ordinary)  # (V,)
        self._begins = torch.tensor([not (piece or "").startswith("##") for piece in tokenizer.pieces])  # (V,)

    def __call__(self, batch: Batch, *seed: int) -> MaskedBatch:
        """The batch as training examples; numbers that name the draw."""
        return mask(
            batch.ids,
            self._ordinary[batch.ids],
            mask_id=self.tokenizer.mask_id,
            vocab_size=len(self.tokenizer),
            rule=self.rule,
            generator=torch.Generator().manual_seed(draw_seed(*seed)),
            word_ids=self._begins[batch.ids].cumsum(1) - 1,
            lengths=batch.lengths,
        )

    def shown(self, examples: MaskedBatch) -> dict[str, Any]:
        """The first sequence of a batch in words: `pieces` (the text), `input_pieces` and `kinds`."""
        found = examples.labels[0] >= 0
        text = torch.where(found, examples.labels[0], examples.input_ids[0])
        n = min(int((text != self.frame.pad_id).sum()), _MOST_SHOWN)
        return {
            "pieces": self._pieces(text[:n]),
            "input_pieces": self._pieces(examples.input_ids[0, :n]),
            "kinds": [KINDS[kind] for kind in examples.kinds[0, :n]],
        }

    def _pieces(self, ids: Tensor) -> list[str]:
        return [self.tokenizer.piece(int(i)) for i in ids]


def draw_seed(*numbers: int) -> int:
    """One seed from several numbers, 63 bits."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)


def read_examples(
    part: Part, masker: Masker, rule: BatchRule, seed: int, epoch: int = 0, index: int = 0
) -> Iterator[Numbered]:
    """Training examples without end, from a place in the run on; epoch after epoch, each in an order of its own.

    Raises:
        TrainingError: the text is too short.
    """
    while True:
        batches = Epoch(part, masker.frame, rule, seed, epoch)
        for i in range(index, len(batches)):
            batch = batches[i]
            yield Numbered(epoch, i, int(batch.lengths.sum()), masker(batch, seed, epoch, i))
        epoch, index = epoch + 1, 0


__all__ = ["Masker", "Numbered", "draw_seed", "read_examples"]
