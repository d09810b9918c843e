"""Names of tensors in real files to the network's names, each change with its reason.

The table of what is met in the wild is in the README under "File formats".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bertviz_lite.checkpoints.report import Renamed, Unused

_WRAPPER_PREFIXES = {
    "module.": "DataParallel's prefix",
    "_orig_mod.": "torch.compile's prefix",
    "model.": "a wrapper's prefix",
    "bert_model.": "a wrapper's prefix",
}
_TRUNK = ("embeddings.", "encoder.", "pooler.")
_EXTRAS = (
    (re.compile(r"bert\.pooler\."), "the pooler serves sentence classification"),
    (re.compile(r"cls\.seq_relationship\."), "the next-sentence head of pre-training"),
    (re.compile(r"bert\.embeddings\.(position|token_type)_ids$"), "a constant, not a weight"),
)
_OLD_NORM = re.compile(r"(?<=LayerNorm\.)(gamma|beta)$")
_NEW_NORM = {"gamma": "weight", "beta": "bias"}
_LAYER = re.compile(r"bert\.encoder\.layer\.(\d{1,6})\.")


@dataclass(frozen=True)
class Names:
    """Where each tensor of a file belongs.

    Attributes:
        names: file's name by network's name.
        renamed, unused: what changed or was left aside, with reasons.
        doubled: network's names that two names of the file lead to.
    """

    names: Mapping[str, str]
    renamed: tuple[Renamed, ...]
    unused: tuple[Unused, ...]
    doubled: tuple[str, ...]


def canonical_names(file_names: Iterable[str]) -> Names:
    """Find the network's name for every name of a file, or the reason why it has none."""
    names: dict[str, str] = {}
    renamed: list[Renamed] = []
    unused: list[Unused] = []
    doubled: list[str] = []
    for old in file_names:
        new, reasons = _canonical(old)
        if (extra := next((reason for pattern, reason in _EXTRAS if pattern.match(new)), None)) is not None:
            unused.append(Unused(old, extra))
            continue
        if new in names:
            doubled.append(new)
            continue
        names[new] = old
        if reasons:
            renamed.append(Renamed(old, new, ", ".join(reasons)))
    return Names(names, tuple(renamed), tuple(unused), tuple(doubled))


def n_layers(names: Iterable[str]) -> int:
    """How many layers are there without a gap, counted from 0."""
    found = {int(match[1]) for name in names if (match := _LAYER.match(name))}
    n = 0
    while n in found:
        n += 1
    return n


def _canonical(name: str) -> tuple[str, list[str]]:
    reasons: list[str] = []
    while prefix := next((p for p in _WRAPPER_PREFIXES if name.startswith(p)), None):
        name = name.removeprefix(prefix)
        if _WRAPPER_PREFIXES[prefix] not in reasons:
            reasons.append(_WRAPPER_PREFIXES[prefix])
    if name.startswith(_TRUNK):
        name = "bert." + name
        reasons.append("the prefix bert. was missing")
    if _OLD_NORM.search(name):
        name = _OLD_NORM.sub(lambda m: _NEW_NORM[m[0]], name)
        reasons.append("gamma and beta are old names of LayerNorm's weight and bias")
    return name, reasons


__all__ = ["Names", "canonical_names", "n_layers"]
