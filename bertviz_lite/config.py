"""The shape of a BERT: one frozen dataclass that reads and writes config.json.

Field names and defaults are those of bert-base-uncased in the Hugging Face layout, so files travel both ways.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from bertviz_lite.errors import ConfigError

ACTIVATIONS = ("gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "relu", "silu", "swish", "quick_gelu", "tanh")
POSITION_TYPES = ("absolute", "relative_key", "relative_key_query")

# lucid writes its two dropouts under shorter names; both spellings are read, ours is written.
_OTHER_SPELLINGS = {"hidden_dropout": "hidden_dropout_prob", "attention_dropout": "attention_probs_dropout_prob"}

_SIZES = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
)


@dataclass(frozen=True)
class BERTConfig:
    """Sizes and switches of a BERT masked language model.

    Attributes:
        vocab_size: V, rows of the word embedding (and of the decoder).
        hidden_size: D, width of every token vector; a multiple of num_attention_heads.
        num_hidden_layers: L.
        num_attention_heads: H; each head is D / H wide.
        intermediate_size: width inside the feed-forward block, usually 4 D.
        hidden_act: one of `ACTIVATIONS`.
        hidden_dropout_prob, attention_probs_dropout_prob: probabilities in [0, 1).
        max_position_embeddings: the longest sequence in tokens, special tokens included.
        type_vocab_size: number of segment ids.
        initializer_range: standard deviation of the initial weights.
        layer_norm_eps: added to the variance inside LayerNorm.
        pad_token_id: id that is masked out when no attention mask is given.
        tie_word_embeddings: whether the decoder's weight is the word embedding itself.
        position_embedding_type: one of `POSITION_TYPES`.
        extra: keys of a config.json that this network does not use, kept so that saving loses nothing.

    Raises:
        ConfigError: names the field, its value and the rule it breaks.
    """

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    pad_token_id: int = 0
    tie_word_embeddings: bool = True
    position_embedding_type: str = "absolute"
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "extra", dict(self.extra))
        for name in _SIZES:
            value = getattr(self, name)
            _require(_is_int(value) and value > 0, name, value, "must be a whole number above 0")
        _require(
            self.hidden_size % self.num_attention_heads == 0,
            "hidden_size",
            self.hidden_size,
            f"must be a multiple of num_attention_heads ({_short(self.num_attention_heads)})",
        )
        _require(self.hidden_act in ACTIVATIONS, "hidden_act", self.hidden_act, f"must be one of {_list(ACTIVATIONS)}")
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
            value = getattr(self, name)
            _require(
                _is_number(value) and 0 <= value < 1, name, value, "must be a number from 0 up to, not including, 1"
            )
        for name in ("initializer_range", "layer_norm_eps"):
            value = getattr(self, name)
            _require(_is_number(value) and value > 0, name, value, "must be a number above 0")
        _require(
            _is_int(self.pad_token_id) and 0 <= self.pad_token_id < self.vocab_size,
            "pad_token_id",
            self.pad_token_id,
            f"must be an id of the vocabulary, 0 to {self.vocab_size - 1}",
        )
        _require(
            isinstance(self.tie_word_embeddings, bool),
            "tie_word_embeddings",
            self.tie_word_embeddings,
            "must be true or false",
        )
        _require(
            self.position_embedding_type in POSITION_TYPES,
            "position_embedding_type",
            self.position_embedding_type,
            f"must be one of {_list(POSITION_TYPES)}",
        )

    @property
    def head_size(self) -> int:
        """Width of one attention head, D / H."""
        return self.hidden_size // self.num_attention_heads

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> BERTConfig:
        """Build from the content of a config.json.

        Keys that this network does not use land in `extra`; a null stands for the default.

        Raises:
            ConfigError: `values` is no mapping, or a field breaks its rule.
        """
        if not isinstance(values, Mapping):
            raise ConfigError(f"a configuration must be a JSON object of names and values, not {type(values).__name__}")
        known = {f.name for f in fields(cls)} - {"extra"}
        found: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for key, value in values.items():
            name = _OTHER_SPELLINGS.get(key, key)
            if name not in known:
                extra[key] = value
            elif value is not None and (name == key or name not in values):
                found[name] = value
        return cls(**found, extra=extra)

    def to_dict(self) -> dict[str, Any]:
        """The content of a config.json that transformers reads too, `extra` keys included."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "extra"}
        return {"architectures": ["BertForMaskedLM"], "model_type": "bert", **self.extra, **own}


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names)


def _require(holds: bool, name: str, value: object, rule: str) -> None:
    if not holds:
        raise ConfigError(f"{name} = {_short(value)}: {rule}.")


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


__all__ = ["ACTIVATIONS", "POSITION_TYPES", "BERTConfig"]
