"""Measures a checkpoint on probes written for this project and prints the rows of the model card.

    python tests/benchmarks/model_card.py [FOLDER]

For "everyday" and "facts" a probe counts as right when an accepted word comes first (or among the first five); for
"grammar" when the right forms together are likelier than the wrong ones. "Repeats" counts, over all probes, how often
the first choice is a word of the sentence itself: the known fault of the first bundled model.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import bertviz_lite
from bertviz_lite.analysis import top_k

PROBES = json.loads((Path(__file__).parent / "probes.json").read_text(encoding="utf-8"))


def main() -> None:
    checkpoint = bertviz_lite.load(sys.argv[1] if len(sys.argv) > 1 else None)
    rows, repeats, n_probes = [], 0, 0
    for kind, probes in PROBES.items():
        first = five = 0
        for text, right, *wrong in probes:
            ranked = ranking(checkpoint, text)
            words = list(ranked)
            repeats += words[0].isalpha() and words[0] in text.lower().replace(".", " ").split()
            n_probes += 1
            if wrong:
                first += sum(ranked[w] for w in right) > sum(ranked[w] for w in wrong[0])
            else:
                first += words[0] in right
                five += any(word in right for word in words[:5])
        rows.append((kind, len(probes), first, "" if kind == "grammar" else five))
    print("| probes | how many | right | among the first five |\n|---|---:|---:|---:|")
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    print(f"\nFirst choice repeats a word of the sentence: {repeats} of {n_probes}.")


def ranking(checkpoint: bertviz_lite.Checkpoint, text: str) -> dict[str, float]:
    """Probability of every piece at the mask, best first."""
    tokenizer = checkpoint.tokenizer
    found = top_k(checkpoint.model, tokenizer.encode(text), len(tokenizer), exclude=tokenizer.special_ids)
    return {tokenizer.piece(int(i)): float(p) for i, p in zip(found.ids[0], found.probs[0], strict=True)}


if __name__ == "__main__":
    main()
