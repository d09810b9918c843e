"""What the model expects where a word is masked."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from bertviz_lite.analysis._rows import allowed_ids, ranks_of, require_fits
from bertviz_lite.errors import InputError, TextError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Encoding

NO_ID = -1


@dataclass(frozen=True)
class MaskPredictions:
    """The k likeliest pieces at each of M masks, each mask on its own.

    Probabilities are shares of the whole vocabulary; ranks count the ids that were not excluded, 1 = best.

    Attributes:
        positions: (M,) token positions of the masks.
        ids, probs: (M, k) best first.
        original_ids: (M,) what stood there before it was masked; -1 where the text itself had a mask.
        original_probs, original_ranks: (M,) of the original; NaN and -1 where there is none.
        entropy_nats: (M,) of the whole distribution; ln V if the model knows nothing.
    """

    positions: NDArray[np.int64]
    ids: NDArray[np.int64]
    probs: NDArray[np.float32]
    original_ids: NDArray[np.int64]
    original_probs: NDArray[np.float32]
    original_ranks: NDArray[np.int64]
    entropy_nats: NDArray[np.float32]

    @property
    def covered_probs(self) -> NDArray[np.float32]:
        """(M,) how much probability the k pieces shown have together."""
        total: NDArray[np.float32] = self.probs.sum(-1)
        return total


@torch.inference_mode()
def top_k(model: BERTForMaskedLM, encoding: Encoding, k: int = 10, *, exclude: Collection[int] = ()) -> MaskPredictions:
    """Predict every masked position in one pass, independently of each other.

    Args:
        k: how many pieces per mask; fewer come back where fewer are allowed.
        exclude: ids never to return, such as the special tokens or rows without a piece.

    Raises:
        InputError: k is below 1.
        TextError: nothing is masked, or the text is longer than the model reads.
    """
    if k < 1:
        raise InputError(f"k = {k}: at least 1 prediction must be asked for.")
    require_fits(model, encoding)
    masks = encoding.mask_positions
    if not masks:
        raise TextError("Nothing is masked: write [MASK] for the word to predict.")
    positions = torch.tensor([(0, m) for m in masks])  # (M, 2)
    logits = model(**encoding.tensors(), positions=positions).logits.float()  # (M, V)
    log_probs = logits.log_softmax(-1)
    allowed = allowed_ids(logits.shape[-1], exclude)
    best = logits.masked_fill(~allowed, -torch.inf).topk(min(k, int(allowed.sum())))

    typed = torch.tensor([encoding.typed_ids[m] for m in masks])  # (M,)
    has_original = typed != encoding.mask_id
    original_probs = log_probs.gather(-1, typed[:, None])[:, 0].exp()
    return MaskPredictions(
        positions=positions[:, 1].numpy(),
        ids=best.indices.numpy(),
        probs=log_probs.gather(-1, best.indices).exp().numpy(),
        original_ids=typed.where(has_original, torch.tensor(NO_ID)).numpy(),
        original_probs=original_probs.where(has_original, torch.tensor(torch.nan)).numpy(),
        original_ranks=ranks_of(logits, typed, allowed).where(has_original, torch.tensor(NO_ID)).numpy(),
        entropy_nats=-(log_probs.exp() * log_probs).sum(-1).numpy(),
    )


__all__ = ["NO_ID", "MaskPredictions", "top_k"]
