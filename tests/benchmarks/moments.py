"""Makes bundled/moments from a training run: chooses moments, copies their weights once, measures each.

    python tests/benchmarks/moments.py RUN STORE STEP,STEP,…,end

The run's recipe stands in the card, bertviz_lite/bundled/moments/README.md. Held-out losses and the losses of counting
need the corpus; probes and losses by class do not, and a test works them out again.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import bertviz_lite
from bertviz_lite.analysis import loss_by_class, probe_margins
from bertviz_lite.bundled import learning
from bertviz_lite.training import CHECKPOINTS, RUN, MaskingRule, mean_nats, read_log, read_recipe
from bertviz_lite.training.baselines import baselines
from bertviz_lite.training.corpus import find_sources
from bertviz_lite.training.evaluation import HeldOutSet, evaluate, held_out_set
from bertviz_lite.training.examples import Masker
from bertviz_lite.training.store import open_store

FILES = ("config.json", "tokenizer.json", "tokenizer_config.json")
ROWS = 150  # of the training loss in the log that ships, at equal ratios of tokens


def main() -> None:
    run, store_root = map(Path, sys.argv[1:3])
    recipe, rows = read_recipe(run), [row for row in read_log(run / RUN) if "note" not in row]
    whole = bertviz_lite.load(run)
    store = open_store(store_root, find_sources(recipe.corpus), whole.tokenizer)
    held_out = held_out_set(store.held_out, Masker(whole.tokenizer, whole.config, MaskingRule()), recipe.batches)
    for old in learning.MOMENTS.glob("*.safetensors"):
        old.unlink()
    for name in FILES:
        shutil.copyfile(run / name, learning.MOMENTS / name)
    counted = baselines(store.train, recipe.weights, held_out, len(whole.tokenizer))
    found = [measured(run, step, rows, held_out) for step in sys.argv[3].split(",")]
    write(
        learning.MOMENTS / "measured.json",
        json.dumps({"baselines": rounded(asdict(counted)), "moments": found}, indent=1),
    )
    write(learning.MOMENTS / "log.jsonl", "\n".join(map(json.dumps, thinned(rows))))


def measured(run: Path, name: str, rows: list[dict[str, Any]], held_out: HeldOutSet) -> dict[str, Any]:
    """Copy one moment's weights and ask them everything."""
    step = rows[-1]["step"] if name == "end" else int(name)
    folder = run if name == "end" else run / CHECKPOINTS / f"step-{step:06d}"
    shutil.copyfile(folder / "model.safetensors", learning.weights_file(step))
    learning.weights_file(step).chmod(0o644)
    moment = bertviz_lite.load(learning.weights_file(step))
    ask = (moment.model, moment.tokenizer)
    texts = [moment.tokenizer.encode(text) for text in learning.learning_sentences()]
    tokens = np.interp(step, [row["step"] for row in rows], [row["tokens"] for row in rows])
    entry = {
        "step": step,
        "tokens": round(float(tokens)),
        "held_out_nats": mean_nats(evaluate(moment.model, held_out)),
        "right_share": {kind: float((probe_margins(*ask, own) > 0).mean()) for kind, own in learning.probes().items()},
        "class_nats": loss_by_class(*ask, texts),
    }
    print(entry)
    return {key: rounded(value) for key, value in entry.items()}


def thinned(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows that a picture can show: those with held-out losses, without probes, and training losses between."""
    wanted, due = 1.0, (rows[-1]["tokens"] / rows[1]["tokens"]) ** (1 / ROWS)
    for row in rows:
        if row.get("held_out") or row["tokens"] >= wanted:
            yield {key: rounded(value) for key, value in row.items() if key not in ("probes", "minutes", "lr")}
            wanted = max(wanted, row["tokens"]) * due


def rounded(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return round(value, 4) if isinstance(value, float) else value


def write(path: Path, text: str) -> None:
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
