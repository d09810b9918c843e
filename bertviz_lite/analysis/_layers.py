"""The way of one text through the layers, a layer at a time: what a map, a query or a key is read from.

A layer's maps take H·T² numbers, so whoever needs one layer, or one number of each, never holds them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from torch import Tensor

from bertviz_lite._inputs import check_beside, check_ids
from bertviz_lite.analysis._rows import require_fits
from bertviz_lite.errors import InputError
from bertviz_lite.model import BERTForMaskedLM, Layer, SelfAttention
from bertviz_lite.tokenizer import Encoding


@dataclass(frozen=True)
class Attending:
    """One layer's attention at work on one text.

    Attributes:
        attention: the layer's own module.
        x: (1, T, D) what it reads.
        maps: (1, H, T, T) where its heads attend.
    """

    attention: SelfAttention
    x: Tensor
    maps: Tensor


def embedded(model: BERTForMaskedLM, encoding: Encoding) -> Tensor:
    """(1, T, D) what the first layer reads; call it in inference mode.

    Raises:
        TextError: the text is longer than the model reads.
        InputError: a token or a segment is none of the model's.
    """
    require_fits(model, encoding)
    ids, mask, segments = encoding.tensors().values()
    check_ids(model.config, ids)
    check_beside(model.config, ids, mask, segments)
    x: Tensor = model.bert.embeddings(ids, segments)
    return x


def attending(model: BERTForMaskedLM, encoding: Encoding, layer: int) -> Attending:
    """Run the layers below one, and that one's attention; call it in inference mode.

    Raises:
        InputError: as in `embedded`; also where there is no such layer.
        TextError: as in `embedded`.
    """
    require_index("layer", layer, model.config.num_hidden_layers)
    x = embedded(model, encoding)
    for below in model.bert.encoder.layer[:layer]:
        x = below(x, no_bias(x), None)
    attention = cast(Layer, model.bert.encoder.layer[layer]).attention.self
    maps: list[Tensor] = []
    attention(x, no_bias(x), maps)
    return Attending(attention, x, maps[0])


def no_bias(x: Tensor) -> Tensor:
    """(1, 1, 1, T) the bias of a text without padding."""
    return x.new_zeros(1, 1, 1, x.shape[1])


def require_index(name: str, index: int, n: int) -> None:
    """Raise an InputError where there is no such layer or head."""
    if not 0 <= index < n:
        raise InputError(f"There is no {name} {index}: this model's go from 0 to {n - 1}.")


__all__ = ["Attending", "attending", "embedded", "no_bias", "require_index"]
