"""What a forward pass asks of its tensors; each broken rule is told with the value that broke it.

Kept beside the network so that `model.py` reads as the network alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

from bertviz_lite.config import BERTConfig
from bertviz_lite.errors import InputError

IGNORED_LABEL = -100


def check_ids(config: BERTConfig, input_ids: Tensor) -> None:
    if input_ids.ndim != 2 or 0 in input_ids.shape:
        raise InputError(f"input_ids must be (batch, tokens), at least one of each, not {tuple(input_ids.shape)}.")
    if input_ids.dtype not in (torch.int64, torch.int32):
        raise InputError(f"input_ids must be int64 or int32, not {input_ids.dtype}.")
    if input_ids.shape[1] > config.max_position_embeddings:
        raise InputError(
            f"{input_ids.shape[1]} tokens are too many: this model reads at most "
            f"{config.max_position_embeddings} (max_position_embeddings), special tokens included."
        )
    _check_range("input_ids", input_ids, config.vocab_size, "the vocabulary")


def check_beside(config: BERTConfig, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> None:
    for name, tensor in (("attention_mask", attention_mask), ("token_type_ids", token_type_ids)):
        if tensor.shape != input_ids.shape:
            raise InputError(f"{name} has shape {tuple(tensor.shape)}, but input_ids has {tuple(input_ids.shape)}.")
    odd = (attention_mask != 0) & (attention_mask != 1)
    if odd.any():
        raise InputError(f"attention_mask holds {attention_mask[odd][0].item()}; only 0 and 1 have a meaning.")
    if token_type_ids.dtype not in (torch.int64, torch.int32):
        raise InputError(f"token_type_ids must be int64 or int32, not {token_type_ids.dtype}.")
    _check_range("token_type_ids", token_type_ids, config.type_vocab_size, "type_vocab_size")


def check_labels(config: BERTConfig, input_ids: Tensor, labels: Tensor) -> None:
    if labels.shape != input_ids.shape:
        raise InputError(f"labels has shape {tuple(labels.shape)}, but input_ids has {tuple(input_ids.shape)}.")
    if labels.dtype not in (torch.int64, torch.int32):
        raise InputError(f"labels must be int64 or int32, not {labels.dtype}.")
    asked = torch.where(labels == IGNORED_LABEL, torch.zeros_like(labels), labels)
    _check_range("labels", asked, config.vocab_size, f"the vocabulary ({IGNORED_LABEL} leaves a token out)")


def check_positions(input_ids: Tensor, positions: Tensor) -> None:
    if positions.ndim != 2 or positions.shape[1] != 2 or positions.dtype not in (torch.int64, torch.int32):
        raise InputError(
            f"positions must be integer pairs (sequence, token) of shape (N, 2), not "
            f"{tuple(positions.shape)} of {positions.dtype}."
        )
    limits = torch.tensor(input_ids.shape, device=positions.device)
    wrong = ((positions < 0) | (positions >= limits)).any(1)
    if wrong.any():
        raise InputError(
            f"positions holds {tuple(positions[wrong][0].tolist())}, outside input_ids of shape "
            f"{tuple(input_ids.shape)}."
        )


def _check_range(name: str, values: Tensor, n: int, what: str) -> None:
    wrong = (values < 0) | (values >= n)
    if wrong.any():
        row, column = wrong.nonzero()[0].tolist()
        raise InputError(
            f"{name} holds {int(values[row, column])} at sequence {row}, token {column}, but {what} goes from 0 to "
            f"{n - 1}."
        )


__all__ = ["IGNORED_LABEL", "check_beside", "check_ids", "check_labels", "check_positions"]
