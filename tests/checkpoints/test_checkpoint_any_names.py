"""Whatever a file calls its tensors: it opens and nothing went lost in silence, or an error of ours says why not."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from opening_cases import EXTRAS
from small_files import DECODER, DECODER_BIAS, PICKLE, WEIGHTS, WORDS, files, logits_of, put, tensors_of, told
from torch import Tensor

from bertviz_lite.checkpoints import Checkpoint, Report, inspect, load
from bertviz_lite.errors import BertvizError, InputError

ALL = tensors_of() | EXTRAS | {DECODER: tensors_of()[WORDS]}

prefixes = st.sampled_from(
    ["", "", "module.", "_orig_mod.", "model.", "bert_model.", "bert.", "model.bert.", "cls.", "bert.bert.", "roberta."]
)
swaps = st.sampled_from(
    [("weight", "gamma"), ("bias", "beta"), ("bert.", ""), ("layer.1", "layer.7"), ("layer.0", "layer.٠"),
     ("LayerNorm", "layer_norm"), ("weight", "kernel"), ("predictions", "prediction"), (".", "/"), ("query", "key")]
)  # fmt: skip
ends = st.sampled_from([".gamma", ".LayerNorm.beta", ".weight", "x", "\n", "\x00", "é", "\u2028"])
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
renames = st.one_of(
    prefixes.map(lambda p: ("prefix", p)), ends.map(lambda e: ("end", e)), swaps, texts.map(lambda t: ("text", t))
)
edits = st.one_of(
    st.tuples(st.sampled_from(["drop", "cut", "flat", "sum", "half", "bool"])),
    st.tuples(st.just("rename"), renames),
    st.tuples(st.just("double"), renames),
)
VALUES: dict[str, Callable[[Tensor], Tensor]] = {
    "cut": lambda t: t[:1],
    "flat": lambda t: t.flatten(),
    "sum": lambda t: t.sum(),
    "half": lambda t: t.half(),
    "bool": lambda t: t.bool(),
}


def edited(changes: dict[str, tuple[str] | tuple[str, tuple[str, str]]]) -> dict[str, Tensor]:
    """A whole checkpoint, some of whose tensors are dropped, renamed, doubled, of another shape or type."""
    tensors = dict(ALL)
    for name, change in changes.items():
        value = tensors[name]
        if change[0] != "double":
            del tensors[name]
        if change[0] in VALUES:
            tensors[name] = VALUES[change[0]](value)
        elif change[0] != "drop":
            tensors[new_name(name, *change[1])] = value
    return tensors


def new_name(name: str, old: str, new: str) -> str:
    return {"prefix": new + name, "end": name + new, "text": new}.get(old, name.replace(old, new))


@settings(deadline=None, max_examples=80, database=None, derandomize=True)
@given(
    prefix=prefixes,
    changes=st.dictionaries(st.sampled_from(sorted(ALL)), edits, max_size=6),
    weights=st.sampled_from([WEIGHTS, PICKLE]),
)
def test_any_names_open_or_are_refused(
    prefix: str, changes: dict[str, tuple[str] | tuple[str, tuple[str, str]]], weights: str
) -> None:
    tensors = {prefix + name: t for name, t in edited(changes).items()}
    with tempfile.TemporaryDirectory() as folder:
        put(Path(folder), files(tensors, weights=weights))
        try:
            report = inspect(folder)
        except BertvizError:
            report = None
        try:
            checkpoint = load(folder)
        except BertvizError:
            checkpoint = None
    if checkpoint is None:
        assert report is None or report.problems
        return
    assert isinstance(checkpoint, Checkpoint)
    assert told(checkpoint.report) == told(report)
    assert not report.problems
    with suppress(InputError):  # a model of one position or one segment is too small for the sentences
        assert logits_of(checkpoint.model).isfinite().all()
    assert_accounted(report, tensors)


def assert_accounted(report: Report, tensors: dict[str, Tensor]) -> None:
    """Every name of the file is used, an alias, or listed as not used."""
    new = {change.old: change.new for change in report.renamed}
    used, unused = {t.name for t in report.tensors}, {u.name for u in report.unused}
    for name in tensors:
        assert name in unused or new.get(name, name) in used | {DECODER, DECODER_BIAS}, name
    assert not unused & {name for name in tensors if new.get(name, name) in used}
