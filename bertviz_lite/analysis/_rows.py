"""Shared by predictions and scores: what one row of logits says about a token."""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import Tensor

from bertviz_lite.errors import TextError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Encoding


def require_fits(model: BERTForMaskedLM, encoding: Encoding) -> None:
    """Raise a TextError where a text is longer than the model reads."""
    limit = model.config.max_position_embeddings
    if (over := len(encoding) - limit) > 0:
        raise TextError(
            f"The text is {len(encoding):,} tokens long, [CLS] and [SEP] included; this model reads at most {limit:,}. "
            f"Shorten it by at least {over:,} token{'s' * (over > 1)}."
        )


def allowed_ids(n: int, exclude: Collection[int]) -> Tensor:
    """(V,) True for the ids that may be predicted."""
    allowed = torch.ones(n, dtype=torch.bool)
    allowed[[i for i in exclude if 0 <= i < n]] = False
    return allowed


def ranks_of(logits: Tensor, ids: Tensor, allowed: Tensor) -> Tensor:
    """Rank of one id per row among the allowed ids; 1 = best, equals share the better rank, NaN ranks last.

    Args:
        logits: (N, V).
        ids: (N,).
        allowed: (V,) True for the ids that count.
    """
    own = logits.gather(-1, ids[:, None])  # (N, 1)
    return 1 + (((logits > own) | own.isnan()) & allowed).sum(-1).clamp_max(int(allowed.sum()) - 1)


__all__ = ["allowed_ids", "ranks_of", "require_fits"]
