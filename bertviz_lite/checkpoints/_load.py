"""From a source to a checkpoint that predicts, or to the report of why it cannot."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bertviz_lite.checkpoints import limits
from bertviz_lite.checkpoints._archives import ARCHIVES
from bertviz_lite.checkpoints._checkpoint import Checkpoint, count_parameters, dtype_name
from bertviz_lite.checkpoints._fit import Fit, fit
from bertviz_lite.checkpoints._folder import Folder, Source, opened
from bertviz_lite.checkpoints._names import Names, canonical_names, n_layers
from bertviz_lite.checkpoints._tensors import Weights, is_opened, read_weights
from bertviz_lite.checkpoints.hub import PREFIX
from bertviz_lite.checkpoints.report import Report, TensorInfo, Unused, is_head_alone
from bertviz_lite.checkpoints.statistics import tensor_statistics
from bertviz_lite.errors import CheckpointError, MissingTensorsError, TokenizerError
from bertviz_lite.model import ALIASES, BERTForMaskedLM
from bertviz_lite.tokenizer import TOKENIZER_FILES, Tokenizer

BUNDLED = Path(__file__).parent.parent / "bundled" / "english-mini"

# Prefix of a tensor's name, or model_type, of networks that look like BERT and are not.
_OTHER_FAMILIES = {
    "albert": "ALBERT",
    "camembert": "CamemBERT",
    "deberta": "DeBERTa",
    "distilbert": "DistilBERT",
    "electra": "ELECTRA",
    "generator": "ELECTRA",
    "mobilebert": "MobileBERT",
    "modernbert": "ModernBERT",
    "mpnet": "MPNet",
    "roberta": "RoBERTa",
    "xlm": "XLM",
    "transformer": "GPT or another transformer",
}
_MOST_NAMED = 6


@dataclass(frozen=True)
class _Contents:
    fit: Fit
    tokenizer: Tokenizer | None
    report: Report


def load(source: Source | None = None, *, name: str | None = None, headless: bool = False) -> Checkpoint:
    """Open a BERT masked language model.

    Args:
        source: a folder in the Hugging Face layout, a zip or tar of one, a file of weights with its config.json
            beside it, "hub:owner/model", or open binary files by name; None is the bundled model.
        name: what to call it; by default the name of the folder or file.
        headless: open an encoder without its head too. The head is then random: see `Checkpoint.predicts`.

    Raises:
        MissingTensorsError: the head, or another part, is not in the files; says which tensors.
        CheckpointError: it cannot be opened for another reason.
        ConfigError, TokenizerError: config.json or the tokenizer's files are wrong.
    """
    contents = _read(BUNDLED if source is None else source, name)
    report, fitted = contents.report, contents.fit
    only_head = report.lacks_head
    if report.missing and not (headless and only_head and len(report.problems) == 1):
        raise MissingTensorsError(report.problems[0], report.missing)
    if report.problems and not only_head:
        raise CheckpointError(" ".join(report.problems))
    if contents.tokenizer is None:  # _read has reported it as a problem
        raise TokenizerError("There is no tokenizer.")
    tensors = dict(fitted.tensors)
    if only_head:
        fresh = BERTForMaskedLM(fitted.config).state_dict()
        tensors |= {name: fresh[name] for name in report.missing}
    model = BERTForMaskedLM.from_state_dict(fitted.config, tensors)
    return Checkpoint(model, contents.tokenizer, fitted.config, report)


def inspect(source: Source | None = None, *, name: str | None = None) -> Report:
    """Read a checkpoint and report on it, every tensor in numbers, also where it cannot predict; see `problems`.

    Raises:
        CheckpointError: there are no readable weights of a BERT.
        ConfigError, TokenizerError: config.json or the tokenizer's files are wrong.
    """
    contents = _read(BUNDLED if source is None else source, name)
    held = contents.fit.tensors
    infos = (
        replace(info, statistics=tensor_statistics(held[info.name])) if is_opened(held[info.name].dtype) else info
        for info in contents.report.tensors
    )
    return replace(contents.report, tensors=tuple(infos))


def _read(source: Source, name: str | None) -> _Contents:
    try:
        with opened(source) as folder:
            return _read_folder(folder, name or _name(source))
    except OSError as error:
        raise CheckpointError(f"A file of the checkpoint cannot be read ({error.strerror or error}).") from error


def _read_folder(folder: Folder, name: str) -> _Contents:
    values = _read_config(folder.path)
    _refuse_other_families(values)
    weights = read_weights(folder)
    names = canonical_names(weights.tensors)
    _require_layers(weights, names)
    tensors = {
        new: weights.tensors[old].T if new in names.turned and weights.tensors[old].ndim == 2 else weights.tensors[old]
        for new, old in names.names.items()
    }
    fitted = fit(values, tensors)
    every = (folder.path / file for file in ("config.json", *TOKENIZER_FILES, *weights.files))
    files = [path for path in every if path.is_file()]
    has_tokenizer = any(path.name in ("tokenizer.json", "vocab.txt") for path in files)
    tokenizer = Tokenizer.from_folder(folder.path) if has_tokenizer else None
    return _Contents(fitted, tokenizer, _report(name, files, weights, names, fitted, tokenizer))


def _require_layers(weights: Weights, names: Names) -> None:
    n = n_layers(names.names)
    if n == 0:
        some = ", ".join(name[:100] for name in list(weights.tensors)[:3])
        family = next((f for prefix, f in _OTHER_FAMILIES.items() if _has_prefix(weights.tensors, prefix)), None)
        told = f"{family}; only BERT can be opened here" if family else "no layer of a BERT encoder"
        raise CheckpointError(f"{weights.files[0]} holds {told}. Its tensors are {some}, for example.")
    if n > limits.MOST_LAYERS:
        raise CheckpointError(
            f"{weights.files[0]} names layer {n - 1:,}; at most {limits.MOST_LAYERS} layers are opened."
        )


def _has_prefix(names: Iterable[str], prefix: str) -> bool:
    return any(name.startswith((prefix + ".", f"model.{prefix}.")) for name in names)


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
        parameters=count_parameters(fitted.config, headless=is_head_alone(fitted.missing)),
        tied=fitted.config.tie_word_embeddings,
        tensors=tuple(TensorInfo(n, tuple(t.shape), dtype_name(t)) for n, t in fitted.tensors.items()),
        missing=fitted.missing,
        unused=names.unused + leftover,
        renamed=names.renamed,
        aliases=tuple(f"{n} is {ALIASES[n]} under a second name; the network holds it once." for n in fitted.aliases),
        inferred=fitted.inferred,
        notes=fitted.notes + (tokenizer.notes if tokenizer else ()) + _not_finite(fitted.tensors),
    )
    return replace(report, problems=tuple(_problems(fitted, names, tokenizer)))


def _problems(fitted: Fit, names: Names, tokenizer: Tokenizer | None) -> list[str]:
    problems = []
    if is_head_alone(fitted.missing):
        problems.append(
            "The masked-language-model head is not in the file, so it cannot predict: missing are "
            f"{_some(fitted.missing)}. Give a checkpoint saved from BertForMaskedLM or BertForPreTraining, or start "
            "from this one with pretrain --init, which trains a head for it."
        )
    elif fitted.missing:
        problems.append(f"{len(fitted.missing)} tensors are missing: {_some(fitted.missing)}.")
    problems += [f"{n} is in the file twice, under two names." for n in names.doubled]
    problems += fitted.misshaped
    problems += [
        f"{n} holds {str(t.dtype).removeprefix('torch.')} numbers; floats of 16, 32 or 64 bits can be read."
        for n, t in fitted.tensors.items()
        if not is_opened(t.dtype)
    ]
    if distance := next((n for n in fitted.leftover if n.endswith(".distance_embedding.weight")), None):
        problems.append(  # dropped in silence, every number would be wrong
            f"The file holds relative positions ({distance}), but config.json does not say of which kind: set "
            "position_embedding_type to relative_key or relative_key_query."
        )
    if fitted.config.extra.get("is_decoder"):
        problems.append("is_decoder is true: this BERT reads left to right only and is no masked language model.")
    if tokenizer is None:
        problems.append("There is no tokenizer.json and no vocab.txt: the model's words are unknown.")
    elif len(tokenizer) > fitted.config.vocab_size:
        first = fitted.config.vocab_size
        beyond = next((i for i in range(first, len(tokenizer)) if tokenizer.pieces[i] is not None), first)
        problems.append(
            f"The tokenizer has {len(tokenizer):,} ids, the embedding {first:,} rows: {tokenizer.piece(beyond)!r}, "
            f"id {beyond}, has no row. Tokenizer and weights do not belong together."
        )
    elif (segment := max(tokenizer.encode("").segment_ids, default=0)) >= fitted.config.type_vocab_size:
        problems.append(
            f"The tokenizer's post_processor puts a text into segment {segment}, but the weights have "
            f"{fitted.config.type_vocab_size} (type_vocab_size). Tokenizer and weights do not belong together."
        )
    return problems


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    if not path.is_file():
        raise CheckpointError("There is no config.json: it tells the number of heads, which no tensor does.")
    try:
        # NaN is no JSON, but Python reads and would write it: as text it breaks nothing.
        values = json.loads(path.read_text(encoding="utf-8-sig"), parse_constant=str)
        # Half a character, \ud800, could be neither shown nor written again.
        values = json.loads(json.dumps(values, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"config.json is not valid JSON ({error}).") from error
    if not isinstance(values, dict):
        raise CheckpointError(f"config.json must hold a JSON object, not {type(values).__name__}.")
    return values


def _refuse_other_families(values: Mapping[str, Any]) -> None:
    family = str(values.get("model_type") or "bert").lower()
    if family != "bert":
        known = f" ({_OTHER_FAMILIES[family]})" if family in _OTHER_FAMILIES else ""
        raise CheckpointError(f"This checkpoint is of the type {family[:60]}{known}; only BERT can be opened here.")


def _not_finite(tensors: Mapping[str, Tensor]) -> tuple[str, ...]:
    # The extremes of a tensor are NaN where any value is; asking two numbers is quicker than asking all.
    floats = {name: t for name, t in tensors.items() if is_opened(t.dtype) and t.numel()}
    bad = [name for name, t in floats.items() if not torch.stack(t.aminmax()).isfinite().all()]
    return tuple(f"{name} holds NaN or infinite values; what depends on it will be NaN." for name in bad)


def _some(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"


def _name(source: Source) -> str:
    if isinstance(source, (str, Path)):
        if isinstance(source, str) and source.startswith(PREFIX):
            return source.removeprefix(PREFIX)
        return _without_ending(Path(source).expanduser().resolve().name)
    return next((_without_ending(n) for n in source if n.lower().endswith(ARCHIVES)), "uploaded model")


def _without_ending(name: str) -> str:
    for ending in (*ARCHIVES, ".safetensors"):
        if name.lower().endswith(ending):
            return name[: -len(ending)] or name
    return name


__all__ = ["BUNDLED", "inspect", "load"]
