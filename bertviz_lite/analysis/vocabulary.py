"""The vocabulary as the embedding sees it: neighbours by cosine, and how long each row is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from bertviz_lite.errors import InputError
from bertviz_lite.model import BERTForMaskedLM


@dataclass(frozen=True)
class Neighbours:
    """The rows of the word embedding that point most nearly the same way as one row.

    Attributes:
        ids: (k,) nearest first, the row itself left out.
        cosines: (k,) in [-1, 1].
    """

    ids: NDArray[np.int64]
    cosines: NDArray[np.float32]


@torch.inference_mode()
def neighbours(model: BERTForMaskedLM, token_id: int, k: int = 10) -> Neighbours:
    """Find the k nearest rows by cosine; rows of zeros have no direction and come last.

    Raises:
        InputError: the id is not in the vocabulary.
    """
    rows = model.bert.embeddings.word_embeddings.weight  # (V, D)
    if not 0 <= token_id < len(rows):
        raise InputError(f"There is no id {token_id}: the vocabulary's go from 0 to {len(rows) - 1}.")
    lengths = rows.norm(dim=-1)
    cosines = rows @ rows[token_id] / (lengths * lengths[token_id]).clamp_min(1e-12)  # (V,)
    order = cosines.nan_to_num(-2.0).masked_fill(lengths == 0, -2.0)  # below every cosine
    order[token_id] = -3.0
    best = order.topk(min(k, len(rows) - 1)).indices
    return Neighbours(best.numpy(), cosines[best].numpy())


@torch.inference_mode()
def row_norms(model: BERTForMaskedLM) -> NDArray[np.float32]:
    """(V,) Euclidean length of every row of the word embedding."""
    norms: NDArray[np.float32] = model.bert.embeddings.word_embeddings.weight.norm(dim=-1).numpy()
    return norms


__all__ = ["Neighbours", "neighbours", "row_norms"]
