"""Checkpoints that cannot predict: a name, the files, the error, the words that a person needs to read.

Add a case by adding a line to a table. Tensors and files are named in the message; the wording is free.
"""

from __future__ import annotations

import io
import json
import pickle
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from small_files import (
    BIAS,
    DECODER,
    PICKLE,
    POSITIONS,
    VOCABULARY,
    WEIGHTS,
    WORDS,
    Tensors,
    files,
    packed,
    reference,
    saved,
    tensors_of,
)

from bertviz_lite.errors import (
    BertvizError,
    CheckpointError,
    ConfigError,
    MissingTensorsError,
    TokenizerError,
    WeightsError,
)

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935\nsize 440473133\n"
HTML = b"\n<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>"
NOISE = bytes(range(256)) * 40
LAYER = "bert.encoder.layer.1.attention.self.key.weight"
DISTANCE = "bert.encoder.layer.{}.attention.self.distance_embedding.weight"
HEAD = tuple(name for name in tensors_of() if name.startswith("cls."))


@dataclass(frozen=True)
class Refused:
    """A checkpoint that `load` refuses.

    Attributes:
        error: the class of the error.
        words: what its message must name.
        missing: what `MissingTensorsError.missing` must list.
        reported: whether `inspect` gives a report all the same.
    """

    name: str
    files: Callable[[], Mapping[str, bytes]]
    words: tuple[str, ...]
    error: type[BertvizError] = CheckpointError
    missing: tuple[str, ...] = ()
    reported: bool = False


def params(cases: tuple[Refused, ...]) -> list[Any]:
    """The cases as parameters of a test."""
    return [pytest.param(case, id=case.name) for case in cases]


def lacking(*names: str, **config: Any) -> Callable[[], Mapping[str, bytes]]:  # noqa: ANN401
    """The tied checkpoint without some tensors (or files)."""
    tensors = {name: t for name, t in tensors_of().items() if name not in names}
    return lambda: {name: content for name, content in files(tensors, config=config).items() if name not in names}


def having(tensors: Mapping[str, Any], **config: Any) -> Callable[[], Mapping[str, bytes]]:  # noqa: ANN401
    """The tied checkpoint with other or further tensors."""
    return lambda: files(tensors_of() | dict(tensors), config=config)


def beside(**contents: bytes) -> Callable[[], Mapping[str, bytes]]:
    """The tied checkpoint with other contents of its files; the last "_" of a name stands for the dot."""
    return lambda: files() | {".".join(name.rsplit("_", 1)): content for name, content in contents.items()}


def pickled(content: bytes) -> Callable[[], Mapping[str, bytes]]:
    """The checkpoint with these bytes for a pickle of weights."""
    return lambda: {name: c for name, c in files().items() if name != WEIGHTS} | {PICKLE: content}


def post_processed(**changes: Any) -> Callable[[], Mapping[str, bytes]]:  # noqa: ANN401
    """A tokenizer.json whose template frames a text otherwise."""
    values = json.loads(saved()["tokenizer.json"])
    values["post_processor"] |= changes
    return lambda: files() | {"tokenizer.json": json.dumps(values).encode()}


def tar(content: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("pickle")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def with_weights(*names: str) -> Callable[[], Mapping[str, bytes]]:
    """The checkpoint whose weights lie in these files instead."""
    return lambda: lacking(WEIGHTS)() | dict.fromkeys(names, files()[WEIGHTS])


def renumbered(old: int, new: int) -> Tensors:
    return {name.replace(f"layer.{old}.", f"layer.{new}."): t for name, t in tensors_of().items()}


FAMILIES = ("albert", "camembert", "deberta", "distilbert", "electra", "mobilebert", "modernbert", "roberta", "gpt2")
CONFIGS = (
    Refused("no config.json", lacking("config.json"), ("config.json",)),
    Refused("an empty config.json", beside(config_json=b""), ("config.json", "JSON")),
    Refused("a broken config.json", beside(config_json=b"{'vocab_size': 99}"), ("config.json", "JSON")),
    Refused("a config.json in Latin-1", beside(config_json=b'{"a": "\xe9"}'), ("config.json",)),
    Refused("a config.json with half a character", beside(config_json=b'{"model_type": "\\ud800"}'), ("only BERT",)),
    Refused("a config.json that is a list", beside(config_json=b"[1, 2]"), ("config.json", "list")),
    Refused("a config.json that is a pointer", beside(config_json=LFS), ("config.json",)),
    Refused("a config.json nested too deeply", beside(config_json=b"[" * 100_000), ("config.json",)),
    *(Refused(f"a {f} model", having({}, model_type=f), (f, "BERT")) for f in FAMILIES),
    Refused("a family in capitals", having({}, model_type="RoBERTa"), ("roberta",)),
    Refused("a decoder", having({}, is_decoder=True), ("is_decoder",), reported=True),
    Refused("7 heads", having({}, num_attention_heads=7), ("hidden_size", "32", "7"), ConfigError),
    Refused("no activation", having({}, hidden_act="cube"), ("hidden_act", "cube"), ConfigError),
    Refused("no epsilon", having({}, layer_norm_eps=0), ("layer_norm_eps",), ConfigError),
    Refused("an epsilon past all floats", having({}, layer_norm_eps=10**400), ("layer_norm_eps",), ConfigError),
    Refused("padding outside", having({}, pad_token_id=99), ("pad_token_id", "99"), ConfigError),
    Refused("relative in another way", having({}, position_embedding_type="rope"), ("rope",), ConfigError),
    Refused("distances that the configuration does not name",
            having({DISTANCE.format(n): torch.ones(79, 8) for n in range(3)}), ("distance_embedding",), reported=True),
)  # fmt: skip

TOKENIZERS = (
    Refused("no tokenizer", lacking("vocab.txt"), ("vocab.txt", "tokenizer.json"), reported=True),
    Refused("an empty vocabulary", beside(vocab_txt=b""), ("vocab.txt",), TokenizerError),
    Refused("no mask token", beside(vocab_txt=b"[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\n"), ("[MASK]",), TokenizerError),
    Refused("a broken tokenizer.json", beside(tokenizer_json=b"{"), ("tokenizer.json",), TokenizerError),
    Refused("two pieces too many", lambda: files(vocabulary=(*VOCABULARY, "one", "two")),
            ("101", "99", "'one'"), reported=True),
    Refused("a template with a foreign id", post_processed(special_tokens={
        "[CLS]": {"id": "[CLS]", "ids": [4711], "tokens": ["[CLS]"]},
        "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}), ("post_processor", "4711"), TokenizerError),
    Refused("a template with a third segment", post_processed(single=[
        {"SpecialToken": {"id": "[CLS]", "type_id": 2}}, {"Sequence": {"id": "A", "type_id": 2}}]),
            ("post_processor", "segment 2"), reported=True),
    Refused("a precompiled normalizer", lambda: files() | {"tokenizer.json": normalized({"type": "Precompiled",
            "precompiled_charsmap": "AAAA"})}, ("tokenizer.json", "precompiled"), TokenizerError),
    Refused("one id too far", lambda: files() | {"tokenizer.json": one_id(150)}, ("150", "99", "far"), reported=True),
)  # fmt: skip

TENSORS = (
    Refused("an encoder alone", lacking(*HEAD), ("head", HEAD[0]), MissingTensorsError, HEAD, True),
    *(Refused(f"no {n}", lacking(n), (n,), MissingTensorsError, (n,), True) for n in (*HEAD, POSITIONS, LAYER)),
    Refused("no matrix at all", lacking(WORDS), (WORDS,), MissingTensorsError, (WORDS,), True),
    Refused("untied without a decoder", lacking(tie_word_embeddings=False), (DECODER,), MissingTensorsError,
            (DECODER,), True),
    Refused("untied without an embedding", lambda: files({**lacking_words(), DECODER: tensors_of()[WORDS]},
            config={"tie_word_embeddings": False}), (WORDS,), MissingTensorsError, (WORDS,), True),
    Refused("a layer left out", lambda: files(renumbered(1, 3)), ("layer.1.",), MissingTensorsError, reported=True),
    *(Refused(f"{n} too long", having({n: torch.ones(41, *tensors_of()[n].shape[1:])}), (n, "41"), reported=True)
      for n in (BIAS, LAYER, "bert.embeddings.LayerNorm.weight")),
    Refused("a matrix turned", having({"bert.encoder.layer.2.output.dense.weight": torch.ones(37, 32)}),
            ("bert.encoder.layer.2.output.dense.weight", "(37, 32)", "(32, 37)"), reported=True),
    Refused("a scalar for a matrix", having({WORDS: torch.tensor(1.0)}), (WORDS,), BertvizError, reported=True),
    *(Refused(f"{d} numbers", having({LAYER: torch.ones(32, 32, dtype=d)}), (LAYER, str(d)[6:]), reported=True)
      for d in (torch.int8, torch.uint8, torch.int64, torch.bool)),
    Refused("complex numbers", having({LAYER: torch.ones(32, 32, dtype=torch.complex64)}), (LAYER, "complex64"),
            reported=True),
    Refused("a tensor twice", having({"module." + LAYER: torch.ones(32, 32)}), (LAYER, "twice"), reported=True),
    Refused("no BERT at all", lambda: files({"transformer.wte.weight": torch.ones(9, 2)}), ("transformer.wte",)),
)  # fmt: skip

FILES = (
    Refused("no weights", lacking(WEIGHTS), (WEIGHTS, PICKLE)),
    Refused("two safetensors", with_weights("a.safetensors", "b.safetensors"), ("a.safetensors", "b.safetensors")),
    Refused("two pickles", with_weights("a.bin", "b.bin"), ("a.bin", "b.bin")),
    Refused("TensorFlow alone", with_weights("tf_model.h5"), ("TensorFlow", "tf_model.h5")),
    Refused("Flax alone", with_weights("flax_model.msgpack"), ("Flax", "flax_model.msgpack")),
    *(Refused(f"{what} for {w}", lambda w=w, c=c: lacking(WEIGHTS)() | {w: c}, (w, word), WeightsError)
      for w in (WEIGHTS, PICKLE)
      for what, c, word in (("nothing", b"", "empty"), ("a pointer", LFS, "Git LFS"), ("a page", HTML, "page"),
                            ("half of it", packed(tensors_of(), w)[:20_000], "damaged"))),
    Refused("noise for safetensors", beside(model_safetensors=NOISE), (WEIGHTS, "damaged"), WeightsError),
    Refused("noise for a pickle", pickled(NOISE), (PICKLE, "damaged"), WeightsError),
    Refused("a short safetensors", beside(model_safetensors=b"abc"), (WEIGHTS,), WeightsError),
    Refused("a longer safetensors", lambda: files() | {WEIGHTS: files()[WEIGHTS] + b"x"}, (WEIGHTS,), WeightsError),
    *(Refused(f"zeros for {w}", lambda w=w: lacking(WEIGHTS)() | {w: bytes(5_000)}, (w, "zeros"), WeightsError)
      for w in (WEIGHTS, PICKLE)),
    Refused("a tar for a pickle", pickled(tar(b"storages")), (PICKLE, "is a tar", "safetensors"), WeightsError),
    Refused("a pickle of a list", pickled(packed(list(tensors_of().values()), PICKLE)), (PICKLE, "list"), WeightsError),
    Refused("a pickle of a tensor", pickled(packed(torch.ones(3), PICKLE)), (PICKLE, "Tensor"), WeightsError),
    Refused("a pickle without tensors", pickled(packed({"epoch": 3}, PICKLE)), (PICKLE, "no tensor"), WeightsError),
    Refused("a pickle of a model", pickled(packed(reference(), PICKLE)), (PICKLE, "safetensors"), WeightsError),
    Refused("a pickle in protocol 4", pickled(packed(tensors_of(), PICKLE, pickle_protocol=4)), (PICKLE, "safetensors"),
            WeightsError),
    Refused("a plain pickle of numbers", pickled(pickle.dumps({"a": [1.0]}, 2)), (PICKLE,), WeightsError),
)  # fmt: skip


def lacking_words() -> Tensors:
    return {name: t for name, t in tensors_of().items() if name != WORDS}


def normalized(normalizer: Mapping[str, str]) -> bytes:
    """A tokenizer.json that writes texts otherwise first."""
    return json.dumps(json.loads(saved()["tokenizer.json"]) | {"normalizer": normalizer}).encode()


def one_id(i: int) -> bytes:
    """A tokenizer.json whose last piece, "far", has this id."""
    values = json.loads(saved()["tokenizer.json"])
    values["model"]["vocab"]["far"] = i
    return json.dumps(values).encode()


CASES = CONFIGS + TOKENIZERS + TENSORS + FILES
