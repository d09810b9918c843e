"""Expected values: what numpy, json and csv read back is what was written."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from guesser import tokenizer
from numpy.testing import assert_allclose, assert_array_equal

from bertviz_lite import Checkpoint
from bertviz_lite.analysis import (
    MOST_WRITTEN_OUT,
    AttentionTable,
    MapChoice,
    attention_csv,
    attention_json,
    attention_maps,
    attention_npz,
    head_map,
    head_records,
    head_statistics,
    heads_csv,
    heads_json,
    named_heads,
    shown_map,
    token_units,
)
from bertviz_lite.errors import InputError

ODD = ("[CLS]", "café", '"', ",", "中", "[SEP]")


def odd_table() -> AttentionTable:
    """Two layers, three heads, tokens that CSV must quote; 2 rows by 6 columns."""
    weights = np.random.default_rng(0).dirichlet(np.full(6, 0.2), (2, 3, 2)).astype(np.float32)
    return AttentionTable(weights, (0, 5), (1, 2, 11), ODD[1:3], ODD, {"model": "tiny", "text": 'café ", 中'})


def test_npz_is_exact_and_needs_no_pickle(bundled: Checkpoint) -> None:
    encoding = bundled.tokenizer.encode("The café's souvenir.")
    weights = attention_maps(bundled.model, encoding).weights
    table = AttentionTable(weights, range(6), range(12), encoding.pieces, encoding.pieces, {"model": "mini"})
    with np.load(io.BytesIO(attention_npz(table)), allow_pickle=False) as file:
        assert_array_equal(file["attention"], weights)
        assert file["attention"].dtype == np.float32
        assert file["tokens"].tolist() == file["key_tokens"].tolist() == list(encoding.pieces)
        assert file["layers"].tolist() == list(range(6))
        assert file["heads"].tolist() == list(range(12))
        assert json.loads(str(file["about"])) == {"model": "mini"}


def test_json_says_the_same_to_seven_decimals() -> None:
    table = odd_table()
    read = json.loads(attention_json(table))
    assert (read["model"], read["text"]) == ("tiny", 'café ", 中')
    assert (read["layers"], read["heads"]) == ([0, 5], [1, 2, 11])
    assert (read["tokens"], read["key_tokens"]) == (list(ODD[1:3]), list(ODD))
    assert_allclose(read["attention"], table.weights, atol=5.1e-8)


def test_csv_has_a_line_for_every_weight() -> None:
    table = odd_table()
    lines = list(csv.DictReader(io.StringIO(attention_csv(table).decode(), newline="")))
    assert len(lines) == 2 * 3 * 2 * 6
    assert list(lines[0]) == ["layer", "head", "query", "key", "token", "key_token", "weight"]
    for line in lines:
        layer, head = (0, 5).index(int(line["layer"])), (1, 2, 11).index(int(line["head"]))
        query, key = int(line["query"]), int(line["key"])
        assert (line["token"], line["key_token"]) == (ODD[1 + query], ODD[key])
        assert abs(float(line["weight"]) - float(table.weights[layer, head, query, key])) < 5.1e-8


def test_a_map_as_it_is_shown(bundled: Checkpoint) -> None:
    encoding = bundled.tokenizer.encode("The souvenir.", "It is here.")
    choice = MapChoice(unit="words", pairing="a_to_b", without=("sep",), renormalised=True)
    shown = shown_map(head_map(bundled.model, encoding, 2, 7)[None, None], encoding, choice)
    table = AttentionTable(shown.weights, [2], [7], shown.rows.labels, shown.columns.labels)
    read = json.loads(attention_json(table))
    assert read["tokens"] == ["[CLS]", "The", "souvenir", "."]
    assert read["key_tokens"] == ["It", "is", "here", "."]
    assert_allclose(np.sum(read["attention"], -1), 1, atol=1e-5)


def test_names_may_stand_for_layers_and_heads() -> None:
    table = AttentionTable(np.eye(2, dtype=np.float32)[None, None], ["rollout"], ["mean"], "ab", "ab")
    assert attention_csv(table).decode().splitlines()[1] == "rollout,mean,0,0,a,a,1.0"
    with np.load(io.BytesIO(attention_npz(table)), allow_pickle=False) as file:
        assert file["layers"].tolist() == ["rollout"]


def test_a_table_whose_names_do_not_fit_is_told() -> None:
    with pytest.raises(InputError, match=r"\(1, 1, 2, 2\) do not fit 1 layers, 2 heads, 2 tokens"):
        AttentionTable(np.eye(2, dtype=np.float32)[None, None], [0], [0, 1], "ab", "ab")


def test_too_many_weights_for_text_are_told_and_npz_takes_them() -> None:
    n = 1 + int(MOST_WRITTEN_OUT**0.5)
    names = ["a"] * n
    table = AttentionTable(np.zeros((1, 1, n, n), np.float32), [0], [0], names, names)
    for write, kind in ((attention_csv, "CSV"), (attention_json, "JSON")):
        with pytest.raises(InputError, match=rf"too many for a {kind} file.* one head, or .*NPZ"):
            write(table)
    assert len(attention_npz(table)) > 4 * n * n


def test_every_head_has_its_numbers_and_names(bundled: Checkpoint) -> None:
    encoding = bundled.tokenizer.encode("He plays the piano every day, and she sings.")
    found = head_statistics(attention_maps(bundled.model, encoding).weights, token_units(encoding))
    records = json.loads(heads_json(found))
    assert records == head_records(found)
    assert [(record["layer"], record["head"]) for record in records] == list(np.ndindex(6, 12))
    assert sum(len(record["patterns"]) for record in records) == len(named_heads(found))
    assert "previous token" in records[2]["patterns"]
    lines = list(csv.DictReader(io.StringIO(heads_csv(found).decode(), newline="")))
    assert len(lines) == 72
    for line, record in zip(lines, records, strict=True):
        at = (int(line["layer"]), int(line["head"]))
        assert abs(float(line["previous_prob"]) - found.previous_prob[at]) < 1e-6
        assert abs(float(line["entropy_nats"]) - found.entropy_nats[at]) < 1e-6
        assert line["patterns"] == "; ".join(record["patterns"])
        assert (line["same_prob"], record["same_prob"]) == ("", None)  # no token comes twice


def test_a_number_that_there_is_stands_where_it_belongs() -> None:
    units = token_units(tokenizer().encode("a b a"))
    weights = np.full((1, 1, 5, 5), 0.2, np.float32)
    (record,) = head_records(head_statistics(weights, units))
    assert record["same_prob"] == pytest.approx(0.2)
    assert record["patterns"] == ["broad"]
