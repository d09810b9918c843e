"""Expected values: a plain loop over the cells, and the maps themselves where nothing is pooled."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest
from guesser import guesser, tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bertviz_lite import Checkpoint
from bertviz_lite.analysis import Pool, attention_maps, head_statistics, overview, survey, token_units
from bertviz_lite.errors import InputError, TextError

POOLS: tuple[Pool, ...] = ("max", "mean")
MOST_MB = 200  # all maps at once would be 24 x 12 x 512 x 512 x 4 bytes = 302 MB, twice while they are joined

# In a process of its own: its peak, less what it held when the model was there and had been asked once. Asked of
# /proc, since getrusage counts the process that started this one.
PROGRAM = """
import torch
from bertviz_lite import BERTConfig, BERTForMaskedLM, Tokenizer
from bertviz_lite.analysis import survey

torch.set_num_threads(1)
config = BERTConfig(vocab_size=6, hidden_size=24, num_hidden_layers=24, num_attention_heads=12, intermediate_size=8)
model = BERTForMaskedLM(config).eval()
tokenizer = Tokenizer.from_files({"vocab.txt": b"[PAD]\\n[UNK]\\n[CLS]\\n[SEP]\\n[MASK]\\nword"})
encoding = tokenizer.encode("word " * 510)
survey(model, tokenizer.encode("word"))
def held_mb(name):
    (line,) = (line for line in open("/proc/self/status") if line.startswith(name))
    return int(line.split()[1]) / 1024

before = held_mb("VmRSS")
assert survey(model, encoding).overview.levels.shape == (24, 12, 128, 128)
print(held_mb("VmHWM") - before)
"""


def random_maps(n: int, seed: int = 0) -> np.ndarray:
    """(2, 3, n, n) some sharp, some broad."""
    return np.random.default_rng(seed).dirichlet(np.full(n, 0.3), (2, 3, n)).astype(np.float32)


@given(st.integers(1, 23), st.integers(1, 25), st.sampled_from(POOLS), st.integers(0, 9))
@settings(deadline=None)
def test_pooled_cells_are_those_of_a_plain_loop(n: int, largest: int, pool: Pool, seed: int) -> None:
    weights = random_maps(n, seed)
    found = overview(weights, largest=largest, pool=pool)
    ends = [*found.starts.tolist()[1:], n]
    cells = list(zip(found.starts.tolist(), ends, strict=True))
    assert len(cells) == min(n, largest)
    assert cells[0][0] == 0
    sizes = [end - start for start, end in cells]
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1
    take = np.max if pool == "max" else np.mean
    for layer, head in np.ndindex(2, 3):
        by_hand = np.array([[take(weights[layer, head, a:b, c:d]) for c, d in cells] for a, b in cells])
        assert_allclose(found.peak_prob[layer, head], by_hand.max(), rtol=1e-6)
        assert_allclose(found.probs[layer, head], by_hand, atol=by_hand.max() / 509)
        assert found.levels[layer, head].max() == 255
    assert found.is_pooled == (n > largest)
    assert (found.n_tokens, found.pool, found.levels.dtype) == (n, pool, np.uint8)


def test_each_map_has_its_own_scale() -> None:
    weights = np.stack([np.full((4, 4), 0.25), np.eye(4)])[None].astype(np.float32)
    found = overview(weights)
    assert found.peak_prob.tolist() == [[0.25, 1.0]]
    assert (found.levels[0, 0] == 255).all()
    assert found.levels[0, 1].tolist() == (255 * np.eye(4)).tolist()


@pytest.mark.parametrize("n", [128, 129, 512])
def test_twelve_by_twelve_heads_keep_to_the_budget(n: int) -> None:
    weights = np.full((12, 12, n, n), 1 / n, np.float32)
    found = overview(weights)
    assert found.levels.nbytes == 12 * 12 * 128 * 128
    assert found.levels.nbytes + found.peak_prob.nbytes < 2_500_000
    assert (found.levels == 255).all()


@pytest.mark.parametrize("text", ["", "The man who saw the dog gave it a bone, because the dog was hungry."])
def test_a_survey_is_the_overview_and_the_numbers_of_the_maps(bundled: Checkpoint, text: str) -> None:
    encoding = bundled.tokenizer.encode(text)
    maps = attention_maps(bundled.model, encoding).weights
    told: list[tuple[int, int]] = []
    found = survey(bundled.model, encoding, largest=9, pool="mean", progress=lambda done, n: told.append((done, n)))
    assert told == [(layer, 6) for layer in range(1, 7)]
    expected = overview(maps, largest=9, pool="mean")
    assert_allclose(found.overview.probs, expected.probs, atol=1 / 255)
    assert found.overview.starts.tolist() == expected.starts.tolist()
    assert (found.overview.n_tokens, found.overview.pool) == (len(encoding), "mean")
    numbers = asdict(head_statistics(maps, token_units(encoding)))
    for name, values in asdict(found.statistics).items():
        assert_allclose(values, numbers[name], atol=1e-5, err_msg=name)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is there on Linux alone")
def test_the_longest_text_takes_modest_memory() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert float(ran.stdout) < MOST_MB


def test_what_cannot_be_surveyed_is_told() -> None:
    maps = random_maps(3)
    with pytest.raises(InputError, match="largest = 0"):
        overview(maps, largest=0)
    by_median: Pool = "median"  # type: ignore[assignment]
    with pytest.raises(InputError, match=r"'median'; choose max or mean"):
        overview(maps, pool=by_median)
    with pytest.raises(TextError, match="9 tokens"):
        survey(guesser(), tokenizer().encode("a " * 7))
