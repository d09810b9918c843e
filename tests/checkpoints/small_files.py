"""A tiny checkpoint made with transformers, and ways to write it otherwise than transformers would.

Expected logits come from the transformers model in memory, never from a loader; no two sizes are equal, so a
transposed or misplaced tensor shows.
"""

from __future__ import annotations

import bz2
import gzip
import json
import logging
import lzma
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import save
from torch import Tensor
from transformers import BertForMaskedLM

from bertviz_lite.checkpoints import Report

# transformers writes load reports and progress bars to the terminal; neither is under test.
transformers.logging.set_verbosity(logging.CRITICAL)
transformers.logging.disable_progress_bar()

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
VOCABULARY = (*SPECIAL, "the", "cat", "sat", "##s", ".", *(f"w{i}" for i in range(89)))  # 99 pieces
SIZES = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 37,
    "max_position_embeddings": 40,
    "type_vocab_size": 2,
}
WORDS, BIAS = "bert.embeddings.word_embeddings.weight", "cls.predictions.bias"
POSITIONS = "bert.embeddings.position_embeddings.weight"
DECODER, DECODER_BIAS = "cls.predictions.decoder.weight", "cls.predictions.decoder.bias"
WEIGHTS, PICKLE = "model.safetensors", "pytorch_model.bin"

Tensors = dict[str, Tensor]


@cache
def reference(*, tied: bool = True, **changes: int | str) -> BertForMaskedLM:
    """The transformers model with noise in every parameter, LayerNorm weights around 1, in evaluation mode."""
    config = transformers.BertConfig(**{**SIZES, **changes}, tie_word_embeddings=tied)
    model = BertForMaskedLM(config)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = 0.2 * torch.randn(parameter.shape, generator=generator)
            parameter.copy_(noise + 1 if name.endswith("LayerNorm.weight") else noise)
        if not tied:  # it holds two biases and adds the decoder's
            model.cls.predictions.bias.copy_(model.cls.predictions.decoder.bias)
    return model.eval()


def tensors_of(model: BertForMaskedLM | None = None) -> Tensors:
    """Copies of the model's tensors, without the aliases where it is tied."""
    model = reference() if model is None else model
    tied = model.config.tie_word_embeddings
    aliases = (DECODER, DECODER_BIAS) if tied else ()
    return {name: t.detach().clone() for name, t in model.state_dict().items() if name not in aliases}


def holding(tensors: Mapping[str, Tensor], *, tied: bool = True, **changes: int | str) -> BertForMaskedLM:
    """A transformers model in memory with exactly these values, told by its own names."""
    config = transformers.BertConfig(**{**SIZES, **changes}, tie_word_embeddings=tied)
    model = BertForMaskedLM(config)
    own = dict(model.state_dict())
    assert tensors.keys() <= own.keys()
    with torch.no_grad():
        for name, tensor in tensors.items():
            own[name].copy_(tensor)
    assert own.keys() - tensors.keys() <= ({DECODER, DECODER_BIAS} if tied else set())
    return model.eval()


def config_of() -> dict[str, Any]:
    """The content of the tied model's config.json, as transformers writes it."""
    values: dict[str, Any] = json.loads(saved()["config.json"])
    return values


def files(
    tensors: Mapping[str, Any] | None = None,
    *,
    weights: str = WEIGHTS,
    config: Mapping[str, Any] | None = None,
    lacks: Iterable[str] = (),
    vocabulary: Iterable[str] = VOCABULARY,
) -> dict[str, bytes]:
    """A checkpoint's files by name; config.json with changes, without what it lacks."""
    values = config_of() | dict(config or {})
    return {
        "config.json": json.dumps({k: v for k, v in values.items() if k not in lacks}).encode(),
        "vocab.txt": "".join(piece + "\n" for piece in vocabulary).encode(),
        "tokenizer_config.json": b'{"do_lower_case": true}',
        weights: packed(tensors_of() if tensors is None else tensors, weights),
    }


def packed(content: Mapping[str, Any], weights: str = WEIGHTS, **options: Any) -> bytes:  # noqa: ANN401
    """The content of a file of weights, in the format of its ending."""
    if weights.endswith(".safetensors"):
        return save({name: t.contiguous().clone() for name, t in content.items()}, {"format": "pt"})
    buffer = BytesIO()
    torch.save(content, buffer, **options)
    return buffer.getvalue()


def put(folder: Path, contents: Mapping[str, bytes]) -> Path:
    """Write files into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


@cache
def saved() -> Mapping[str, bytes]:
    """The files of `transformers` itself: model and tokenizer by save_pretrained (it writes tokenizer.json alone)."""
    with tempfile.TemporaryDirectory() as folder:
        reference().save_pretrained(folder)
        tokenizer = transformers.BertTokenizer(vocab={piece: i for i, piece in enumerate(VOCABULARY)})
        tokenizer.save_pretrained(folder)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def zip_of(contents: Mapping[str, bytes | None], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip with these members, all of the same date; None is a folder's own entry."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in contents.items():
            member = zipfile.ZipInfo(name)
            member.compress_type = compression
            archive.writestr(member, b"" if content is None else content)
    return buffer.getvalue()


def tar_of(contents: Mapping[str, bytes], ending: str = ".tar", *more: tarfile.TarInfo) -> bytes:
    """A tar with these members and `more` without content, packed as its ending says."""
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, BytesIO(content))
        for member in more:
            archive.addfile(member)
    plain = buffer.getvalue()
    pack = {"gz": partial(gzip.compress, mtime=0), "bz2": bz2.compress, "xz": lzma.compress}
    kind = ending.lower().replace("tgz", "gz").rsplit(".", 1)[-1]
    return pack[kind](plain) if kind in pack else plain


def zipped(contents: Mapping[str, bytes | None], file: Path, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    """The same as a file."""
    file.write_bytes(zip_of(contents, compression))
    return file


def told(report: Report) -> dict[str, Any]:
    """What a report says beside the numbers about each tensor, which `inspect` alone takes."""
    values = report.to_dict()
    return values | {"tensors": [(t["name"], t["shape"], t["dtype"]) for t in values["tensors"]]}


def logits_of(model: torch.nn.Module) -> Tensor:
    """Logits (2, 11, V) of two sentences with padding and two segments, from their model or ours."""
    ids = torch.tensor([[2, 7, 4, 50, 98, 3, 61, 5, 9, 33, 3], [2, 8, 20, 4, 3, 77, 3, 0, 0, 0, 0]])
    segments = torch.tensor([[0] * 6 + [1] * 5, [0] * 5 + [1] * 2 + [0] * 4])
    with torch.no_grad():
        out: Tensor = model(input_ids=ids, attention_mask=(ids != 0).long(), token_type_ids=segments).logits
    return out
