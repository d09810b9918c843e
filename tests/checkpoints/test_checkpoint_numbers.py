"""Statistics, histograms, the tree, the limit. Expected values: numpy in float64, hand arithmetic, facts/bert.md."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from small_files import BIAS, files, put, tensors_of
from torch import nn
from wider_cases import FILES, SHARDS

from bertviz_lite import BERTConfig, BERTForMaskedLM
from bertviz_lite.checkpoints import Node, count_parameters, histogram, load, module_tree, tensor_statistics
from bertviz_lite.errors import CheckpointError, WeightsError

N_VALUES = sum(t.numel() for t in tensors_of().values())
NAN, INF = float("nan"), float("inf")


def drawn(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (torch.randn(shape, generator=torch.Generator().manual_seed(3)) * 0.3 + 1000).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(), (1,), (7, 5), (11, 3, 2)])
def test_statistics_are_numpys(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    tensor = drawn(*shape, dtype=dtype)
    exact = tensor.double().numpy()
    found = tensor_statistics(tensor)
    assert found.mean == pytest.approx(exact.mean(), rel=1e-12)
    assert found.std == pytest.approx(exact.std(), rel=1e-9, abs=1e-12)
    assert (found.min, found.max, found.zeros) == (exact.min(), exact.max(), 0)
    assert found.norm == pytest.approx(np.linalg.norm(exact.ravel()), rel=1e-12)


def test_statistics_by_hand() -> None:
    found = tensor_statistics(torch.tensor([[3.0, 0.0], [-4.0, -0.0], [5.0, 2.0]]).T)
    assert found.to_dict() == pytest.approx(
        {"mean": 1.0, "std": math.sqrt(54 / 6 - 1), "min": -4.0, "max": 5.0, "zeros": 2, "norm": math.sqrt(54)}
    )
    assert set(tensor_statistics(torch.empty(0, 3)).to_dict().values()) == {0}


def test_statistics_over_several_chunks_lose_nothing() -> None:
    n = (1 << 22) + 12_345  # 0, 1, 2, …: float32 sums would be off in the eighth digit
    found = tensor_statistics(torch.arange(n, dtype=torch.float32))
    assert found.mean == (n - 1) / 2
    assert found.std == pytest.approx(math.sqrt((n**2 - 1) / 12), rel=1e-12)
    assert found.norm == pytest.approx(math.sqrt((n - 1) * n * (2 * n - 1) / 6), rel=1e-12)
    assert (found.min, found.max, found.zeros) == (0, n - 1, 1)


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_statistics_of_what_is_not_finite(bad: float) -> None:
    found = tensor_statistics(torch.tensor([1.0, bad, 0.0]))
    assert not math.isfinite(found.mean)
    assert not math.isfinite(found.norm)
    assert not (math.isfinite(found.min) and math.isfinite(found.max))
    assert found.zeros == 1


@pytest.mark.parametrize("bins", [1, 7, 80])
def test_a_histogram_is_numpys(bins: int) -> None:
    tensor = drawn(60, 50)
    counts, edges = np.histogram(tensor.numpy().ravel(), bins)
    found = histogram(tensor, bins)
    assert found.edges == pytest.approx(edges, rel=1e-6)
    assert found.counts.sum() == 3000
    assert np.abs(found.counts - counts).sum() <= 10  # a value on an edge may fall to either side


def test_a_histogram_by_hand() -> None:
    found = histogram(torch.tensor([0.0, 0.5, 1.0, 1.5, 4.0, NAN, INF, -INF]), 4)
    assert found.counts.tolist() == [2, 2, 0, 1]
    assert found.edges.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("values", [[], [NAN, INF], [2.0], [2.0] * 7])
def test_a_histogram_of_hardly_anything(values: list[float]) -> None:
    found = histogram(torch.tensor(values))
    finite = [value for value in values if math.isfinite(value)]
    assert found.counts.sum() == len(finite)
    assert np.isfinite(found.edges).all()
    assert (np.diff(found.edges) > 0).all()
    assert all(found.edges[0] <= value <= found.edges[-1] for value in finite)


def test_a_histogram_counts_past_what_float32_can() -> None:
    n = (1 << 24) + 1000
    assert histogram(torch.zeros(1).expand(n), 3).counts.sum() == n


def test_a_histogram_of_the_largest_floats() -> None:
    found = histogram(torch.tensor([-3.3e38, 3.3e38]), 2)
    assert found.counts.tolist() == [1, 1]
    assert np.isfinite(found.edges).all()


def nodes(node: Node) -> list[Node]:
    return [node, *(inner for child in node.children for inner in nodes(child))]


@pytest.mark.parametrize("tied", [True, False])
def test_the_tree_counts_every_parameter_once(tied: bool) -> None:
    config = BERTConfig(
        vocab_size=99, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=37,
        tie_word_embeddings=tied,
    )  # fmt: skip
    model = BERTForMaskedLM(config)
    tree = module_tree(model)
    assert tree.parameters == sum(p.numel() for p in model.parameters()) == count_parameters(config).total
    folded = next(node for node in nodes(tree) if node.repeats > 1)
    assert (folded.name, folded.repeats) == ("0-2", 3)
    # 4 square matrices with biases, two LayerNorms, the feed-forward block
    assert folded.parameters == 4 * (32 * 32 + 32) + 2 * 64 + (32 * 37 + 37) + (37 * 32 + 32)
    assert "3 × " in folded.label
    assert "each" in folded.label
    decoder = next(node for node in nodes(tree) if node.name == "decoder")
    assert dict(decoder.shapes)["weight"] == (99, 32)
    assert decoder.parameters == (0 if tied else 99 * 32)
    assert ("shared" in decoder.label) == tied


def test_unequal_neighbours_stay_apart_in_the_tree() -> None:
    tree = module_tree(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 3), nn.ReLU(), nn.ReLU()))
    assert [(c.name, c.repeats, c.parameters) for c in tree.children] == [("0-1", 2, 6), ("2", 1, 9), ("3-4", 2, 0)]
    assert tree.parameters == 21


# facts/bert.md: layers, width, heads, tied, untied (one bias shared)
SIZES = (
    (2, 128, 2, 4_416_698, 8_323_514),
    (4, 256, 4, 11_201_594, 19_015_226),
    (4, 512, 8, 28_795_194, 44_422_458),
    (8, 512, 8, 41_404_730, 57_031_994),
    (12, 768, 12, 109_514_298, 132_955_194),
    (24, 1024, 16, 335_174_458, 366_428_986),
)


@pytest.mark.parametrize(("layers", "width", "heads", "tied", "untied"), SIZES)
def test_the_published_sizes(layers: int, width: int, heads: int, tied: int, untied: int) -> None:
    for ties, expected in ((True, tied), (False, untied)):
        config = BERTConfig(
            num_hidden_layers=layers, hidden_size=width, num_attention_heads=heads, intermediate_size=4 * width,
            tie_word_embeddings=ties,
        )  # fmt: skip
        counts = count_parameters(config)
        assert counts.total == sum(counts.named().values()) == expected


def test_base_cased() -> None:
    assert count_parameters(BERTConfig(vocab_size=28_996)).total == 108_340_804


def test_the_server_sets_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, files({**tensors_of(), BIAS: tensors_of()[BIAS].half()}))
    monkeypatch.setenv("BERTVIZ_MAX_GB", str((4 * N_VALUES - 4) / 1e9))
    with pytest.raises(WeightsError, match="BERTVIZ_MAX_GB"):
        load(tmp_path)
    for enough in (str(4 * N_VALUES / 1e9 + 1e-9), "", "a lot", "-1", "0", "nan"):
        monkeypatch.setenv("BERTVIZ_MAX_GB", enough)
        assert load(tmp_path).predicts


def test_no_limit_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTVIZ_MAX_GB", "inf")
    assert load(put(tmp_path, FILES)).predicts


def test_the_limit_is_for_all_shards_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTVIZ_MAX_GB", str(0.9 * 4 * N_VALUES / 1e9))
    with pytest.raises(CheckpointError, match="BERTVIZ_MAX_GB"):
        load(put(tmp_path, SHARDS["safetensors"]))
