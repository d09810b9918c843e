"""From a source to a checkpoint that predicts, or to the report of why it cannot."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bertviz_lite.checkpoints._fit import Fit, expected_shapes, fit
from bertviz_lite.checkpoints._folder import Source, opened
from bertviz_lite.checkpoints._names import Names, canonical_names, n_layers
from bertviz_lite.checkpoints._tensors import Weights, find_weights, read_weights
from bertviz_lite.checkpoints.report import ParameterCounts, Report, TensorInfo, Unused
from bertviz_lite.checkpoints.statistics import tensor_statistics
from bertviz_lite.config import BERTConfig
from bertviz_lite.errors import CheckpointError, MissingTensorsError, TokenizerError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import TOKENIZER_FILES, Tokenizer

BUNDLED = Path(__file__).parent.parent / "bundled" / "english-mini"

_OTHER_FAMILIES = ("albert", "camembert", "deberta", "distilbert", "electra", "mobilebert", "modernbert", "roberta")
_MOST_NAMED = 6


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

    @cached_property
    def excluded_ids(self) -> frozenset[int]:
        """Rows of the vocabulary that no piece belongs to (padding rows); never predict these."""
        pieces = self.tokenizer.pieces
        return frozenset(i for i in range(self.config.vocab_size) if i >= len(pieces) or pieces[i] is None)

    def tensors(self) -> dict[str, Tensor]:
        """The weights in use by the network's names, each once: aliases of a tied head are left out."""
        state = self.model.state_dict()
        return {info.name: state[info.name] for info in self.report.tensors}

    def save_pretrained(self, folder: str | Path) -> None:
        """Write a clean Hugging Face folder: model.safetensors, config.json and the tokenizer's files."""
        self.model.save_pretrained(folder)
        for name, content in self.tokenizer.to_files().items():
            (Path(folder) / name).write_text(content, encoding="utf-8")


@dataclass(frozen=True)
class _Contents:
    fit: Fit
    tokenizer: Tokenizer | None
    report: Report


def load(source: Source | None = None, *, name: str | None = None) -> Checkpoint:
    """Open a BERT masked language model.

    Args:
        source: a folder in the Hugging Face layout, a zip of one, or open binary files by name; None is the bundled
            model.
        name: what to call it; by default the name of the folder or file.

    Raises:
        MissingTensorsError: the head, or another part, is not in the files; says which tensors.
        CheckpointError: it cannot be opened for another reason.
        ConfigError, TokenizerError: config.json or the tokenizer's files are wrong.
    """
    contents = _read(BUNDLED if source is None else source, name)
    report = contents.report
    if report.missing:
        raise MissingTensorsError(report.problems[0], report.missing)
    if report.problems:
        raise CheckpointError(" ".join(report.problems))
    if contents.tokenizer is None:  # _read has reported it as a problem
        raise TokenizerError("There is no tokenizer.")
    model = BERTForMaskedLM.from_state_dict(contents.fit.config, contents.fit.tensors)
    return Checkpoint(model, contents.tokenizer, contents.fit.config, report)


def inspect(source: Source | None = None, *, name: str | None = None) -> Report:
    """Read a checkpoint and report on it, every tensor in numbers, also where it cannot predict; see `problems`.

    Raises:
        CheckpointError: there are no readable weights of a BERT.
        ConfigError, TokenizerError: config.json or the tokenizer's files are wrong.
    """
    contents = _read(BUNDLED if source is None else source, name)
    held = contents.fit.tensors
    numbers = tuple(replace(info, statistics=tensor_statistics(held[info.name])) for info in contents.report.tensors)
    return replace(contents.report, tensors=numbers)


def _read(source: Source, name: str | None) -> _Contents:
    with opened(source) as folder:
        values = _read_config(folder)
        _refuse_other_families(values)
        weights = read_weights(find_weights(folder))
        names = canonical_names(weights.tensors)
        if n_layers(names.names) == 0:
            some = ", ".join(list(weights.tensors)[:3])
            raise CheckpointError(f"{weights.file} holds no layer of a BERT encoder; it holds {some}, for example.")
        fitted = fit(values, {new: weights.tensors[old] for new, old in names.names.items()})
        files = [p for p in (folder / n for n in ("config.json", *TOKENIZER_FILES, weights.file)) if p.is_file()]
        has_tokenizer = any(p.name in ("tokenizer.json", "vocab.txt") for p in files)
        tokenizer = Tokenizer.from_folder(folder) if has_tokenizer else None
        report = _report(name or _name(source), files, weights, names, fitted, tokenizer)
        return _Contents(fitted, tokenizer, report)


def _report(
    name: str, files: list[Path], weights: Weights, names: Names, fitted: Fit, tokenizer: Tokenizer | None
) -> Report:
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    leftover = tuple(Unused(names.names[n], "the network has no place for it") for n in fitted.leftover)
    report = Report(
        name=name,
        digest=digest.hexdigest(),
        files=tuple(path.name for path in files),
        format=weights.format,
        config=fitted.config,
        parameters=count_parameters(fitted.config),
        tied=fitted.config.tie_word_embeddings,
        tensors=tuple(
            TensorInfo(n, tuple(t.shape), str(t.dtype).removeprefix("torch.")) for n, t in fitted.tensors.items()
        ),
        missing=fitted.missing,
        unused=names.unused + leftover,
        renamed=names.renamed,
        inferred=fitted.inferred,
        notes=fitted.notes + (tokenizer.notes if tokenizer else ()) + _not_finite(fitted.tensors),
    )
    return replace(report, problems=tuple(_problems(fitted, names, tokenizer)))


def _problems(fitted: Fit, names: Names, tokenizer: Tokenizer | None) -> list[str]:
    problems = []
    head = [n for n in fitted.missing if n.startswith("cls.")]
    if fitted.missing and len(head) == len(fitted.missing):
        problems.append(
            f"The masked-language-model head is not in the file, so it cannot predict: missing are {_some(head)}. "
            "Give a checkpoint saved from BertForMaskedLM or BertForPreTraining."
        )
    elif fitted.missing:
        problems.append(f"{len(fitted.missing)} tensors are missing: {_some(fitted.missing)}.")
    problems += [f"{n} is in the file twice, under two names." for n in names.doubled]
    problems += fitted.misshaped
    problems += [
        f"{n} holds {str(t.dtype).removeprefix('torch.')} numbers; only floating-point weights can be opened."
        for n, t in fitted.tensors.items()
        if not t.is_floating_point()
    ]
    if fitted.config.extra.get("is_decoder"):
        problems.append("is_decoder is true: this BERT reads left to right only and is no masked language model.")
    if tokenizer is None:
        problems.append("There is no tokenizer.json and no vocab.txt: the model's words are unknown.")
    elif len(tokenizer) > fitted.config.vocab_size:
        first = fitted.config.vocab_size
        problems.append(
            f"The tokenizer has {len(tokenizer):,} pieces, the embedding {first:,} rows: {tokenizer.piece(first)!r}, "
            f"id {first}, has no row. Tokenizer and weights do not belong together."
        )
    return problems


def count_parameters(config: BERTConfig) -> ParameterCounts:
    """Parameters of the network that a configuration describes, by part."""
    counts = dict.fromkeys(("bert.embeddings", "bert.encoder", "cls.predictions.transform"), 0)
    for tensor, shape in expected_shapes(config).items():
        for part in counts:
            if tensor.startswith(part + "."):
                counts[part] += TensorInfo(tensor, shape, "").n_values
    embeddings, encoder, transform = counts.values()
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
        f"embedding by up to {apart:.3g}."
    )


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    if not path.is_file():
        raise CheckpointError("There is no config.json: it tells the number of heads, which no tensor does.")
    try:
        values = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise CheckpointError(f"config.json is not valid JSON ({error}).") from error
    if not isinstance(values, dict):
        raise CheckpointError(f"config.json must hold a JSON object, not {type(values).__name__}.")
    return values


def _refuse_other_families(values: Mapping[str, Any]) -> None:
    family = str(values.get("model_type") or "bert").lower()
    if family != "bert":
        known = f"a {family} model" if family in _OTHER_FAMILIES else f"of the type {family!r}"
        raise CheckpointError(f"This checkpoint is {known}; only BERT (model_type bert) can be opened here.")


def _not_finite(tensors: Mapping[str, Tensor]) -> tuple[str, ...]:
    # The extremes of a tensor are NaN where any value is; asking two numbers is quicker than asking all.
    floats = {name: t for name, t in tensors.items() if t.is_floating_point() and t.numel()}
    bad = [name for name, t in floats.items() if not torch.stack(t.aminmax()).isfinite().all()]
    return tuple(f"{name} holds NaN or infinite values; what depends on it will be NaN." for name in bad)


def _some(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"


def _name(source: Source) -> str:
    if isinstance(source, (str, Path)):
        return Path(source).expanduser().resolve().name.removesuffix(".zip")
    return next((n.removesuffix(".zip") for n in source if n.lower().endswith(".zip")), "uploaded model")


__all__ = ["BUNDLED", "Checkpoint", "count_parameters", "inspect", "load", "tie_sentence"]
