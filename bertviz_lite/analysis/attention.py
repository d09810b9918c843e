"""Where each head attends: the model's own maps, averages of them, and views without some tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from bertviz_lite.analysis._rows import require_fits
from bertviz_lite.errors import InputError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Encoding


@dataclass(frozen=True)
class AttentionMaps:
    """All maps of one encoded text.

    Attributes:
        weights: (L, H, T, T) probabilities after softmax, queries by keys; every row sums to 1.
    """

    weights: NDArray[np.float32]

    @property
    def n_layers(self) -> int:
        """L."""
        return len(self.weights)

    @property
    def n_heads(self) -> int:
        """H."""
        return len(self.weights[0])

    def pick(self, layer: int | None, head: int | None) -> NDArray[np.float32]:
        """(T, T) one head's map; None stands for the mean over all layers, or over all heads.

        A mean of maps is a map: its rows sum to 1 too.

        Raises:
            InputError: there is no such layer or head.
        """
        for name, index, n in (("layer", layer, self.n_layers), ("head", head, self.n_heads)):
            if index is not None and not 0 <= index < n:
                raise InputError(f"There is no {name} {index}: this model's go from 0 to {n - 1}.")
        layers = self.weights if layer is None else self.weights[layer : layer + 1]
        heads = layers if head is None else layers[:, head : head + 1]
        mean: NDArray[np.float32] = heads.mean((0, 1), dtype=np.float32)
        return mean


@torch.inference_mode()
def attention_maps(model: BERTForMaskedLM, encoding: Encoding) -> AttentionMaps:
    """Read the maps of every head for one text, as the text stands, masks included.

    Raises:
        TextError: the text is longer than the model reads.
    """
    require_fits(model, encoding)
    maps = model.bert(**encoding.tensors(), output_attentions=True).attentions
    return AttentionMaps(torch.cat(maps).float().numpy())  # L x (1, H, T, T) -> (L, H, T, T)


def without(weights: NDArray[np.float32], hide: Sequence[bool]) -> NDArray[np.float32]:
    """The rows and columns of a map that are not hidden, values unchanged: rows then sum to less than 1.

    Args:
        weights: (T, T).
        hide: T flags.

    Raises:
        InputError: the flags do not fit the map.
    """
    if len(hide) != weights.shape[0]:
        raise InputError(f"{len(hide)} flags do not fit a map of {weights.shape[0]} tokens.")
    keep = ~np.asarray(hide, dtype=bool)
    kept: NDArray[np.float32] = weights[keep][:, keep]
    return kept


__all__ = ["AttentionMaps", "attention_maps", "without"]
