"""The report: JSON with the documented keys, true sizes, counts worked out by hand, digests of what was read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from opening_cases import EXTRAS, old_norm
from small_files import (
    BIAS,
    DECODER,
    DECODER_BIAS,
    PICKLE,
    SIZES,
    VOCABULARY,
    WEIGHTS,
    WORDS,
    files,
    put,
    reference,
    saved,
    tensors_of,
    zipped,
)

from bertviz_lite import BERTConfig
from bertviz_lite.checkpoints import count_parameters, inspect, load, tie_sentence

# Documented in issue 2 under "Shell and notebook"; more may be added.
KEYS = {"config", "parameters", "tied", "tensors", "missing", "unused", "renamed", "problems"}


def json_of(folder: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(json.dumps(inspect(folder).to_dict(), allow_nan=False))
    return values


def test_the_documented_keys_with_plain_values(tmp_path: Path) -> None:
    values = json_of(put(tmp_path / "tiny", saved()))
    assert values.keys() >= KEYS
    assert values["tied"] is True
    assert values["missing"] == values["unused"] == values["renamed"] == values["problems"] == []
    assert {key: values["config"][key] for key in SIZES} == SIZES
    tensors = {t["name"]: t for t in values["tensors"]}
    assert tensors.keys() == tensors_of().keys()
    assert tensors[WORDS].items() >= {"shape": [99, 32], "dtype": "float32"}.items()
    assert {t["name"]: tuple(t["shape"]) for t in values["tensors"]} == {n: t.shape for n, t in tensors_of().items()}
    assert values["name"] == "tiny"
    assert values["format"] == "safetensors"
    assert set(values["files"]) == set(saved())


def test_what_was_renamed_and_left_aside_with_reasons(tmp_path: Path) -> None:
    tensors = {"module." + old_norm(n): t for n, t in (tensors_of() | EXTRAS).items()} | {"odd": torch.ones(1)}
    values = json_of(put(tmp_path, files(tensors, weights=PICKLE)))
    assert values["format"] != "safetensors"
    assert {u["name"] for u in values["unused"]} == {"odd", *("module." + name for name in EXTRAS)}
    norm = "bert.embeddings.LayerNorm.weight"
    found = next(r for r in values["renamed"] if r["to"] == norm)
    assert found["from"] == "module.bert.embeddings.LayerNorm.gamma"
    assert "gamma" in found["reason"]
    assert "prefix" in found["reason"]
    assert all(entry["reason"] for entry in values["unused"] + values["renamed"])


def test_a_file_in_half_precision_says_so(tmp_path: Path) -> None:
    values = json_of(put(tmp_path, files({name: t.half() for name, t in tensors_of().items()})))
    assert {t["dtype"] for t in values["tensors"]} == {"float16"}


@pytest.mark.parametrize("tied", [True, False])
def test_parameters_by_part_worked_out_by_hand(tied: bool, tmp_path: Path) -> None:
    d, i, v = 32, 37, 99
    embeddings = (v + 40 + 2) * d + 2 * d
    layer = 4 * (d * d + d) + (d * i + i) + (i * d + d) + 2 * 2 * d
    transform = d * d + d + 2 * d
    parts = {"embeddings": embeddings, "encoder": 3 * layer, "transform": transform, "bias": v}
    parts["decoder"] = 0 if tied else v * d
    folder = put(tmp_path, files(tensors_of(reference(tied=tied)), config={"tie_word_embeddings": tied}))
    assert json_of(folder)["parameters"] == {"total": sum(parts.values()), **parts}
    assert json_of(folder)["tied"] is tied


# facts/bert.md: L / D, tied, untied; H = D / 64, intermediate 4 D, no pooler
@pytest.mark.parametrize(
    ("layers", "width", "tied", "untied"),
    [
        (2, 128, 4_416_698, 8_323_514),
        (4, 256, 11_201_594, 19_015_226),
        (4, 512, 28_795_194, 44_422_458),
        (8, 512, 41_404_730, 57_031_994),
        (12, 768, 109_514_298, 132_955_194),
        (24, 1024, 335_174_458, 366_428_986),
    ],
)
def test_parameter_counts_of_the_published_sizes(layers: int, width: int, tied: int, untied: int) -> None:
    sizes = {"num_hidden_layers": layers, "hidden_size": width, "num_attention_heads": width // 64}
    for tie, expected in ((True, tied), (False, untied)):
        config = BERTConfig(**sizes, intermediate_size=4 * width, tie_word_embeddings=tie)
        assert count_parameters(config).total == expected
        assert sum(count_parameters(config).to_dict().values()) == 2 * expected, "the total and its parts"


def test_the_tie_is_said_with_its_sizes(tmp_path: Path) -> None:
    assert "99 × 32" in tie_sentence(load(put(tmp_path, files())).model)
    assert "3,168" in tie_sentence(load(tmp_path).model)  # 99 times 32
    tensors = tensors_of()
    tensors[DECODER] = tensors[WORDS].clone()
    tensors[DECODER][1, 2] += 0.5
    assert "0.5" in tie_sentence(load(put(tmp_path, files(tensors))).model)


def test_equal_files_have_an_equal_digest_wherever_they_lie(tmp_path: Path) -> None:
    digest = inspect(put(tmp_path / "one", files())).digest
    assert len(digest) == 64
    assert inspect(put(tmp_path / "two", files() | {"README.md": b"not read"})).digest == digest
    assert inspect(zipped(files(), tmp_path / "three.zip"), name="another").digest == digest


@pytest.mark.parametrize("file", [WEIGHTS, "config.json", "vocab.txt", "tokenizer_config.json"])
def test_another_file_has_another_digest(file: str, tmp_path: Path) -> None:
    changed = {
        WEIGHTS: files(tensors_of() | {"bert.pooler.dense.bias": torch.ones(1)})[WEIGHTS],
        "config.json": files(config={"note": "another"})["config.json"],
        "vocab.txt": files(vocabulary=(*VOCABULARY[:-1], "last"))["vocab.txt"],
        "tokenizer_config.json": b'{"do_lower_case": false}',
    }
    digest = inspect(put(tmp_path / "one", files())).digest
    assert inspect(put(tmp_path / "two", files() | {file: changed[file]})).digest != digest


@pytest.mark.parametrize("value", ["caf\u00e9", None, [1, {"a": 2}], 10**30])
def test_keys_of_config_json_that_are_not_used_are_kept(value: object, tmp_path: Path) -> None:
    assert json_of(put(tmp_path, files(config={"note": value})))["config"]["note"] == value


def test_a_config_with_nan_still_makes_a_report_in_json(tmp_path: Path) -> None:
    json_of(put(tmp_path, files(config={"note": float("nan")})))


def test_safetensors_are_known_for_what_they_are_whatever_the_length_of_their_header(tmp_path: Path) -> None:
    """Lengths are multiples of 8: one file in 32 starts with the byte that pickles start with."""
    for n in range(0, 256, 4):
        content = safetensors.torch.save(tensors_of(), {"format": "pt", "note": "x" * n})
        report = inspect(put(tmp_path, files() | {WEIGHTS: content}))
        assert report.format == "safetensors", content[:9]


def test_aliases_are_told_and_only_where_they_say_nothing_new(tmp_path: Path) -> None:
    both = tensors_of() | {DECODER: tensors_of()[WORDS], DECODER_BIAS: tensors_of()[BIAS]}
    told = inspect(put(tmp_path / "one", files(both))).aliases
    assert [DECODER in told[0], DECODER_BIAS in told[1], len(told)] == [True, True, 2]
    assert inspect(put(tmp_path / "two", files())).aliases == ()
    apart = {**both, DECODER_BIAS: tensors_of()[BIAS] + 1}
    assert len(inspect(put(tmp_path / "three", files(apart))).aliases) == 1
