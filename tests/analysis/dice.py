"""A model over a vocabulary of 12 whose answers depend on the context, beside transformers' with the same weights.

Small enough that every way to fill three masks (12³) can be written down.
"""

from __future__ import annotations

import itertools
from functools import cache

import torch
import transformers
from guesser import tokenizer
from torch import Tensor

from bertviz_lite import BERTConfig, BERTForMaskedLM

V = 12
TOKENIZER = tokenizer()
_SIZES = {
    "vocab_size": V,
    "hidden_size": 10,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 7,
    "max_position_embeddings": 16,
}


@cache
def _twins(seed: int) -> tuple[BERTForMaskedLM, transformers.BertForMaskedLM]:
    torch.manual_seed(seed)
    theirs = transformers.BertForMaskedLM(transformers.BertConfig(**_SIZES, attn_implementation="eager")).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.normal_(std=0.6)
    ours = BERTForMaskedLM(BERTConfig(**_SIZES)).eval()
    ours.load_state_dict(theirs.state_dict())
    return ours, theirs


def ours(seed: int = 0) -> BERTForMaskedLM:
    return _twins(seed)[0]


@torch.no_grad()
def log_probs(ids: list[int], at: int, seed: int = 0) -> Tensor:
    """(V,) ln p at one token, as transformers computes it."""
    return _twins(seed)[1](torch.tensor([ids])).logits[0, at].double().log_softmax(-1)


def put(ids: tuple[int, ...], places: tuple[int, ...], pieces: tuple[int, ...]) -> list[int]:
    """The ids with the first places filled by pieces."""
    row = list(ids)
    for place, piece in zip(places, pieces, strict=False):
        row[place] = piece
    return row


@cache
def every_filling(ids: tuple[int, ...], places: tuple[int, ...], seed: int = 0) -> dict[tuple[int, ...], float]:
    """ln of the joint probability from left to right of all V^M fillings, by brute force."""
    joint: dict[tuple[int, ...], float] = {(): 0.0}
    for place in places:
        joint = {
            (*pieces, piece): so_far + step
            for pieces, so_far in joint.items()
            for piece, step in enumerate(log_probs(put(ids, places, pieces), place, seed).tolist())
        }
    assert set(joint) == set(itertools.product(range(V), repeat=len(places)))
    return joint
