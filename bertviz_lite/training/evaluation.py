"""How good a model is while it learns: loss and accuracy on held-out text by source, and what it says to probes.

The held-out sequences and their masks are the same at every evaluation, and in every run on the same corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from bertviz_lite.errors import TextError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Tokenizer
from bertviz_lite.training.batches import BatchRule
from bertviz_lite.training.examples import Masker, read_examples
from bertviz_lite.training.masking import MaskedBatch
from bertviz_lite.training.store import Part

_SOURCE_TOKENS = 4_096
_TOP = 5
_PROBES, _PROBE_PIECES = 5, range(6, 14)


@dataclass(frozen=True)
class HeldOutSet:
    """Training examples made of held-out text, by source."""

    examples: dict[str, list[MaskedBatch]]


def held_out_set(part: Part, masker: Masker, rule: BatchRule) -> HeldOutSet:
    """About four thousand tokens of every source that has held-out text."""
    found: dict[str, list[MaskedBatch]] = {}
    for source in part.sources:
        n_tokens = int(part.starts[source.end] - part.starts[source.first])
        if source.end - source.first < 2:
            continue
        alone = Part(part.tokens, part.starts, (source,))
        one_each = BatchRule(min(rule.batch_tokens, _SOURCE_TOKENS), rule.max_length, rule.sentence_share, {})
        read = 0
        for batch in read_examples(alone, masker, one_each, seed=0):
            if batch.epoch or read >= min(_SOURCE_TOKENS, n_tokens):
                break
            found.setdefault(source.name, []).append(batch.examples)
            read += batch.n_tokens
    return HeldOutSet(found)


@torch.inference_mode()
def evaluate(model: BERTForMaskedLM, held_out: HeldOutSet) -> dict[str, dict[str, float]]:
    """By source: `loss_nats`, the mean over the selected tokens, and `accuracy`, the share predicted first."""
    model.eval()
    found = {}
    for source, batches in held_out.examples.items():
        loss, right, n = 0.0, 0, 0
        for batch in batches:
            at = batch.positions
            logits = model(batch.input_ids, positions=at).logits.float()  # (N, V)
            labels = batch.labels[at[:, 0], at[:, 1]]
            loss += F.cross_entropy(logits, labels, reduction="sum").item()
            right += int((logits.argmax(-1) == labels).sum())
            n += len(labels)
        if n:
            found[source] = {"loss_nats": loss / n, "accuracy": right / n}
    return found


def choose_probes(part: Part, tokenizer: Tokenizer) -> tuple[str, ...]:
    """A few short held-out sentences, each with its longest word masked, for a run that was given none."""
    chosen: list[str] = []
    n_sentences = len(part.starts) - 1
    for i in range(n_sentences):
        if i * _PROBES < len(chosen) * n_sentences:
            continue  # one of each fifth of the text
        ids = [int(t) for t in part.tokens[part.starts[i] : part.starts[i + 1]]]
        pieces = [tokenizer.piece(t) for t in ids]
        words = [p for p in pieces if p.isalpha()]
        if len(ids) in _PROBE_PIECES and len(words) >= len(pieces) - 1 and not tokenizer.special_ids & set(ids):
            hidden = pieces.index(max(words, key=len))
            chosen.append(" ".join([*pieces[:hidden], tokenizer.mask_token, *pieces[hidden + 1 :]]))
    return tuple(chosen)


def check_probes(probes: Sequence[str], tokenizer: Tokenizer, max_length: int) -> None:
    """Refuse what cannot be predicted, before hours are spent.

    Raises:
        TextError: a probe has no mask, or is longer than the model reads.
    """
    for probe in probes:
        encoding = tokenizer.encode(probe)
        if not encoding.mask_positions:
            raise TextError(f"The probe {probe!r} has no {tokenizer.mask_token}: write one where a word is asked for.")
        if len(encoding) > max_length:
            raise TextError(f"The probe {probe[:60]!r} has {len(encoding)} tokens; the model reads {max_length}.")


@torch.inference_mode()
def predict_probes(model: BERTForMaskedLM, tokenizer: Tokenizer, probes: Sequence[str]) -> tuple[dict[str, Any], ...]:
    """For every probe its `text` and, for every mask of it, the likeliest `pieces` and their `probs`, best first."""
    model.eval()
    found = []
    for text in probes:
        encoding = tokenizer.encode(text)
        at = torch.tensor([(0, position) for position in encoding.mask_positions])
        logits = model(**encoding.tensors(), positions=at).logits.float()
        logits[:, [*tokenizer.special_ids, *range(len(tokenizer), logits.shape[1])]] = -torch.inf
        probs, ids = logits.softmax(-1).topk(_TOP)
        masks = [
            {"pieces": [tokenizer.piece(int(i)) for i in row_ids], "probs": [round(float(p), 4) for p in row_probs]}
            for row_ids, row_probs in zip(ids, probs, strict=True)
        ]
        found.append({"text": text, "masks": masks})
    return tuple(found)


__all__ = ["HeldOutSet", "check_probes", "choose_probes", "evaluate", "held_out_set", "predict_probes"]
