"""Fits a configuration and a file's tensors to each other: what the tensors prove is believed, and said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bertviz_lite.checkpoints._names import n_layers
from bertviz_lite.checkpoints._tensors import is_opened
from bertviz_lite.config import BERTConfig
from bertviz_lite.errors import ConfigError
from bertviz_lite.model import ALIASES, BERTForMaskedLM

_WORDS = "bert.embeddings.word_embeddings.weight"
_DECODER = "cls.predictions.decoder.weight"
_BIAS = "cls.predictions.bias"
_DECODER_BIAS = "cls.predictions.decoder.bias"

_HEAD_WIDTH = 64

# (field of the configuration, tensor that proves it, dimension)
_PROOFS = (
    ("vocab_size", _WORDS, 0),
    ("hidden_size", _WORDS, 1),
    ("max_position_embeddings", "bert.embeddings.position_embeddings.weight", 0),
    ("type_vocab_size", "bert.embeddings.token_type_embeddings.weight", 0),
    ("intermediate_size", "bert.encoder.layer.0.intermediate.dense.weight", 0),
)


@dataclass(frozen=True)
class Fit:
    """A configuration and the tensors that the network it describes takes.

    Attributes:
        tensors: by the network's names, aliases left out where they say nothing new.
        inferred, notes: what was taken from the tensors, and what else to tell.
        aliases: names under which the file holds a second time what the network holds once.
        missing: names that the network needs and the file lacks.
        leftover: names that the network has no place for.
        misshaped: a sentence for every tensor whose shape is not the one that the configuration asks for.
    """

    config: BERTConfig
    tensors: Mapping[str, Tensor]
    inferred: tuple[str, ...]
    notes: tuple[str, ...]
    aliases: tuple[str, ...]
    missing: tuple[str, ...]
    leftover: tuple[str, ...]
    misshaped: tuple[str, ...]


def fit(values: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Fit:
    """Settle the configuration `values` of a config.json with `tensors` under the network's names.

    Raises:
        ConfigError: a field that no tensor proves has an impossible value.
    """
    tensors, given = dict(tensors), tensors
    notes: list[str] = []
    settled = dict(values)
    asks_tied = settled.get("tie_word_embeddings") is not False
    if asks_tied and _WORDS not in tensors and _DECODER in tensors:
        tensors[_WORDS] = tensors[_DECODER]
        notes.append("The file holds the tied matrix as decoder.weight alone; it serves as the word embedding too.")
    inferred = _infer(settled, tensors)
    asked_layers, found_layers = values.get("num_hidden_layers"), settled.get("num_hidden_layers")
    if isinstance(asked_layers, int) and isinstance(found_layers, int) and asked_layers > found_layers:
        notes.append(
            f"config.json asks for {_short(asked_layers)} layers, the file holds {found_layers}: if the others were "
            "lost, what it predicts means nothing."
        )
    settled["tie_word_embeddings"] = _settle_tie(asks_tied, tensors, notes)
    _settle_bias(tensors, notes)
    config = BERTConfig.from_dict(settled)

    needed = expected_shapes(config)
    aliases = set(ALIASES) if config.tie_word_embeddings else {_DECODER_BIAS}
    present = {name: tensors[name] for name in needed if name in tensors}
    return Fit(
        config=config,
        aliases=tuple(
            alias
            for alias, own in ALIASES.items()
            if alias in aliases and alias in given and own in given and _same(given[alias], given[own])
        ),
        tensors={name: t for name, t in present.items() if name not in aliases},
        inferred=tuple(inferred),
        notes=tuple(notes),
        missing=tuple(name for name in needed if name not in present and name not in aliases),
        leftover=tuple(name for name in tensors if name not in needed),
        misshaped=tuple(
            f"{name} has shape {tuple(t.shape)}, the configuration asks for {needed[name]}."
            for name, t in present.items()
            if tuple(t.shape) != needed[name]
        ),
    )


def expected_shapes(config: BERTConfig) -> dict[str, tuple[int, ...]]:
    """Shape of every tensor of the network, by name, aliases included; no memory is taken for them.

    Raises:
        ConfigError: a tensor would have more numbers than can be counted.
    """
    try:
        with torch.device("meta"):
            model = BERTForMaskedLM(config)
    except (RuntimeError, TypeError, OverflowError) as error:  # more than 64 bits can count
        raise ConfigError("The sizes in config.json multiply to more than any machine can hold.") from error
    return {name: tuple(t.shape) for name, t in model.state_dict().items()}


def _infer(settled: dict[str, Any], tensors: Mapping[str, Tensor]) -> list[str]:
    """Overwrite what the tensors prove otherwise; a sentence for each."""
    proved = {
        field: (tensors[name].shape[dimension], name)
        for field, name, dimension in _PROOFS
        if name in tensors and tensors[name].ndim == 2
    }
    if layers := n_layers(tensors):
        proved["num_hidden_layers"] = (layers, "bert.encoder.layer")
    inferred = []
    for field, (value, name) in proved.items():
        if settled.get(field) != value:
            said = (
                f"config.json says {field} = {_short(settled[field])}"
                if field in settled
                else f"config.json lacks {field}"
            )
            inferred.append(f"{said}; {name} proves {value}.")
            settled[field] = value
    width = settled.get("hidden_size")
    if settled.get("num_attention_heads") is None and isinstance(width, int) and width % _HEAD_WIDTH == 0:
        settled["num_attention_heads"] = width // _HEAD_WIDTH
        inferred.append(
            f"config.json lacks num_attention_heads, which no tensor proves; {width // _HEAD_WIDTH} was taken, since "
            f"BERT's heads are {_HEAD_WIDTH} wide."
        )
    return inferred


def _settle_tie(asked: bool, tensors: dict[str, Tensor], notes: list[str]) -> bool:
    """Whether the network is tied: as the configuration asks, unless the file holds two different matrices."""
    words, decoder = tensors.get(_WORDS), tensors.get(_DECODER)
    if decoder is None or words is None or not asked:
        return asked
    if _same(words, decoder) or not (is_opened(words.dtype) and is_opened(decoder.dtype)):
        return True  # numbers that cannot be opened are refused by name later
    if words.shape != decoder.shape:
        apart = f"in shape, {tuple(words.shape)} and {tuple(decoder.shape)}"
    else:
        far = (words.float() - decoder.float()).abs()
        apart = f"by up to {far.max().item():.3g}" if far.isfinite().all() else "in NaN or infinite values"
    notes.append(
        f"The configuration asks for a tied head, but the file holds two matrices that differ {apart}. It is opened "
        "untied, which is what the file computes."
    )
    return False


def _settle_bias(tensors: dict[str, Tensor], notes: list[str]) -> None:
    """One output bias, whatever names the file keeps it under."""
    own, copy = tensors.get(_BIAS), tensors.get(_DECODER_BIAS)
    if own is None and copy is not None:
        tensors[_BIAS] = copy
    elif own is not None and copy is not None and not _same(own, copy):
        tensors[_BIAS] = copy
        notes.append(f"The file holds two output biases that differ; {_DECODER_BIAS} is used, as in transformers.")


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:39] + "…"


def _same(a: Tensor, b: Tensor) -> bool:
    """Equal in every value, NaN counted as equal to NaN."""
    if a is b:
        return True
    if a.shape != b.shape or not (a.is_floating_point() and b.is_floating_point()):
        return False
    return torch.allclose(a.float(), b.float(), rtol=0, atol=0, equal_nan=True)


__all__ = ["Fit", "expected_shapes", "fit"]
