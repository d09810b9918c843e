"""Times the core against transformers on the bundled model, in one run: opening, a pass, maps, a sentence score.

    python tests/benchmarks/core.py
    python tests/benchmarks/core.py longest     # a sentence of the model's full length and a small file; minutes

Prints medians and the ratio ours / theirs; below 1 means ours is quicker. Rounds alternate, so that a busy machine
slows both.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from transformers import AutoTokenizer, BertForMaskedLM

import bertviz_lite
from bertviz_lite.analysis import attention_maps, pseudo_loss, score_lines
from bertviz_lite.texts import Line

FOLDER = Path(__file__).parent.parent.parent / "bertviz_lite" / "bundled" / "english-mini"
ROUNDS = 9
THEIR_ROWS = 16  # a batch of 510 tokens in a user's loop
WORDS = "the old woman who lived in the little house near the river gave the children bread and milk "


def main() -> None:
    warnings.simplefilter("ignore")
    ours = bertviz_lite.load()
    theirs = BertForMaskedLM.from_pretrained(FOLDER, dtype=torch.float32).eval()
    eager = BertForMaskedLM.from_pretrained(FOLDER, dtype=torch.float32, attn_implementation="eager").eval()
    short, long = (ours.tokenizer.encode((WORDS * 30)[:n]) for n in (90, 1900))
    print(f"tokens: short {len(short)}, long {len(long)}; threads: {torch.get_num_threads()}")

    def their_open() -> None:
        BertForMaskedLM.from_pretrained(FOLDER, dtype=torch.float32)
        AutoTokenizer.from_pretrained(FOLDER)

    cases: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "open model and tokenizer": (bertviz_lite.load, their_open),
        "one pass, short": (lambda: ours.model(**short.tensors()), lambda: theirs(**short.tensors())),
        "one pass, long": (lambda: ours.model(**long.tensors()), lambda: theirs(**long.tensors())),
        "all attention maps, long": (
            lambda: attention_maps(ours.model, long),
            lambda: eager.bert(**long.tensors(), output_attentions=True),
        ),
        "pseudo-loss, short": (lambda: pseudo_loss(ours.model, short), lambda: their_pseudo_loss(theirs, short)),
    }
    if "longest" in sys.argv:
        cases = longest_cases(ours, theirs)
    print("| | ours, ms | transformers, ms | ratio |\n|---|---:|---:|---:|")
    with torch.inference_mode():
        for name, (our, their) in cases.items():
            a, b = compare(our, their, *((1, 0) if "longest" in sys.argv else ()))
            print(f"| {name} | {a * 1000:.1f} | {b * 1000:.1f} | {a / b:.2f} |")


def longest_cases(
    ours: bertviz_lite.Checkpoint, theirs: BertForMaskedLM
) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """One sentence of 510 tokens, and 100 of 8 to 27."""
    longest = ours.tokenizer.encode(" ".join((WORDS * 40).split()[:508]))
    texts = [" ".join((WORDS * 3).split()[: 6 + i % 20]) + "." for i in range(100)]
    encodings = [ours.tokenizer.encode(text) for text in texts]
    lines = [Line(number, text) for number, text in enumerate(texts, start=1)]
    return {
        f"pseudo-loss, {len(longest)} tokens": (
            lambda: pseudo_loss(ours.model, longest),
            lambda: their_pseudo_loss(theirs, longest, THEIR_ROWS),
        ),
        "pseudo-loss, 100 sentences": (
            lambda: list(score_lines(ours.model, ours.tokenizer, lines)),
            lambda: [their_pseudo_loss(theirs, encoding) for encoding in encodings],
        ),
    }


def their_pseudo_loss(model: BertForMaskedLM, encoding: bertviz_lite.Encoding, rows_a_batch: int = 512) -> float:
    """What a user writes today: a row per token, full logits."""
    ids = torch.tensor(encoding.ids)
    total = 0.0
    for at in torch.arange(1, len(ids) - 1).split(rows_a_batch):
        rows = ids.repeat(len(at), 1)
        rows[torch.arange(len(at)), at] = encoding.mask_id
        logits = model(rows).logits[torch.arange(len(at)), at]
        total -= float(logits.log_softmax(-1).gather(-1, ids[at, None]).sum())
    return total


def compare(
    our: Callable[[], object], their: Callable[[], object], rounds: int = ROUNDS, warm_up: int = 1
) -> tuple[float, float]:
    """Median seconds of each, rounds alternating, `warm_up` of each before counting."""
    taken: tuple[list[float], list[float]] = ([], [])
    for round_ in range(warm_up + rounds):
        for times, call in zip(taken, (our, their), strict=True):
            start = time.perf_counter()
            call()
            if round_ >= warm_up:
                times.append(time.perf_counter() - start)
    return statistics.median(taken[0]), statistics.median(taken[1])


if __name__ == "__main__":
    main()
