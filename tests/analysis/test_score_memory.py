"""The memory of a long sentence, in a process of its own: its peak, less what it held when the weights were there."""

from __future__ import annotations

import subprocess
import sys

import pytest

MOST_GB = 1.5  # full logits of all rows at once would be 32 GB

# The size of bert-base with two layers: the peak does not grow with their number, since nothing is kept of a layer.
PROGRAM = """
import resource, sys
import torch
from bertviz_lite import BERTConfig, BERTForMaskedLM, load
from bertviz_lite.analysis import _masked_rows, score, scoring

torch.set_num_threads(1)
torch.manual_seed(0)
model = BERTForMaskedLM(BERTConfig(vocab_size=30522, num_hidden_layers=2)).eval()
encoding = load().tokenizer.encode("word " * 508)
assert len(encoding) == 510
# As many rows at a time as usual, of the first 40 tokens: what follows would only repeat them.
most = {"pll": 40, "unmasked": 508}[sys.argv[1]]
scoring.scored_positions = lambda *_: tuple(range(1, 1 + most))
pages = int(open("/proc/self/statm").read().split()[1])
before = pages * resource.getpagesize() / 2**30
assert len(score(model, encoding, sys.argv[1]).ids) == most
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20 - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is there on Linux alone")
@pytest.mark.parametrize("metric", ["pll", "unmasked"])
def test_510_tokens_of_a_base_sized_model_stay_below_the_limit(metric: str) -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM, metric], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert float(ran.stdout) < MOST_GB
