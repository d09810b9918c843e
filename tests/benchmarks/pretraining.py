"""Times pre-training against transformers' Trainer with its masking collator, in one run: tokens a second.

    python tests/benchmarks/pretraining.py [--cpu]

Same model (4 layers of 256, 8,192 pieces, no dropout), text, precision and threads, 96 windows of 64 tokens a step.
Prints both and the ratio ours / theirs; above 1 means ours is quicker. Rounds alternate, so that a busy machine
slows both.
"""

from __future__ import annotations

import logging
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import torch
import transformers
from torch.utils.data import Dataset

from bertviz_lite.config import BERTConfig
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Tokenizer
from bertviz_lite.training import MaskingRule
from bertviz_lite.training.batches import BatchRule
from bertviz_lite.training.corpus import find_sources, learn_tokenizer
from bertviz_lite.training.examples import Masker, Numbered, read_examples
from bertviz_lite.training.optimisation import Stepper, adamw
from bertviz_lite.training.store import Part, open_store
from bertviz_lite.training.workers import Workers

ROWS, LENGTH, PIECES, ROUNDS, STEPS = 96, 64, 8192, 3, 8
# Processor time of all threads of this process: on a busy machine the clock on the wall measures the others too.
clock = time.process_time if "--cpu" in sys.argv else time.perf_counter
SIZES: dict[str, Any] = {
    "num_hidden_layers": 4,
    "hidden_size": 256,
    "num_attention_heads": 4,
    "intermediate_size": 1024,
    "max_position_embeddings": LENGTH,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
RULE = BatchRule(ROWS * LENGTH, LENGTH, 0.0, {})


class Windows(Dataset[dict[str, list[int]]]):
    """The same windows as ours, as a user of the Trainer hands them over."""

    def __init__(self, part: Part, tokenizer: Tokenizer) -> None:
        self.tokens, self.ends = part.tokens, (tokenizer.cls_id, tokenizer.sep_id)
        self.width = LENGTH - 2

    def __len__(self) -> int:
        return len(self.tokens) // self.width

    def __getitem__(self, i: int) -> dict[str, list[int]]:
        inside = self.tokens[i * self.width : (i + 1) * self.width].tolist()
        return {"input_ids": [self.ends[0], *inside, self.ends[1]]}


class Clock(transformers.TrainerCallback):
    """When every step ended; the collator's work falls between two."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_step_end(self, *_: object, **__: object) -> None:
        self.ends.append(clock())


def their_seconds(folder: Path, data: Windows, precision: str) -> list[float]:
    watch = Clock()
    model = transformers.BertForMaskedLM(transformers.BertConfig(vocab_size=PIECES, **SIZES))
    settings = transformers.TrainingArguments(
        output_dir=str(folder / "trainer"),
        per_device_train_batch_size=ROWS,
        max_steps=STEPS,
        bf16=precision == "bfloat16",
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
        adam_beta2=0.98,
        weight_decay=0.01,
    )
    collator = transformers.DataCollatorForLanguageModeling(transformers.AutoTokenizer.from_pretrained(folder))
    trainer = transformers.Trainer(model, settings, train_dataset=data, data_collator=collator, callbacks=[watch])
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    return [end - start for start, end in pairwise(watch.ends)]


def our_seconds(examples: Iterator[Numbered], config: BERTConfig, precision: str) -> list[float]:
    model = BERTForMaskedLM(config)
    stepper = Stepper(model, adamw(model, 0.01), Workers(), precision=precision, clip=1.0)
    seconds = []
    for _ in range(STEPS):
        start = clock()
        stepper.step([next(examples).examples], 1e-4)  # reading and masking are part of the step
        seconds.append(clock() - start)
    return seconds


def main() -> None:
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity(logging.ERROR)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tokenizer, part = read_text(folder)
        config = BERTConfig(vocab_size=PIECES, **SIZES)
        masker = Masker(tokenizer, config, MaskingRule())
        examples = (batch for batch in read_examples(part, masker, RULE, 0) if batch.n_tokens == ROWS * LENGTH)
        data = Windows(part, tokenizer)
        print(
            f"{torch.get_num_threads()} threads; {ROWS} × {LENGTH} tokens a step; medians of {ROUNDS} × {STEPS} steps"
        )
        print("| precision | Trainer, tokens/s | ours, tokens/s | ratio |\n|---|---:|---:|---:|")
        for precision in ("float32", "bfloat16"):
            taken: tuple[list[float], list[float]] = ([], [])
            for _ in range(ROUNDS):
                taken[0].extend(their_seconds(folder, data, precision)[1:])
                taken[1].extend(our_seconds(examples, config, precision)[2:])  # the first ones warm up
            theirs, ours = (ROWS * LENGTH / statistics.median(seconds) for seconds in taken)
            print(f"| {precision} | {theirs:,.0f} | {ours:,.0f} | {ours / theirs:.2f} |")


def read_text(folder: Path) -> tuple[Tokenizer, Part]:
    """English that is at hand everywhere: the documentation inside Python's own standard library."""
    lines = (
        line.strip()
        for path in sorted(Path(tempfile.__file__).parent.glob("*.py"))
        for line in path.open(errors="replace")
    )
    (folder / "text.txt").write_text("\n".join(islice((line for line in lines if line), 60_000)), encoding="utf-8")
    sources = find_sources([folder / "text.txt"])
    tokenizer = learn_tokenizer(sources, PIECES)
    for file, content in tokenizer.to_files().items():
        (folder / file).write_text(content, encoding="utf-8")
    return tokenizer, open_store(folder / "store", sources, tokenizer).train


if __name__ == "__main__":
    main()
