"""Two texts, one masked place in each: how the model's belief about the same words differs between them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bertviz_lite.analysis._rows import allowed_ids, log_probs_by_batch, ranks_of, require_fits
from bertviz_lite.analysis.predictions import require_slot
from bertviz_lite.errors import InputError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Encoding


@dataclass(frozen=True)
class Contrast:
    """N pieces that are among the likeliest in either text, or were asked for.

    Attributes:
        ids: (N,) the largest difference in favour of the first text first.
        log_probs: (2, N) ln p in each text.
        ranks: (2, N) 1 = best.
    """

    ids: NDArray[np.int64]
    log_probs: NDArray[np.float32]
    ranks: NDArray[np.int64]

    @property
    def log_odds(self) -> NDArray[np.float32]:
        """(2, N) ln(p / (1 - p)) in each text."""
        return log_odds(self.log_probs)

    @property
    def log_odds_ratios(self) -> NDArray[np.float32]:
        """(N,) log-odds in the first text less those in the second; above 0 where the first makes a piece likelier."""
        ratios: NDArray[np.float32] = self.log_odds[0] - self.log_odds[1]
        return ratios


def log_odds(log_probs: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """ln(p / (1 - p)) from ln p, of any shape; certainty is as large as float32 can tell from 1."""
    below_one = np.minimum(log_probs.astype(np.float64), -np.finfo(np.float32).eps)
    odds: NDArray[np.float32] = (below_one - np.log(-np.expm1(below_one))).astype(np.float32)
    return odds


@torch.inference_mode()
def contrast(
    model: BERTForMaskedLM,
    first: Encoding,
    second: Encoding,
    k: int = 50,
    *,
    also: Collection[int] = (),
    exclude: Collection[int] = (),
) -> Contrast:
    """Compare the first masked place of two texts; of a hidden word of several pieces, its first piece.

    Args:
        k: the k likeliest pieces of each text are compared.
        also: further ids to compare, whatever their probability.
        exclude: ids never to compare, such as the special tokens.

    Raises:
        InputError: k is below 1.
        TextError: nothing is masked in one of the texts, or it is longer than the model reads.
        CheckpointError: the model answers with NaN.
    """
    if k < 1:
        raise InputError(f"k = {k}: at least 1 piece must be compared.")
    log_probs = torch.cat([_at_first_mask(model, encoding) for encoding in (first, second)])  # (2, V)
    allowed = allowed_ids(log_probs.shape[-1], exclude)
    best = log_probs.masked_fill(~allowed, -torch.inf).topk(min(k, int(allowed.sum()))).indices
    chosen = sorted({*best.flatten().tolist(), *(i for i in also if bool(allowed[i]))})
    ids = torch.tensor(chosen, dtype=torch.long)  # (N,)
    ranks = torch.stack([ranks_of(row.expand(len(ids), -1), ids, allowed) for row in log_probs])
    found = Contrast(ids.numpy(), log_probs[:, ids].numpy(), ranks.numpy())
    order = np.argsort(-found.log_odds_ratios, kind="stable")
    return Contrast(found.ids[order], found.log_probs[:, order], found.ranks[:, order])


def _at_first_mask(model: BERTForMaskedLM, encoding: Encoding) -> torch.Tensor:
    require_fits(model, encoding)
    at = torch.tensor(require_slot(encoding, 0)[:1])
    tensors = encoding.tensors()
    (log_probs,) = log_probs_by_batch(model, tensors["input_ids"], tensors["token_type_ids"][0], at)
    return log_probs


__all__ = ["Contrast", "contrast", "log_odds"]
