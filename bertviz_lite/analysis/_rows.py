"""Shared by predictions and scores: what one row of logits says about a token, and which rows are asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lite.errors import CheckpointError, TextError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Encoding

Progress = Callable[[int, int], None]

# Of a base-sized model about two seconds on one core: so often others are let in. More are no quicker (measured).
TOKENS_A_BATCH = 1024


def require_fits(model: BERTForMaskedLM, encoding: Encoding) -> None:
    """Raise a TextError where a text is longer than the model reads."""
    limit = model.config.max_position_embeddings
    if (over := len(encoding) - limit) > 0:
        raise TextError(
            f"The text is {len(encoding):,} tokens long, [CLS] and [SEP] included; this model reads at most {limit:,}. "
            f"Shorten it by at least {over:,} token{'s' * (over > 1)}."
        )


def require_numbers(values: Tensor | NDArray[np.float32], what: str = "predictions") -> None:
    """Raise a CheckpointError where a model answered with NaN, which no ranking and no map survives."""
    if np.isnan(np.asarray(values)).any():
        raise CheckpointError(
            f"The model's {what} are NaN: its weights hold NaN or infinite values. Its tensors, in numbers, show "
            "which; open another model."
        )


def log_probs_by_batch(
    model: BERTForMaskedLM, rows: Tensor, segments: Tensor, at: Tensor, told: Callable[[int], None] = lambda _: None
) -> Iterator[Tensor]:
    """ln of probability (n, V) at one token of each row, a few rows at a time; call it in inference mode.

    Args:
        rows: (N, T) ids, without padding; (1, T) is asked at all tokens of `at` in a single pass.
        segments: (T,).
        at: (N,) the token of each row.
        told: called with n after each batch has been used.

    Raises:
        CheckpointError: the model answers with NaN.
    """
    n = max(1, TOKENS_A_BATCH // rows.shape[1]) if len(rows) > 1 else len(at)
    for some, places in zip(torch.split(rows, n), torch.split(at, n), strict=True):
        pairs = torch.stack([torch.arange(len(some)).expand(len(places)), places], 1)
        logits = model(some, torch.ones_like(some), segments.expand_as(some), positions=pairs).logits.float()
        require_numbers(logits)
        yield logits.log_softmax(-1)
        told(len(some))


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
        allowed: (V,), or (N, V) one for each row; True for the ids that count.
    """
    own = logits.gather(-1, ids[:, None])  # (N, 1)
    better = ((logits > own) | own.isnan()) & allowed  # (N, V)
    return 1 + better.sum(-1).minimum(allowed.sum(-1) - 1)


__all__ = [
    "TOKENS_A_BATCH",
    "Progress",
    "allowed_ids",
    "log_probs_by_batch",
    "ranks_of",
    "require_fits",
    "require_numbers",
]
