"""Where each head attends: the model's own maps, all of them, one layer's or one head's, and means of maps.

Layers and heads are numbered from 0. A map is (T, T), queries by keys; every row sums to 1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from torch import Tensor

from bertviz_lite.analysis._layers import attending, embedded, no_bias, require_index
from bertviz_lite.analysis._rows import require_fits, require_numbers
from bertviz_lite.analysis.units import Floats
from bertviz_lite.config import BERTConfig
from bertviz_lite.errors import InputError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Encoding


@dataclass(frozen=True)
class AttentionMaps:
    """All maps of one encoded text.

    Attributes:
        weights: (L, H, T, T) probabilities after softmax, queries by keys; every row sums to 1.
    """

    weights: Floats

    @property
    def n_layers(self) -> int:
        """L."""
        return len(self.weights)

    @property
    def n_heads(self) -> int:
        """H."""
        return len(self.weights[0])

    def pick(self, layer: int | None, head: int | None) -> Floats:
        """(T, T) one head's map; None stands for the mean over all layers, or over all heads.

        Raises:
            InputError: there is no such layer or head.
        """
        layers = range(self.n_layers) if layer is None else [layer]
        heads = range(self.n_heads) if head is None else [head]
        return mean_map(self.weights, [(at, of) for at in layers for of in heads])


def attention_maps(model: BERTForMaskedLM, encoding: Encoding) -> AttentionMaps:
    """Read the maps of every head for one text, as the text stands, masks included.

    Raises:
        TextError: the text is longer than the model reads.
        InputError: a token or a segment is none of the model's.
        CheckpointError: the model answers with NaN.
    """
    require_fits(model, encoding)
    config, n_tokens = model.config, len(encoding)
    weights = np.empty((config.num_hidden_layers, config.num_attention_heads, n_tokens, n_tokens), np.float32)
    for layer, maps in enumerate(each_layer(model, encoding)):
        weights[layer] = maps
    return AttentionMaps(weights)


@torch.inference_mode()
def each_layer(model: BERTForMaskedLM, encoding: Encoding) -> Iterator[Floats]:
    """The maps (H, T, T) of one layer after the other, from layer 0 up; none is kept here.

    Raises:
        CheckpointError, InputError, TextError: as in `attention_maps`.
    """
    x = embedded(model, encoding)  # (1, T, D)
    for layer in model.bert.encoder.layer:
        maps: list[Tensor] = []
        x = layer(x, no_bias(x), maps)
        yield _checked(maps[0])


@torch.inference_mode()
def layer_maps(model: BERTForMaskedLM, encoding: Encoding, layer: int) -> Floats:
    """(H, T, T) the maps of one layer; the layers above are not run.

    Raises:
        InputError: as in `attention_maps`; also where there is no such layer.
        CheckpointError, TextError: as in `attention_maps`.
    """
    return _checked(attending(model, encoding, layer).maps)


def head_map(model: BERTForMaskedLM, encoding: Encoding, layer: int, head: int) -> Floats:
    """(T, T) the map of one head.

    Raises:
        InputError: as in `layer_maps`; also where there is no such head.
        CheckpointError, TextError: as in `attention_maps`.
    """
    require_index("head", head, model.config.num_attention_heads)
    one: Floats = layer_maps(model, encoding, layer)[head].copy()  # a view would keep the other heads in memory
    return one


def every_head(config: BERTConfig) -> list[tuple[int, int]]:
    """(layer, head) of all heads, layer by layer."""
    return list(product(range(config.num_hidden_layers), range(config.num_attention_heads)))


def mean_map(layers: Iterable[Floats], chosen: Collection[tuple[int, int]]) -> Floats:
    """(T, T) the mean map of some heads; a mean of maps is a map: its rows sum to 1 too.

    Args:
        layers: (L, H, T, T), or (H, T, T) a layer at a time, as from `each_layer`.
        chosen: (layer, head) of each head that counts.

    Raises:
        InputError: no head is chosen, or one that there is not.
    """
    if not chosen:
        raise InputError("No head is chosen: a mean needs at least one.")
    n_layers, total = 0, np.zeros((), np.float64)
    wanted = set(chosen)
    for layer, maps in enumerate(layers):
        heads = sorted(head for at, head in wanted if at == layer)
        for head in heads:
            require_index("head", head, len(maps))
        total = total + maps[heads].sum(0, dtype=np.float64)
        n_layers += 1
    for layer, _ in sorted(wanted):
        require_index("layer", layer, n_layers)
    mean: Floats = (total / len(wanted)).astype(np.float32)
    return mean


def _checked(maps: Tensor) -> Floats:
    """(1, H, T, T) as a layer computes them -> (H, T, T)."""
    weights: Floats = maps[0].float().numpy()
    require_numbers(weights, "attention weights")
    return weights


__all__ = ["AttentionMaps", "attention_maps", "each_layer", "every_head", "head_map", "layer_maps", "mean_map"]
