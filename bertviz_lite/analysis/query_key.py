"""One attention weight taken apart: query times key by dimension, the scaled sum, the softmax over the row."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lite.analysis._layers import attending, require_index
from bertviz_lite.analysis._rows import require_numbers
from bertviz_lite.analysis.units import Floats
from bertviz_lite.errors import InputError
from bertviz_lite.model import BERTForMaskedLM, SelfAttention
from bertviz_lite.tokenizer import Encoding

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class QueryKey:
    """How much one token looks at another in one head, worked out: `prob` is softmax of `scores` at `key_position`.

    Attributes:
        layer, head: numbered from 0.
        query_position, key_position: the token that looks, the token looked at.
        query: (d,) the vector of the token that looks.
        keys: (T, d) the vectors of all tokens; their row decides the softmax.
        query_distance_scores: (T,) query · distance / √d of a model with relative positions (Shaw et al. 2018,
            arXiv 1803.02155); 0 where the model has none.
        key_distance_scores: (T,) key · distance / √d of `relative_key_query` (Huang et al. 2020, arXiv 2009.13658,
            method 4); 0 where the model has none.
        weights: (T,) the row of the map as the model itself computes it.
    """

    layer: int
    head: int
    query_position: int
    key_position: int
    query: Floats
    keys: Floats
    query_distance_scores: Floats
    key_distance_scores: Floats
    weights: Floats

    @property
    def key(self) -> Floats:
        """(d,) the vector of the token looked at."""
        key: Floats = self.keys[self.key_position]
        return key

    @property
    def products(self) -> Floats:
        """(d,) what each dimension adds to the dot product."""
        products: Floats = self.query * self.key
        return products

    @property
    def dot(self) -> float:
        """Σ products, summed in float64."""
        return float(self.products.sum(dtype=np.float64))

    @property
    def scale(self) -> float:
        """1 / √d."""
        return 1 / math.sqrt(len(self.query))

    @property
    def scores(self) -> Doubles:
        """(T,) scaled dot products with every key, and the distance terms: what the softmax is taken of."""
        dots = self.keys.astype(np.float64) @ self.query.astype(np.float64)  # (T,)
        scores: Doubles = dots * self.scale + self.query_distance_scores + self.key_distance_scores
        return scores

    @property
    def probs(self) -> Doubles:
        """(T,) softmax of `scores`, in float64."""
        raised = np.exp(self.scores - self.scores.max())
        probs: Doubles = raised / raised.sum()
        return probs

    @property
    def prob(self) -> float:
        """The weight as worked out here."""
        return float(self.probs[self.key_position])

    @property
    def weight(self) -> float:
        """The weight as the model itself computes it."""
        return float(self.weights[self.key_position])


@torch.inference_mode()
def query_key(
    model: BERTForMaskedLM, encoding: Encoding, layer: int, head: int, query_position: int, key_position: int
) -> QueryKey:
    """Take one weight of one head apart; the layers above are not run.

    Raises:
        TextError: the text is longer than the model reads.
        InputError: there is no such layer, head or token; or a token or a segment is none of the model's.
        CheckpointError: the model answers with NaN.
    """
    require_index("head", head, model.config.num_attention_heads)
    for position in (query_position, key_position):
        if not 0 <= position < len(encoding):
            raise InputError(f"There is no token {position}: the text's go from 0 to {len(encoding) - 1}.")
    found = attending(model, encoding, layer)
    weights = found.maps[0, head, query_position].float().numpy().copy()  # a view would keep all maps in memory
    require_numbers(weights, "attention weights")
    attention, x = found.attention, found.x[0]  # (T, D)
    own = slice(head * attention.head_size, (head + 1) * attention.head_size)
    query, keys = attention.query(x[query_position])[own], attention.key(x)[:, own]  # (d,), (T, d)
    by_query, by_key = _distance_scores(attention, query, keys, query_position)
    return QueryKey(
        layer,
        head,
        query_position,
        key_position,
        query=query.numpy().copy(),
        keys=keys.numpy().copy(),
        query_distance_scores=by_query.numpy(),
        key_distance_scores=by_key.numpy(),
        weights=weights,
    )


def _distance_scores(attention: SelfAttention, query: Tensor, keys: Tensor, at: int) -> tuple[Tensor, Tensor]:
    """(T,) each: the terms that depend on how far each token is from the one that looks."""
    none = keys.new_zeros(len(keys))
    if attention.position_type == "absolute":
        return none, none
    middle = attention.distance_embedding.num_embeddings // 2
    distances = attention.distance_embedding(at - torch.arange(len(keys)) + middle)  # (T, d)
    scale = 1 / math.sqrt(attention.head_size)
    by_key = (keys * distances).sum(-1) * scale if attention.position_type == "relative_key_query" else none
    return distances @ query * scale, by_key


__all__ = ["QueryKey", "query_key"]
