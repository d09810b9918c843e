"""Names of tensors in real files to the network's names, each change with its reason.

The table of what is met in the wild is in the README under "File formats".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bertviz_lite.checkpoints import limits
from bertviz_lite.checkpoints.report import Renamed, Unused

_PREFIX = re.compile(r"(?:(?:module|_orig_mod|model|bert_model)\.)+")
_PREFIX_OF = {"module": "DataParallel's prefix", "_orig_mod": "torch.compile's prefix"}
# Any other wrapper: what stands before a name that only BERT has.
_ANY_PREFIX = re.compile(r".+?\.(?=bert\.(?:embeddings|encoder|pooler)\.|cls\.(?:predictions|seq_relationship)\.)")
_TRUNK = ("embeddings.", "encoder.", "pooler.")
_HEAD = re.compile(
    r"(?:predictions\.)?(?=(?:transform\.(?:dense|LayerNorm)|decoder)\.(?:weight|bias|gamma|beta)$|bias$)"
)
_EXTRAS = (
    (re.compile(r"bert\.pooler\."), "the pooler serves sentence classification"),
    (re.compile(r"cls\.seq_relationship\."), "the next-sentence head of pre-training"),
    (re.compile(r"bert\.embeddings\.(position|token_type)_ids$"), "a constant, not a weight"),
)
_OPTIMISER = re.compile(r"(^|[./])(adam_[mv]|global_step|beta[12]_power|AdamWeightDecayOptimizer[^./]*)([./:]|$)")
_TENSORFLOW = re.compile(r"\.layer_\d+\.|(\.kernel|\.output_bias|\.output_weights|_embeddings)(:\d+)?$|:\d+$")
_OLD_NORM = re.compile(r"(?<=LayerNorm\.)(gamma|beta)$")
_NEW_NORM = {"gamma": "weight", "beta": "bias"}
_LAYER = re.compile(r"bert\.encoder\.layer\.(\d{1,9})\.")


@dataclass(frozen=True)
class Names:
    """Where each tensor of a file belongs.

    Attributes:
        names: file's name by network's name.
        turned: network's names whose matrix the file holds transposed.
        renamed, unused: what changed or was left aside, with reasons.
        doubled: network's names that two names of the file lead to.
    """

    names: Mapping[str, str]
    turned: frozenset[str]
    renamed: tuple[Renamed, ...]
    unused: tuple[Unused, ...]
    doubled: tuple[str, ...]


def canonical_names(file_names: Iterable[str]) -> Names:
    """Find the network's name for every name of a file, or the reason why it has none."""
    names: dict[str, str] = {}
    turned: set[str] = set()
    renamed: list[Renamed] = []
    unused: list[Unused] = []
    doubled: list[str] = []
    for old in file_names:
        if len(old) > limits.MOST_NAME:
            unused.append(Unused(old[:80] + "…", "no tensor of a BERT has so long a name"))
            continue
        if _OPTIMISER.search(old):
            unused.append(Unused(old, "a variable of the optimiser"))
            continue
        new, reasons, is_turned = _canonical(old)
        if (extra := next((reason for pattern, reason in _EXTRAS if pattern.match(new)), None)) is not None:
            unused.append(Unused(old, extra))
            continue
        if new in names:
            doubled.append(new)
            continue
        names[new] = old
        if is_turned:
            turned.add(new)
        if reasons:
            renamed.append(Renamed(old, new, ", ".join(reasons)))
    return Names(names, frozenset(turned), tuple(renamed), tuple(unused), tuple(doubled))


def n_layers(names: Iterable[str]) -> int:
    """How many layers the highest number asks for; a gap below it is then found missing."""
    return 1 + max((int(match[1]) for name in names if (match := _LAYER.match(name))), default=-1)


def _canonical(name: str) -> tuple[str, list[str], bool]:
    """The network's name, the reasons for each change, and whether the matrix stands transposed."""
    reasons: list[str] = []
    name, is_turned = _from_tensorflow(name, reasons)
    if match := _PREFIX.match(name):
        name = name[match.end() :]
        reasons += dict.fromkeys(_PREFIX_OF.get(part, "a wrapper's prefix") for part in match[0].split(".")[:-1])
    if match := _ANY_PREFIX.match(name):
        name = name[match.end() :]
        reasons.append("a wrapper's prefix")
    if name.startswith(_TRUNK):
        name = "bert." + name
        reasons.append("the prefix bert. was missing")
    elif match := _HEAD.match(name):
        name = "cls.predictions." + name[match.end() :]
        reasons.append("the prefix cls. was missing")
    if _OLD_NORM.search(name):
        name = _OLD_NORM.sub(lambda m: _NEW_NORM[m[0]], name)
        reasons.append("gamma and beta are old names of LayerNorm's weight and bias")
    return name, reasons, is_turned


def _from_tensorflow(name: str, reasons: list[str]) -> tuple[str, bool]:
    """A name of TensorFlow 1 ("bert/encoder/layer_0/attention/self/query/kernel") in PyTorch's form."""
    if "/" not in name and not _TENSORFLOW.search(name):
        return name, False
    reasons.append("a name of TensorFlow 1")
    new = re.sub(r":\d+$", "", name).replace("/", ".")
    new = re.sub(r"\blayer_(\d+)\b", r"layer.\1", new)
    is_turned = new.endswith(".kernel")
    new = re.sub(r"\.kernel$", ".weight", new)
    new = re.sub(r"_embeddings$", "_embeddings.weight", new)
    new = re.sub(r"predictions\.output_bias$", "predictions.bias", new)
    return re.sub(r"\.output_(weights|bias)$", r".\1", new), is_turned


__all__ = ["Names", "canonical_names", "n_layers"]
