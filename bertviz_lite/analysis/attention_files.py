"""Attention as files of numbers: maps as NPZ, JSON or CSV, and every head's numbers as JSON or CSV.

Layers and heads keep the model's numbers, which begin at 0; nothing is written to disk here.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertviz_lite.analysis.heads import HeadStatistics
from bertviz_lite.analysis.patterns import named_heads
from bertviz_lite.analysis.shown_maps import MapChoice, shown_map
from bertviz_lite.analysis.units import Floats
from bertviz_lite.errors import InputError
from bertviz_lite.tokenizer import Encoding

MOST_WRITTEN_OUT = 5_000_000  # weights in a text file: about 150 MB of CSV

_DECIMALS = 7  # as many as float32 holds of a probability
_COLUMNS = ("layer", "head", "query", "key", "token", "key_token", "weight")


@dataclass(frozen=True)
class AttentionTable:
    """Maps with their names, ready to be written.

    Attributes:
        weights: (L, H, R, C) queries by keys: all heads of a model, or those that were chosen.
        layers, heads: L and H numbers in the model, or words such as `mean`.
        tokens: R labels of the tokens, or words, that look.
        key_tokens: C labels of those looked at.
        about: what a reader of the file should know: the model, the text, what was left out.

    Raises:
        InputError: labels and weights do not fit.
    """

    weights: Floats
    layers: Sequence[int | str]
    heads: Sequence[int | str]
    tokens: Sequence[str]
    key_tokens: Sequence[str]
    about: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        named = tuple(len(names) for names in (self.layers, self.heads, self.tokens, self.key_tokens))
        if named != self.weights.shape:
            raise InputError(
                f"Maps of shape {self.weights.shape} do not fit {named[0]} layers, {named[1]} heads, {named[2]} tokens "
                f"and {named[3]} tokens looked at."
            )


def shown_table(
    weights: Floats,
    encoding: Encoding,
    choice: MapChoice,
    *,
    layers: Sequence[int | str],
    heads: Sequence[int | str],
    model: str,
) -> AttentionTable:
    """Maps as they are shown, with all that a reader of the file should know.

    Args:
        weights: (L, H, T, T).
        layers, heads: as in `AttentionTable`.
        model: its name.

    Raises:
        InputError, TextError: as in `shown_map`; also where names and maps do not fit.
    """
    shown = shown_map(weights, encoding, choice)
    about = {"model": model, "text": encoding.text, "numbered": "layers and heads from 0", "unit": choice.unit}
    if encoding.pair is not None:
        about["pair"] = encoding.pair
    if choice.without:
        about["left_out"] = ", ".join(choice.without)
    if choice.pairing is not None:
        about["pairs"] = choice.pairing
    about["rows"] = "rescaled to 1" if choice.renormalised else "as they are"
    return AttentionTable(shown.weights, layers, heads, shown.rows.labels, shown.columns.labels, about)


def attention_npz(table: AttentionTable) -> bytes:
    """Arrays for `numpy.load`, exact: `attention` (L, H, R, C), `tokens`, `key_tokens`, `layers`, `heads`, `about`."""
    file = io.BytesIO()
    np.savez(
        file,
        attention=table.weights,
        tokens=np.array(table.tokens, np.str_),
        key_tokens=np.array(table.key_tokens, np.str_),
        layers=np.array(table.layers),
        heads=np.array(table.heads),
        about=np.array(json.dumps(dict(table.about), ensure_ascii=False)),
    )
    return file.getvalue()


def attention_json(table: AttentionTable) -> bytes:
    """One object: what `about` says, layers, heads, tokens, key_tokens, and `attention` (L, H, R, C) as nested lists,
    rounded to seven decimals.

    Raises:
        InputError: more than `MOST_WRITTEN_OUT` weights, too many for a text file.
    """
    told = {
        **table.about,
        "layers": list(table.layers),
        "heads": list(table.heads),
        "tokens": list(table.tokens),
        "key_tokens": list(table.key_tokens),
        "attention": _rounded(table, "JSON").tolist(),
    }
    return _json_bytes(told)


def attention_csv(table: AttentionTable) -> bytes:
    """A line a weight, rounded to seven decimals: layer, head, query, key (numbers from 0), token, key_token, weight.

    Raises:
        InputError: more than `MOST_WRITTEN_OUT` weights, too many for a text file.
    """
    places = product(table.layers, table.heads, enumerate(table.tokens), enumerate(table.key_tokens))
    weights = _rounded(table, "CSV").ravel().tolist()
    return _csv_bytes(
        _COLUMNS,
        (
            (layer, head, query, key, token, key_token, weight)
            for (layer, head, (query, token), (key, key_token)), weight in zip(places, weights, strict=True)
        ),
    )


def head_records(statistics: HeadStatistics) -> list[dict[str, Any]]:
    """A record a head, in reading order: layer, head, its numbers (None where there is none), and its `patterns`."""
    names = [field.name for field in fields(HeadStatistics)]
    earned: dict[tuple[int, int], list[str]] = {}
    for named in named_heads(statistics):
        earned.setdefault((named.layer, named.head), []).append(named.pattern.name)
    records = []
    for layer, head in np.ndindex(statistics.entropy_nats.shape):
        numbers = {name: float(getattr(statistics, name)[layer, head]) for name in names}
        shown = {name: None if math.isnan(value) else round(value, _DECIMALS) for name, value in numbers.items()}
        records.append({"layer": layer, "head": head, **shown, "patterns": earned.get((layer, head), [])})
    return records


def heads_json(statistics: HeadStatistics) -> bytes:
    """The records of all heads."""
    return _json_bytes(head_records(statistics))


def heads_csv(statistics: HeadStatistics) -> bytes:
    """A line a head; its patterns joined by semicolons, and empty where there is no number."""
    records = head_records(statistics)
    lines = ([*list(record.values())[:-1], "; ".join(record["patterns"])] for record in records)
    return _csv_bytes(tuple(records[0]), lines)


def _rounded(table: AttentionTable, kind: str) -> NDArray[np.float64]:
    if table.weights.size > MOST_WRITTEN_OUT:
        raise InputError(
            f"{table.weights.size:,} weights are too many for a {kind} file, which holds at most "
            f"{MOST_WRITTEN_OUT:,}: choose one layer or one head, or take them as NPZ."
        )
    rounded: NDArray[np.float64] = table.weights.astype(np.float64).round(_DECIMALS)
    return rounded


def _json_bytes(value: object) -> bytes:
    return (json.dumps(value, allow_nan=False, ensure_ascii=False) + "\n").encode()


def _csv_bytes(columns: Sequence[str], lines: Iterable[Sequence[object]]) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(lines)
    return file.getvalue().encode()


__all__ = [
    "MOST_WRITTEN_OUT",
    "AttentionTable",
    "attention_csv",
    "attention_json",
    "attention_npz",
    "head_records",
    "heads_csv",
    "heads_json",
    "shown_table",
]
