"""One layer's attention with its queries and keys, and one weight of it taken apart: query times key by dimension,
the scaled sum, the softmax over the row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from bertviz_lite.analysis._layers import attending, require_index
from bertviz_lite.analysis._rows import require_numbers
from bertviz_lite.analysis.units import Floats
from bertviz_lite.errors import InputError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Encoding

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class LayerAttention:
    """The maps of one layer and what they are made of: weights = softmax(queries · keys / √d + distance_scores).

    Attributes:
        layer: numbered from 0.
        weights: (H, T, T) the maps as the model itself computes them.
        queries, keys: (H, T, d).
        distance_scores: (H, T, T) what the distance adds to the scores of a model with relative positions (Shaw et al.
            2018, arXiv 1803.02155; with the key's own term of Huang et al. 2020, arXiv 2009.13658, method 4, where the
            model is `relative_key_query`); None where it has none.
    """

    layer: int
    weights: Floats
    queries: Floats
    keys: Floats
    distance_scores: Floats | None

    def pair(self, head: int, query_position: int, key_position: int) -> QueryKey:
        """One weight taken apart.

        Raises:
            InputError: there is no such head or token.
        """
        n_heads, n_tokens = self.weights.shape[:2]
        require_index("head", head, n_heads)
        for position in (query_position, key_position):
            if not 0 <= position < n_tokens:
                raise InputError(f"There is no token {position}: the text's go from 0 to {n_tokens - 1}.")
        distance = self.distance_scores
        return QueryKey(  # copies: a view would keep all heads in memory
            self.layer,
            head,
            query_position,
            key_position,
            query=self.queries[head, query_position].copy(),
            keys=self.keys[head].copy(),
            distance_scores=np.zeros(n_tokens, np.float32)
            if distance is None
            else distance[head, query_position].copy(),
            weights=self.weights[head, query_position].copy(),
        )


@dataclass(frozen=True)
class QueryKey:
    """How much one token looks at another in one head, worked out: `prob` is softmax of `scores` at `key_position`.

    Attributes:
        layer, head: numbered from 0.
        query_position, key_position: the token that looks, the token looked at.
        query: (d,) the vector of the token that looks.
        keys: (T, d) the vectors of all tokens; their row decides the softmax.
        distance_scores: (T,) as in `LayerAttention`; 0 where the model has none.
        weights: (T,) the row of the map as the model itself computes it.
    """

    layer: int
    head: int
    query_position: int
    key_position: int
    query: Floats
    keys: Floats
    distance_scores: Floats
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
        scores: Doubles = dots * self.scale + self.distance_scores
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
def layer_attention(model: BERTForMaskedLM, encoding: Encoding, layer: int) -> LayerAttention:
    """One layer's attention at work; the layers above are not run.

    Raises:
        TextError: the text is longer than the model reads.
        InputError: there is no such layer; or a token or a segment is none of the model's.
        CheckpointError: the model answers with NaN.
    """
    found = attending(model, encoding, layer)
    attention = found.attention
    weights = found.maps[0].float().numpy()
    require_numbers(weights, "attention weights")
    q, k = (attention.split_heads(project(found.x)) for project in (attention.query, attention.key))  # (1, H, T, d)
    relative = attention.position_type != "absolute"
    distance = attention.relative_scores(q / math.sqrt(attention.head_size), k) if relative else None
    return LayerAttention(
        layer,
        weights,
        queries=q[0].float().numpy().copy(),
        keys=k[0].float().numpy().copy(),
        distance_scores=None if distance is None else distance[0].float().numpy(),
    )


def query_key(
    model: BERTForMaskedLM, encoding: Encoding, layer: int, head: int, query_position: int, key_position: int
) -> QueryKey:
    """Take one weight of one head apart; the layers above are not run.

    Raises:
        InputError: as in `layer_attention`; also where there is no such head or token.
        CheckpointError, TextError: as in `layer_attention`.
    """
    return layer_attention(model, encoding, layer).pair(head, query_position, key_position)


__all__ = ["LayerAttention", "QueryKey", "layer_attention", "query_key"]
