"""What was found in a checkpoint, and what was done to it, for people and as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from bertviz_lite.checkpoints.statistics import TensorStatistics
from bertviz_lite.config import BERTConfig

_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}


@dataclass(frozen=True)
class TensorInfo:
    """A tensor as the file holds it, under the network's name; its numbers where `inspect` took them."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    statistics: TensorStatistics | None = None

    @property
    def n_values(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)

    @property
    def n_bytes(self) -> int:
        """Its size in the file."""
        return self.n_values * _BYTES.get(self.dtype, 0)

    def to_dict(self) -> dict[str, Any]:
        """Name, shape, type, and the statistics where they were taken; JSON has no NaN, so a null stands for it."""
        numbers = {} if self.statistics is None else self.statistics.to_dict()
        finite = {key: value if math.isfinite(value) else None for key, value in numbers.items()}
        return {"name": self.name, "shape": list(self.shape), "dtype": self.dtype, **finite}


@dataclass(frozen=True)
class Renamed:
    """A tensor that the file calls otherwise."""

    old: str
    new: str
    reason: str


@dataclass(frozen=True)
class Unused:
    """A tensor that the network has no place for."""

    name: str
    reason: str


@dataclass(frozen=True)
class ParameterCounts:
    """Parameters of the network by part; a shared tensor counts once, where it is first used."""

    embeddings: int
    encoder: int
    transform: int
    decoder: int
    bias: int

    @property
    def total(self) -> int:
        """All parts together."""
        return self.embeddings + self.encoder + self.transform + self.decoder + self.bias

    def named(self) -> dict[str, int]:
        """The parts under the names that people know, in the order of the network."""
        return {
            "embeddings": self.embeddings,
            "layers": self.encoder,
            "transform": self.transform,
            "decoder": self.decoder,
            "output bias": self.bias,
        }

    def to_dict(self) -> dict[str, int]:
        """The total and the parts."""
        return {"total": self.total, **asdict(self)}


@dataclass(frozen=True)
class Report:
    """The account of one checkpoint.

    Attributes:
        name: what to call it.
        digest: SHA-256 of the files that were read; equal files, equal digest.
        files: names of the files that were read.
        format: how the weights were stored.
        config: the configuration that the network was, or would be, built with.
        parameters: parameters of that network.
        tied: whether its decoder is the word embedding.
        tensors: every tensor of the file that the network uses.
        missing: names of tensors that the network needs and the file lacks.
        unused, renamed: tensors left aside or found under another name, each with its reason.
        aliases: tensors that the file holds a second time under another name, a sentence each.
        inferred: configuration values that were taken from the tensors, a sentence each.
        notes: what else is worth knowing, a sentence each.
        problems: why no prediction can be made; empty for a checkpoint that opens.
    """

    name: str
    digest: str
    files: tuple[str, ...]
    format: str
    config: BERTConfig
    parameters: ParameterCounts
    tied: bool
    tensors: tuple[TensorInfo, ...]
    missing: tuple[str, ...] = ()
    unused: tuple[Unused, ...] = ()
    renamed: tuple[Renamed, ...] = ()
    aliases: tuple[str, ...] = ()
    inferred: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def lacks_head(self) -> bool:
        """Whether the files hold an encoder alone."""
        return is_head_alone(self.missing)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "name": self.name,
            "digest": self.digest,
            "files": list(self.files),
            "format": self.format,
            "config": self.config.to_dict(),
            "parameters": self.parameters.to_dict(),
            "tied": self.tied,
            "tensors": [t.to_dict() for t in self.tensors],
            "missing": list(self.missing),
            "unused": [asdict(u) for u in self.unused],
            "renamed": [{"from": r.old, "to": r.new, "reason": r.reason} for r in self.renamed],
            "aliases": list(self.aliases),
            "inferred": list(self.inferred),
            "notes": list(self.notes),
            "problems": list(self.problems),
        }


def is_head_alone(missing: tuple[str, ...]) -> bool:
    """Whether what is missing is the masked-language-model head, or a part of it, and nothing else."""
    return bool(missing) and all(name.startswith("cls.") for name in missing)


__all__ = ["ParameterCounts", "Renamed", "Report", "TensorInfo", "Unused", "is_head_alone"]
