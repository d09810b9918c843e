"""Two checkpoints, tensor by tensor, and their vocabularies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from bertviz_lite.checkpoints._checkpoint import Checkpoint

_DECODER = "cls.predictions.decoder.weight"
_MOST_NAMED = 8
_NOT_COMPARED = ("torch_dtype", "dtype", "transformers_version", "_name_or_path")  # of the file, not the network
_CHUNK = 1 << 22  # values taken to float64 at a time


@dataclass(frozen=True)
class TensorChange:
    """One tensor in both checkpoints.

    Attributes:
        cosine: of the flattened tensors; 1 = same direction, NaN where one is all zeros.
        relative_change: norm of (b - a) over the norm of a; infinite where a is all zeros and b is not.
        largest_change: largest |b - a| of a single value.
    """

    name: str
    shape: tuple[int, ...]
    cosine: float
    relative_change: float
    largest_change: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; JSON has neither NaN nor infinity, so a null stands for them."""
        values = {**asdict(self), "shape": list(self.shape)}
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}


@dataclass(frozen=True)
class ShapeChange:
    """A tensor whose shape is another in each checkpoint."""

    name: str
    shape_a: tuple[int, ...]
    shape_b: tuple[int, ...]


@dataclass(frozen=True)
class Comparison:
    """What differs between checkpoint a and checkpoint b.

    Attributes:
        changes: of every tensor that both have in one shape, in the order of the network.
        only_a, only_b: names that one alone has.
        reshaped: tensors of another shape.
        config: (value in a, value in b) of every field that differs.
        pieces_a, pieces_b: pieces that one vocabulary alone has.
        moved: pieces that both have under another id.
    """

    name_a: str
    name_b: str
    changes: tuple[TensorChange, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    reshaped: tuple[ShapeChange, ...]
    config: Mapping[str, tuple[Any, Any]]
    pieces_a: tuple[str, ...]
    pieces_b: tuple[str, ...]
    moved: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether nothing differs at all, bit for bit."""
        differs = (self.only_a, self.only_b, self.reshaped, self.config, self.pieces_a, self.pieces_b, self.moved)
        return not any(differs) and all(change.largest_change == 0 for change in self.changes)

    def summary(self) -> str:
        """How many tensors differ, in a sentence."""
        changed = sum(change.largest_change > 0 for change in self.changes)
        told = f"{changed} of {len(self.changes)} tensors that both have in one shape differ"
        if self.reshaped:
            told += f"; {len(self.reshaped)} have another shape"
        if only := len(self.only_a) + len(self.only_b):
            told += f"; {only} {'is' if only == 1 else 'are'} in one of the two alone"
        return f"{told}."

    def differences(self) -> list[str]:
        """What differs beside the values of the weights, a line each."""
        a, b = self.name_a, self.name_b
        lines = [f"{field}: {x!r} in {a}, {y!r} in {b}" for field, (x, y) in self.config.items()]
        lines += [f"{r.name}: shape {r.shape_a} in {a}, {r.shape_b} in {b}" for r in self.reshaped]
        for title, names in (
            (f"tensors only in {a}", self.only_a),
            (f"tensors only in {b}", self.only_b),
            (f"pieces only in {a}", self.pieces_a),
            (f"pieces only in {b}", self.pieces_b),
            ("pieces under another id", self.moved),
        ):
            if names:
                more = " …" if len(names) > _MOST_NAMED else ""
                lines.append(f"{title}: {len(names):,} ({', '.join(names[:_MOST_NAMED])}{more})")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON values."""
        return {
            "a": self.name_a,
            "b": self.name_b,
            "same": self.same,
            "tensors": [change.to_dict() for change in self.changes],
            "only_a": list(self.only_a),
            "only_b": list(self.only_b),
            "reshaped": [
                {"name": r.name, "shape_a": list(r.shape_a), "shape_b": list(r.shape_b)} for r in self.reshaped
            ],
            "config": {field: list(values) for field, values in self.config.items()},
            "vocabulary": {
                "only_a": list(self.pieces_a),
                "only_b": list(self.pieces_b),
                "other_id": list(self.moved),
            },
        }


def compare(a: Checkpoint, b: Checkpoint) -> Comparison:
    """Compare two opened checkpoints; a tied decoder counts only beside an untied one, as what it is: the embedding."""
    with_decoder = not (a.report.tied and b.report.tied)
    tensors_a, tensors_b = _tensors(a, with_decoder), _tensors(b, with_decoder)
    shared = [name for name in tensors_a if name in tensors_b]
    values_a, values_b = (
        {key: value for key, value in c.config.to_dict().items() if key not in _NOT_COMPARED} for c in (a, b)
    )
    ids_a, ids_b = _ids(a), _ids(b)
    return Comparison(
        name_a=a.report.name,
        name_b=b.report.name,
        changes=tuple(
            _change(name, tensors_a[name], tensors_b[name])
            for name in shared
            if tensors_a[name].shape == tensors_b[name].shape
        ),
        only_a=tuple(name for name in tensors_a if name not in tensors_b),
        only_b=tuple(name for name in tensors_b if name not in tensors_a),
        reshaped=tuple(
            ShapeChange(name, tuple(tensors_a[name].shape), tuple(tensors_b[name].shape))
            for name in shared
            if tensors_a[name].shape != tensors_b[name].shape
        ),
        config={
            field: (values_a.get(field), values_b.get(field))
            for field in {**values_a, **values_b}
            if values_a.get(field) != values_b.get(field)
        },
        pieces_a=tuple(piece for piece in ids_a if piece not in ids_b),
        pieces_b=tuple(piece for piece in ids_b if piece not in ids_a),
        moved=tuple(piece for piece, i in ids_a.items() if piece in ids_b and ids_b[piece] != i),
    )


def _tensors(checkpoint: Checkpoint, with_decoder: bool) -> dict[str, Tensor]:
    tensors = checkpoint.tensors()
    if with_decoder and checkpoint.predicts:
        tensors.setdefault(_DECODER, checkpoint.model.cls.predictions.decoder.weight.detach())
    return tensors


def _ids(checkpoint: Checkpoint) -> dict[str, int]:
    return {piece: i for i, piece in enumerate(checkpoint.tokenizer.pieces) if piece is not None}


def _change(name: str, a: Tensor, b: Tensor) -> TensorChange:
    flat_a, flat_b = a.reshape(-1), b.reshape(-1)
    moved = torch.where(flat_a.isnan() & flat_b.isnan(), torch.zeros_like(flat_a), flat_b - flat_a)
    norm_a, norm_b, norm_moved = (_dot(t, t) ** 0.5 for t in (flat_a, flat_b, moved))
    return TensorChange(
        name=name,
        shape=tuple(a.shape),
        cosine=_dot(flat_a, flat_b) / (norm_a * norm_b) if norm_a and norm_b else float("nan"),
        relative_change=norm_moved / norm_a if norm_a else (float("inf") if norm_moved else 0.0),
        largest_change=float(moved.abs().max()) if moved.numel() else 0.0,
    )


def _dot(a: Tensor, b: Tensor) -> float:
    """In float64: over the 23 million values of an embedding float32 would lose the fourth digit."""
    pairs = zip(torch.split(a, _CHUNK), torch.split(b, _CHUNK), strict=True)
    return sum((float(torch.dot(x.double(), y.double())) for x, y in pairs), 0.0)


__all__ = ["Comparison", "ShapeChange", "TensorChange", "compare"]
