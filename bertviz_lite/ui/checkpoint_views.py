"""The views of the Checkpoint page: overview, tensors, vocabulary, save."""

from __future__ import annotations

import html
import json
import re
import weakref
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_lite.checkpoints import (
    Checkpoint,
    Comparison,
    Node,
    Report,
    file_name,
    histogram,
    module_tree,
    saved_zip,
    tie_sentence,
)
from bertviz_lite.errors import CheckpointError
from bertviz_lite.figures import checkpoint as figures
from bertviz_lite.figures import predictions
from bertviz_lite.ui import charts, compute, state
from bertviz_lite.ui.wording import plain

_MOST_PIECES = 1_000
_UNUSED = re.compile(r"\[unused\d+\]")
_OF_LAYER = re.compile(r"bert\.encoder\.layer\.(\d+)\.(.+)\.weight")
_WEIGHTS = {
    "attention.self.query": "query",
    "attention.self.key": "key",
    "attention.self.value": "value",
    "attention.output.dense": "attention output",
    "intermediate.dense": "feed-forward in",
    "output.dense": "feed-forward out",
}


def overview(checkpoint: Checkpoint) -> None:
    """Where the parameters are, the tie, what was read, the network as a tree, the configuration."""
    parts, files = st.columns(2, gap="large")
    with parts:
        _parameters(checkpoint)
    with files:
        _findings(checkpoint.report)
    tree, configuration = st.columns([3, 2], gap="large")
    with tree:
        st.markdown("**The network**")
        st.html(_tree_html(module_tree(checkpoint.model if checkpoint.predicts else checkpoint.model.bert)))
    with configuration:
        st.markdown("**config.json**")
        values = checkpoint.report.config.to_dict()
        frame = pd.DataFrame({"field": values.keys(), "value": [str(value) for value in values.values()]})
        st.dataframe(frame, hide_index=True, height=420)


def tensors(checkpoint: Checkpoint) -> None:
    """Every tensor in numbers; one picked for its histogram; norms by layer."""
    with st.spinner("Reading every tensor …"):
        numbers = compute.statistics(checkpoint)
    frame = pd.DataFrame(
        [
            {
                "tensor": info.name,
                "shape": " × ".join(f"{n:,}" for n in info.shape),
                "values": info.n_values,
                "type": info.dtype,
                "bytes": info.n_bytes,
                **numbers[info.name].to_dict(),
            }
            for info in checkpoint.report.tensors
        ]
    )
    names = [info.name for info in checkpoint.report.tensors]
    asked = state.get("tensor") if state.get("tensor") in names else names[0]
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.selectbox("Histogram of", names, **state.keyed("tensor", showing=asked))
        spread = histogram(checkpoint.tensors()[asked])
        charts.chart(figures.value_histogram(spread.counts, spread.edges, dark=charts.is_dark()), "histogram")
    with right:
        st.markdown("Norm of each weight, layer by layer")
        norms = by_layer({name: statistics.norm for name, statistics in numbers.items()})
        charts.chart(figures.by_layer(norms, "norm", dark=charts.is_dark()), "norms")
    st.dataframe(frame, hide_index=True, height=420, column_config=_number_columns(frame))
    st.download_button(
        "Download as CSV", frame.to_csv(index=False), f"{file_name(checkpoint.report.name)}-tensors.csv", "text/csv"
    )


def vocabulary(checkpoint: Checkpoint) -> None:
    """Search the pieces, see the nearest rows of the embedding, list the unused."""
    tokenizer = checkpoint.tokenizer
    lengths = compute.norms(checkpoint)
    pieces = [*tokenizer.pieces, *[None] * len(lengths)][: len(lengths)]  # padding rows have no piece
    frame = pd.DataFrame(
        {
            "id": np.arange(len(lengths)),
            "piece": pieces,
            "norm": lengths,
            "kind": [_kind(i, piece, tokenizer.special_ids) for i, piece in enumerate(pieces)],
        }
    )
    left, right = st.columns(2, gap="large")
    with left:
        st.text_input("Search pieces", placeholder="a part of a piece, or unused", **state.keyed("search"))
        asked: str = state.get("search")
        found = frame[frame["kind"] == "unused"] if asked == "unused" else frame
        if asked and asked != "unused":
            found = frame[frame["piece"].str.contains(asked, case=False, regex=False, na=False)]
        n_unused = int((frame["kind"] == "unused").sum())
        st.caption(
            f"{len(found):,} of {len(frame):,} rows; {n_unused:,} are unused. The first {_MOST_PIECES:,} are listed."
        )
        st.dataframe(found.head(_MOST_PIECES), hide_index=True, height=420)
    with right:
        _neighbours(checkpoint)


def save(checkpoint: Checkpoint) -> None:
    """The model as a clean folder, the report as JSON, and code that loads it."""
    name = file_name(checkpoint.report.name)
    st.markdown(
        "A clean Hugging Face folder: `model.safetensors` in float32 without aliases, `config.json`, the tokenizer. "
        "transformers opens it, and so does this app."
    )
    with st.container(horizontal=True):
        zip_button(checkpoint)
        report = json.dumps(checkpoint.report.to_dict(), indent=2, ensure_ascii=False)
        st.download_button("Download the report (JSON)", report, f"{name}-report.json", "application/json")
    st.code(
        f"""# unpacked into the folder {name!r}
from transformers import AutoModelForMaskedLM, AutoTokenizer
model = AutoModelForMaskedLM.from_pretrained({name!r})
tokenizer = AutoTokenizer.from_pretrained({name!r})

# or here, the zip as it is
import bertviz_lite
checkpoint = bertviz_lite.load({f"{name}.zip"!r})""",
        language="python",
    )


def zip_button(checkpoint: Checkpoint) -> None:
    """The model as a zip of a clean folder, packed when it is pressed."""
    held = weakref.ref(checkpoint)  # Streamlit keeps what it may have to call, and must not keep a closed model so
    name = f"{file_name(checkpoint.report.name)}.zip"
    st.download_button("Download the folder (zip)", partial(_zipped, held), name, "application/zip")


def _zipped(held: weakref.ref[Checkpoint]) -> bytes:
    checkpoint = held()
    if checkpoint is None:
        raise CheckpointError("This model has been closed.")
    return saved_zip(checkpoint)


def by_layer(values: Mapping[str, float]) -> dict[str, list[float]]:
    """One number per tensor to L numbers per kind of weight; other tensors are left out."""
    found: dict[str, list[float]] = {}
    for name, value in values.items():
        match = _OF_LAYER.fullmatch(name)
        if match and match[2] in _WEIGHTS:
            found.setdefault(_WEIGHTS[match[2]], []).append(value)
    return found


def change_table(comparison: Comparison) -> pd.DataFrame:
    """Every tensor of two models, the most changed first."""
    return pd.DataFrame(
        [
            {
                "tensor": change.name,
                "shape": " × ".join(f"{n:,}" for n in change.shape),
                "relative change": change.relative_change,
                "largest change": change.largest_change,
                "cosine": change.cosine,
            }
            for change in sorted(comparison.changes, key=lambda change: -change.relative_change)
        ]
    )


def _parameters(checkpoint: Checkpoint) -> None:
    counts = checkpoint.report.parameters
    named = {part: n for part, n in counts.named().items() if n or checkpoint.predicts}
    st.markdown("**Where the parameters are**")
    charts.chart(figures.parameter_bar(named, dark=charts.is_dark()), "parts")
    frame = pd.DataFrame({"part": named.keys(), "parameters": named.values()})
    frame["share (%)"] = frame["parameters"] / counts.total * 100
    number = st.column_config.NumberColumn
    columns = {"parameters": number(format="localized"), "share (%)": number(format="%.1f")}
    st.dataframe(frame, hide_index=True, column_config=columns)
    if checkpoint.predicts:
        st.markdown(tie_sentence(checkpoint.model))


def _findings(report: Report) -> None:
    st.markdown("**What was read**")
    types = ", ".join(sorted({tensor.dtype for tensor in report.tensors}))
    st.markdown(f"{report.format}, {types}: {plain(', '.join(report.files))}")
    for line in (*report.problems, *report.inferred, *report.notes, *report.aliases):
        st.markdown(f"- {plain(line)}")
    if report.renamed:
        st.markdown(f"- {len(report.renamed)} tensors were renamed:")
        st.dataframe(pd.DataFrame([{"in the file": r.old, "name": r.new, "reason": r.reason} for r in report.renamed]))
    if report.unused:
        st.markdown(f"- {len(report.unused)} tensors are not used:")
        st.dataframe(pd.DataFrame([{"tensor": u.name, "reason": u.reason} for u in report.unused]), hide_index=True)
    if not (report.problems or report.renamed or report.unused or report.inferred or report.notes or report.aliases):
        st.markdown(
            "- Every tensor of the file has its place in the network; nothing is missing, renamed or left over."
        )


def _tree_html(node: Node, depth: int = 0) -> str:
    label = html.escape(node.label)
    if not node.children:
        return f'<div style="margin-left:1.35rem">{label}</div>'
    inside = "".join(_tree_html(child, depth + 1) for child in node.children)
    is_open = " open" if depth < 3 else ""  # down to the folded layers
    style = "font-family:monospace;font-size:0.85rem;line-height:1.7" if depth == 0 else "margin-left:1.1rem"
    return f'<details style="{style}"{is_open}><summary>{label}</summary>{inside}</details>'


def _number_columns(frame: pd.DataFrame) -> dict[str, Any]:
    number = st.column_config.NumberColumn
    whole = dict.fromkeys(("values", "bytes", "zeros"), number(format="localized"))
    return {
        **whole,
        **{name: number(format="%.4g") for name in frame.columns if name in ("mean", "std", "min", "max", "norm")},
    }


def _kind(i: int, piece: str | None, special: frozenset[int]) -> str:
    if piece is None or _UNUSED.fullmatch(piece):
        return "unused"
    return "special" if i in special else "continues a word" if piece.startswith("##") else "starts a word"


def _neighbours(checkpoint: Checkpoint) -> None:
    tokenizer = checkpoint.tokenizer
    default = next((word for word in ("house", "water") if tokenizer.id(word) is not None), tokenizer.mask_token)
    asked = state.get("near") or default
    st.text_input("Nearest rows of the embedding to", **state.keyed("near", showing=asked))
    at = tokenizer.id(asked)
    if at is None:
        st.info(
            f"The vocabulary has no piece “{plain(asked)}”. It is spelled "
            f"{plain(' '.join(tokenizer.encode(asked).pieces[1:-1]))}."
        )
        return
    found = compute.near(checkpoint, at)
    pieces = [tokenizer.pieces[i] if i < len(tokenizer) else None for i in found.ids.tolist()]
    shown = [(piece, cosine) for piece, cosine in zip(pieces, found.cosines.tolist(), strict=True) if piece is not None]
    charts.chart(
        predictions.bars([p for p, _ in shown], [c for _, c in shown], what="cosine", dark=charts.is_dark()), "near"
    )


__all__ = ["by_layer", "change_table", "overview", "save", "tensors", "vocabulary", "zip_button"]
