"""Checkpoints as other programs leave them: archives, shards, wrappers, names; good ones and bad ones."""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
from collections.abc import Mapping
from typing import Any

import torch
from small_files import PICKLE, WEIGHTS, files, packed, tensors_of

FILES = files()
PLAIN = {name: content for name, content in FILES.items() if name != WEIGHTS}


def tar_of(contents: Mapping[str, bytes], *odd: tarfile.TarInfo, mode: str = "w") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as tar:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for member in odd:
            tar.addfile(member)
    return buffer.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, to: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, to
    return info


DEEP = {f"./models/tiny/{name}": content for name, content in FILES.items()}
BAD_TARS = {
    "upwards": (tar_of(FILES, member("../x.bin")), "x.bin"),
    "absolute": (tar_of(FILES, member("/x.bin")), "x.bin"),
    "a symbolic link": (tar_of(FILES, member(PICKLE, tarfile.SYMTYPE, "/etc/passwd")), "link"),
    "a hard link": (tar_of(FILES, member(PICKLE, tarfile.LNKTYPE, "config.json")), "link"),
    "a link to a folder": (tar_of(FILES, member("docs", tarfile.SYMTYPE, "/etc")), "link"),
    "a device": (tar_of(FILES, member(PICKLE, tarfile.CHRTYPE)), "link"),
    "too many": (tar_of(FILES | {f"{i}.txt": b"" for i in range(2001)}, mode="w:gz"), "2,000 files"),
    "a bomb": (tar_of(FILES | {"zeros.bin": bytes(66 << 20)}, mode="w:gz"), "times"),
    "cut short": (tar_of(FILES, mode="w:gz")[:-5000], "damaged"),
    "no tar": (b"not a tar at all" * 100, "damaged"),
    "nothing": (b"", "damaged"),
}


def long_name() -> bytes:
    """A header that announces a name of 400 MB; tarfile reads it into memory before it shows a member."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 400 << 20
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as packed_file:
        packed_file.write(info.tobuf(tarfile.GNU_FORMAT))
        for _ in range(400):
            packed_file.write(bytes(1 << 20))
    return buffer.getvalue()


def shards(stem: str, ending: str, n: int = 3) -> dict[str, bytes]:
    parts = [dict(list(tensors_of().items())[i::n]) for i in range(n)]
    names = [f"{stem}-{i + 1:05}-of-{n:05}{ending}" for i in range(n)]
    index = {"metadata": {}, "weight_map": {t: name for name, part in zip(names, parts, strict=True) for t in part}}
    content = {name: packed(part, name) for name, part in zip(names, parts, strict=True)}
    return {**PLAIN, **content, f"{stem}{ending}.index.json": json.dumps(index).encode()}


SHARDS = {"safetensors": shards("model", ".safetensors"), "pickles": shards("pytorch_model", ".bin")}


INDEXES: dict[str, Any] = {
    "no JSON": b"{", "a list": b"[]", "no map": b"{}", "an empty map": b'{"weight_map": {}}',
    "a map of numbers": b'{"weight_map": {"a": 5}}', "a map that is a list": b'{"weight_map": ["a"]}',
    "upwards": b'{"weight_map": {"a": "../x.safetensors"}}', "absolute": b'{"weight_map": {"a": "/etc/passwd"}}',
    "the folder above": b'{"weight_map": {"a": ".."}}', "deep": b"[" * 100_000,
}  # fmt: skip


TRAINED = {"epoch": 3, "global_step": 900, "optimizer_states": [{"state": {0: {"exp_avg": torch.ones(9, 9)}}}],
           "hyper_parameters": {"lr": 1e-4}, "loops": {}, "pytorch-lightning_version": "2.4.0"}  # fmt: skip


def in_tensorflow(name: str) -> str:
    name = re.sub(r"\.layer\.(\d+)\.", r".layer_\1.", name)
    name = re.sub(r"LayerNorm\.weight$", "LayerNorm.gamma", re.sub(r"LayerNorm\.bias$", "LayerNorm.beta", name))
    name = name.replace("_embeddings.weight", "_embeddings").replace("predictions.bias", "predictions.output_bias")
    return re.sub(r"\.weight$", ".kernel", name)


# a prefix of tensors' names, and whose it is
FAMILIES = {
    "roberta": "RoBERTa",
    "model.roberta": "RoBERTa",
    "electra": "ELECTRA",
    "deberta": "DeBERTa",
    "mpnet": "MPNet",
    "distilbert": "DistilBERT",
    "transformer": "GPT",
    "albert": "ALBERT",
}
