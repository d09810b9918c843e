"""Checkpoints that open: names, the head's ties, precisions, configurations; each with the model that it holds.

The expected model is transformers' own, filled in memory by its own names. Add a case by adding a line to a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
import safetensors.torch
import torch
from small_files import (
    BIAS,
    DECODER,
    DECODER_BIAS,
    PICKLE,
    SIZES,
    WEIGHTS,
    WORDS,
    Tensors,
    files,
    holding,
    packed,
    reference,
    saved,
    tensors_of,
)
from transformers import BertForMaskedLM

EXTRAS = {
    "bert.pooler.dense.weight": torch.ones(32, 32),
    "bert.pooler.dense.bias": torch.ones(32),
    "cls.seq_relationship.weight": torch.ones(2, 32),
    "cls.seq_relationship.bias": torch.ones(2),
    "bert.embeddings.position_ids": torch.arange(40)[None],
}
NO_PLACE = {"bert.encoder.layer.0.gamma": torch.ones(2), "cls.beta": torch.ones(3), "odd": torch.ones(1)}
UNTIED = {"tie_word_embeddings": False}


@dataclass(frozen=True)
class Opens:
    """A checkpoint that opens.

    Attributes:
        tensors: what its file of weights holds.
        model: the transformers model that this means.
        weights: name of the file of weights.
        config, lacks: values of config.json that are changed, and keys that it lacks.
        beside: further files, or other contents of those.
        says: words that must stand among the inferences and notes of the report; without any it must be quiet.
        because: a word that the reason of every rename must have; without any nothing may be renamed.
        unused: names that the report must list as not used, and no others.
    """

    name: str
    tensors: Callable[[], Mapping[str, Any]] = tensors_of
    model: Callable[[], BertForMaskedLM] = reference
    weights: str = WEIGHTS
    config: Mapping[str, Any] = field(default_factory=dict)
    lacks: tuple[str, ...] = ()
    beside: Mapping[str, bytes] = field(default_factory=dict)
    says: tuple[str, ...] = ()
    because: str = ""
    unused: tuple[str, ...] = ()

    def files(self) -> dict[str, bytes]:
        """All files by name."""
        return files(self.tensors(), weights=self.weights, config=self.config, lacks=self.lacks) | dict(self.beside)


def params(cases: tuple[Opens, ...]) -> list[Any]:
    """The cases as parameters of a test."""
    return [pytest.param(case, id=case.name) for case in cases]


def renamed(change: Callable[[str], str], extra: Mapping[str, Any] | None = None) -> Callable[[], Tensors]:
    """The tied model's tensors with every name changed."""
    return lambda: {change(name): t for name, t in (tensors_of() | dict(extra or {})).items()}


def old_norm(name: str) -> str:
    return re.sub(r"LayerNorm\.weight$", "LayerNorm.gamma", re.sub(r"LayerNorm\.bias$", "LayerNorm.beta", name))


def short(name: str) -> str:
    return name.removeprefix("bert.")


def changed(*, drop: tuple[str, ...] = (), tied: bool = True, **copies: str) -> Tensors:
    """Tensors of a model, some copied under an alias's name, then some dropped."""
    tensors = tensors_of(reference(tied=tied))
    names = {"decoder": DECODER, "decoder_bias": DECODER_BIAS}
    tensors |= {names[alias]: tensors[original].clone() for alias, original in copies.items()}
    return {name: t for name, t in tensors.items() if name not in drop}


def apart() -> Tensors:
    """A tied head's two matrices, and one number that differs by a quarter."""
    tensors = changed(decoder=WORDS)
    tensors[DECODER][50, 7] += 0.25
    return tensors


def two_biases(tensors: Tensors) -> Tensors:
    return {**tensors, DECODER_BIAS: tensors[BIAS] + torch.linspace(-1, 1, 99)}


def by_columns() -> dict[str, Any]:
    """Parameters that ask for gradients; matrices are stored by columns."""
    return {n: torch.nn.Parameter(t.mT.contiguous().mT if t.ndim == 2 else t) for n, t in tensors_of().items()}


def rounded(dtype: torch.dtype) -> Tensors:
    return {name: t.to(dtype) for name, t in tensors_of().items()}


def wrapped(*path: str) -> Callable[[], dict[str, Any]]:
    """The tensors inside dictionaries, each with something beside."""

    def make() -> dict[str, Any]:
        content: dict[str, Any] = tensors_of()
        for key in reversed(path):
            content = {"epoch": 3, key: content, "optimizer": {"state": {}, "param_groups": []}}
        return content

    return make


FORMATS = (
    Opens("as transformers saves it", beside=saved()),
    Opens("a safetensors file without metadata", beside={WEIGHTS: safetensors.torch.save(tensors_of())}),
    Opens("a pickle", weights=PICKLE),
    Opens("a pickle with all aliases", lambda: reference().state_dict(), weights=PICKLE),
    Opens("a pickle as before torch 1.6", weights=PICKLE,
          beside={PICKLE: packed(tensors_of(), PICKLE, _use_new_zipfile_serialization=False)}),
    Opens("a pickle in protocol 3", weights=PICKLE, beside={PICKLE: packed(tensors_of(), PICKLE, pickle_protocol=3)}),
    Opens("parameters stored by columns", by_columns, weights=PICKLE),
    Opens("another file name", weights="bert-tiny.safetensors"),
    Opens("a trainer's arguments beside", weights=PICKLE, beside={"training_args.bin": b"no weights"}),
    Opens("safetensors before a pickle", beside={PICKLE: b"no weights"}),
    Opens("other frameworks' weights beside", beside={"tf_model.h5": b"", "flax_model.msgpack": b""}),
    *(Opens(f"in {' in '.join(path)}", wrapped(*path), weights=PICKLE)
      for path in (("state_dict",), ("model_state_dict",), ("model",), ("state_dict", "model"))),
    *(Opens(f"{dtype} in {w}", partial(rounded, dtype), lambda dtype=dtype: holding(rounded(dtype)), weights=w)
      for dtype in (torch.float16, torch.bfloat16, torch.float64) for w in (WEIGHTS, PICKLE)),
)  # fmt: skip

PREFIXES = ("module.", "_orig_mod.", "model.", "bert_model.", "module._orig_mod.", "model.module._orig_mod.bert_model.")
NAMES = (
    Opens("gamma and beta", renamed(old_norm), because="gamma"),
    Opens("gamma and beta in a pickle", renamed(old_norm), weights=PICKLE, because="gamma"),
    *(Opens(f"under {p}", renamed(lambda n, p=p: p + n), because="prefix") for p in PREFIXES),
    Opens("no bert.", renamed(short), because="bert."),
    Opens("module. and no bert.", renamed(lambda n: "module." + short(n)), because="prefix"),
    Opens("model., gamma and no bert.", renamed(lambda n: "model." + old_norm(short(n))), because="prefix"),
    Opens("the extras of pre-training", lambda: tensors_of() | EXTRAS, unused=tuple(EXTRAS)),
    Opens("the extras under module.", renamed(lambda n: "module." + n, EXTRAS), because="prefix",
          unused=tuple("module." + n for n in EXTRAS)),
    Opens("gamma and beta without LayerNorm.", lambda: tensors_of() | NO_PLACE, unused=tuple(NO_PLACE)),
)  # fmt: skip

TIES = (
    Opens("alias decoder.weight", partial(changed, decoder=WORDS)),
    Opens("alias decoder.bias", partial(changed, decoder_bias=BIAS)),
    Opens("both aliases", partial(changed, decoder=WORDS, decoder_bias=BIAS)),
    Opens("decoder.weight alone", partial(changed, decoder=WORDS, drop=(WORDS,)), says=("decoder.weight",)),
    Opens("decoder.bias alone", partial(changed, decoder_bias=BIAS, drop=(BIAS,))),
    Opens("two matrices where one was asked for", apart,
          lambda: holding({**apart(), DECODER_BIAS: apart()[BIAS]}, tied=False), says=("differ", "0.25", "untied")),
    Opens("two matrices and two biases", lambda: two_biases(apart()),
          lambda: holding(two_biases(apart()), tied=False), says=("differ", "untied", "biases")),
    Opens("tied with two biases", lambda: two_biases(tensors_of()),
          lambda: holding({**tensors_of(), BIAS: two_biases(tensors_of())[DECODER_BIAS]}), says=("biases",)),
    Opens("untied", partial(changed, tied=False), partial(reference, tied=False), config=UNTIED),
    Opens("untied with one bias", partial(changed, tied=False, drop=(DECODER_BIAS,)),
          partial(reference, tied=False), config=UNTIED),
    Opens("untied with decoder.bias alone", partial(changed, tied=False, drop=(BIAS,)),
          partial(reference, tied=False), config=UNTIED),
    Opens("untied with two biases", lambda: two_biases(changed(tied=False)),
          lambda: holding(two_biases(changed(tied=False)), tied=False), config=UNTIED, says=("biases", DECODER_BIAS)),
)  # fmt: skip

WRONG = {
    "vocab_size": 30522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
    "type_vocab_size": 16,  # Google's default
}
CONFIGS = (
    *(Opens(f"{k} = {v}", config={k: v}, says=(k, str(v), str(SIZES[k]))) for k, v in WRONG.items()),
    *(Opens(f"no {k}", lacks=(k,), says=(k, str(SIZES[k]))) for k in WRONG),
    *(Opens(f"{k} is null", config={k: None}, says=(k, str(SIZES[k]))) for k in ("vocab_size", "hidden_size")),
    Opens("heads alone", lacks=tuple(WRONG), says=tuple(WRONG)),
    *(Opens(f"{n} rows", lambda n=n: tensors_of(reference(vocab_size=n)), partial(reference, vocab_size=n),
            says=("vocab_size", "99", str(n))) for n in (104, 128)),
    Opens("no model_type", lacks=("model_type", "architectures")),
    Opens("no switches", lacks=("tie_word_embeddings", "is_decoder", "layer_norm_eps", "hidden_act", "pad_token_id")),
    Opens("another activation", config={"hidden_act": "gelu_new"}, model=partial(reference, hidden_act="gelu_new")),
    Opens("a byte order mark", beside={"config.json": b"\xef\xbb\xbf" + files()["config.json"]}),
)  # fmt: skip
CASES = FORMATS + NAMES + TIES + CONFIGS
