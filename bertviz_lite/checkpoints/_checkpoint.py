"""An opened checkpoint: a model that computes, its tokenizer, and the account of how they were read."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Literal

from safetensors.torch import load_file, save_file
from torch import Tensor

from bertviz_lite.checkpoints._fit import expected_shapes
from bertviz_lite.checkpoints.report import ParameterCounts, Report, TensorInfo
from bertviz_lite.config import BERTConfig
from bertviz_lite.errors import CheckpointError
from bertviz_lite.model import ALIASES, BERTForMaskedLM
from bertviz_lite.tokenizer import Tokenizer

_WORDS = "bert.embeddings.word_embeddings.weight"


@dataclass(frozen=True)
class Checkpoint:
    """A model that predicts, its tokenizer, and the account of how they were read.

    Attributes:
        model: in evaluation mode, float32, on the CPU.
        report: what was read, renamed, inferred and left aside.
    """

    model: BERTForMaskedLM
    tokenizer: Tokenizer
    config: BERTConfig
    report: Report

    @property
    def predicts(self) -> bool:
        """Whether the head came with the files; of an encoder alone, predictions would be noise."""
        return not self.report.missing

    @cached_property
    def excluded_ids(self) -> frozenset[int]:
        """Rows of the vocabulary that no piece belongs to (padding rows); never predict these."""
        pieces = self.tokenizer.pieces
        return frozenset(i for i in range(self.config.vocab_size) if i >= len(pieces) or pieces[i] is None)

    @cached_property
    def not_language_ids(self) -> frozenset[int]:
        """Special tokens and padding rows: what does not compete with words unless it is asked to."""
        return self.excluded_ids | self.tokenizer.special_ids

    def tensors(self) -> dict[str, Tensor]:
        """The weights in use by the network's names, each once: aliases of a tied head are left out."""
        state = self.model.state_dict()
        return {info.name: state[info.name] for info in self.report.tensors}

    def tied_to(self, matrix: Literal["embedding", "decoder"]) -> Checkpoint:
        """The same model with one matrix for both ends: the word embedding, or the decoder.

        Raises:
            CheckpointError: it is tied already.
        """
        if self.config.tie_word_embeddings:
            raise CheckpointError(f"{self.report.name} is tied already.")
        config = replace(self.config, tie_word_embeddings=True)
        tensors = {name: t for name, t in self.model.state_dict().items() if name not in ALIASES}
        if matrix == "decoder":
            tensors[_WORDS] = self.model.cls.predictions.decoder.weight.detach()
        report = replace(
            self.report,
            name=f"{self.report.name}, tied to its {matrix}",
            digest=hashlib.sha256(f"{self.report.digest} {matrix}".encode()).hexdigest(),
            config=config,
            parameters=count_parameters(config),
            tied=True,
            tensors=tuple(info for info in self.report.tensors if info.name in tensors),
            notes=(f"Opened untied, then tied to its {matrix}: the other matrix is gone.",),
        )
        return Checkpoint(BERTForMaskedLM.from_state_dict(config, tensors), self.tokenizer, config, report)

    def to_files(self) -> dict[str, IO[bytes]]:
        """config.json and the tokenizer's files, without weights, by name."""
        contents = {"config.json": json.dumps(self.config.to_dict()), **self.tokenizer.to_files()}
        return {name: io.BytesIO(content.encode()) for name, content in contents.items()}

    def save_pretrained(self, folder: str | Path) -> None:
        """Write a clean Hugging Face folder: model.safetensors, config.json and the tokenizer's files.

        Of an encoder alone only the encoder: its random head would be taken for a trained one.

        Raises:
            CheckpointError: the folder cannot be written.
        """
        try:
            self._save(Path(folder))
        except OSError as error:
            raise CheckpointError(f"{folder} cannot be written ({error.strerror or error}).") from error

    def _save(self, folder: Path) -> None:
        write_folder(self.model, self.tokenizer, folder)
        if not self.predicts:
            weights = folder / "model.safetensors"
            trunk = {name: t.clone() for name, t in load_file(weights).items() if name.startswith("bert.")}
            save_file(trunk, weights, metadata={"format": "pt"})


def write_folder(model: BERTForMaskedLM, tokenizer: Tokenizer, folder: Path) -> None:
    """Write a model and its tokenizer as a folder in the Hugging Face layout; an OSError says why not."""
    model.save_pretrained(folder)
    for name, content in tokenizer.to_files().items():
        (folder / name).write_text(content, encoding="utf-8")


def count_parameters(config: BERTConfig, *, headless: bool = False) -> ParameterCounts:
    """Parameters of the network that a configuration describes, by part; `headless`: of its encoder alone."""
    counts = dict.fromkeys(("bert.embeddings", "bert.encoder", "cls.predictions.transform"), 0)
    for tensor, shape in expected_shapes(config).items():
        for part in counts:
            if tensor.startswith(part + "."):
                counts[part] += TensorInfo(tensor, shape, "").n_values
    embeddings, encoder, transform = counts.values()
    if headless:
        return ParameterCounts(embeddings, encoder, 0, 0, 0)
    decoder = 0 if config.tie_word_embeddings else config.vocab_size * config.hidden_size
    return ParameterCounts(embeddings, encoder, transform, decoder, config.vocab_size)


def tie_sentence(model: BERTForMaskedLM) -> str:
    """The tie, checked on the network in memory, not read from a setting."""
    words = model.bert.embeddings.word_embeddings.weight
    decoder = model.cls.predictions.decoder.weight
    n = f"{words.numel():,}"
    shape = f"{words.shape[0]:,} × {words.shape[1]:,}"
    if decoder is words:
        return (
            f"**Tied**: the decoder's weight ({shape}) is the word embedding itself, one tensor in memory under two "
            f"names. Untied, the model would have {n} parameters more."
        )
    apart = (words - decoder).abs().max().item()
    return (
        f"**Untied**: the decoder has a matrix of its own ({shape}, {n} parameters) that differs from the word "
        f"embedding by up to {apart:.3g}. transformers 5 counts {words.shape[0]:,} parameters more: it keeps a second "
        "output bias for an untied model, which nothing reads."
    )


def dtype_name(tensor: Tensor) -> str:
    """float16, int8 and so on."""
    return str(tensor.dtype).removeprefix("torch.")


__all__ = ["Checkpoint", "count_parameters", "dtype_name", "tie_sentence", "write_folder"]
