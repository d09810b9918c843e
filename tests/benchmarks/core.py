"""Times the core against transformers on the bundled model, in one run: opening, a pass, maps, a sentence score.

    python tests/benchmarks/core.py

Prints medians and the ratio ours / theirs; below 1 means ours is quicker. Rounds alternate, so that a busy machine
slows both.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from transformers import AutoTokenizer, BertForMaskedLM

import bertviz_lite
from bertviz_lite.analysis import attention_maps, pseudo_loss

FOLDER = Path(__file__).parent.parent.parent / "bertviz_lite" / "bundled" / "english-mini"
ROUNDS = 9
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
    print("| | ours, ms | transformers, ms | ratio |\n|---|---:|---:|---:|")
    with torch.inference_mode():
        for name, (our, their) in cases.items():
            a, b = compare(our, their)
            print(f"| {name} | {a * 1000:.1f} | {b * 1000:.1f} | {a / b:.2f} |")


def their_pseudo_loss(model: BertForMaskedLM, encoding: bertviz_lite.Encoding) -> float:
    """What a user writes today: one batch with a row per token, full logits."""
    ids = torch.tensor(encoding.ids)
    at = torch.arange(1, len(ids) - 1)
    rows = ids.repeat(len(at), 1)
    rows[torch.arange(len(at)), at] = encoding.mask_id
    logits = model(rows).logits[torch.arange(len(at)), at]
    return -float(logits.log_softmax(-1).gather(-1, ids[at, None]).sum())


def compare(our: Callable[[], object], their: Callable[[], object]) -> tuple[float, float]:
    """Median seconds of each, rounds alternating, one of each before counting."""
    taken: tuple[list[float], list[float]] = ([], [])
    for round_ in range(ROUNDS + 1):
        for times, call in zip(taken, (our, their), strict=True):
            start = time.perf_counter()
            call()
            if round_:
                times.append(time.perf_counter() - start)
    return statistics.median(taken[0]), statistics.median(taken[1])


if __name__ == "__main__":
    main()
