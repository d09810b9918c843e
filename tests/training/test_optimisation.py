"""A step of ours against the same step written out with transformers' model and torch's AdamW."""

from __future__ import annotations

import logging

import pytest
import torch
import transformers
from torch import Tensor

from bertviz_lite.config import BERTConfig
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.training import MaskedBatch, MaskingRule, mask
from bertviz_lite.training.optimisation import Stepper, adamw
from bertviz_lite.training.workers import Workers

transformers.logging.set_verbosity(logging.CRITICAL)
SIZES = {
    "vocab_size": 61,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 19,
    "max_position_embeddings": 20,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
RATES = (0.01, 0.02, 0.005)


def examples(seed: int, n: int = 6) -> MaskedBatch:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, 61, (n, 14), generator=generator)
    ids[1, 9:] = 0
    return mask(ids, ids >= 5, mask_id=4, vocab_size=61, rule=MaskingRule(0.3), generator=generator)


def fresh_model() -> BERTForMaskedLM:
    torch.manual_seed(0)
    return BERTForMaskedLM(BERTConfig(**SIZES))


def stepper(model: BERTForMaskedLM, precision: str = "float32") -> Stepper:
    return Stepper(model, adamw(model, decay=0.1), Workers(), precision=precision, clip=0.5)


def their_steps(model: transformers.BertForMaskedLM) -> list[tuple[float, float]]:
    """Three steps as a user of transformers writes them: full logits, decay by name, clipping."""
    named = dict(model.named_parameters())
    plain = [n for n in named if n.endswith("bias") or "LayerNorm" in n]
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for n, p in named.items() if n not in plain], "weight_decay": 0.1},
            {"params": [named[n] for n in plain], "weight_decay": 0.0},
        ],
        betas=(0.9, 0.98),
        eps=1e-6,
    )
    seen = []
    for i, rate in enumerate(RATES):
        batch = examples(i)
        loss = model(batch.input_ids, attention_mask=(batch.input_ids != 0).long(), labels=batch.labels).loss
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        optimizer.zero_grad()
        seen.append((loss.item(), norm.item()))
    return seen


def test_three_steps_are_those_of_transformers() -> None:
    model = fresh_model()
    reference = transformers.BertForMaskedLM(transformers.BertConfig(**SIZES, attn_implementation="eager"))
    reference.load_state_dict(model.state_dict())
    ours = stepper(model)
    results = [ours.step([examples(i)], rate) for i, rate in enumerate(RATES)]
    theirs = their_steps(reference.train())
    assert [r.loss_nats for r in results] == pytest.approx([loss for loss, _ in theirs], abs=1e-5)
    assert [r.gradient_norm for r in results] == pytest.approx([norm for _, norm in theirs], rel=1e-4)
    state = reference.state_dict()
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(tensor, state[name], atol=2e-5, rtol=0, msg=name)


def test_batches_accumulated_are_one_large_batch() -> None:
    whole = examples(0, n=9)
    parts = [
        MaskedBatch(*(t[rows] for t in (whole.input_ids, whole.labels, whole.kinds)))
        for rows in (slice(5), slice(5, 9))
    ]
    a, b = fresh_model(), fresh_model()
    results = stepper(a).step([whole], 0.01), stepper(b).step(parts, 0.01)
    assert results[0].loss_nats == pytest.approx(results[1].loss_nats, abs=1e-6)
    for name, tensor in a.state_dict().items():
        torch.testing.assert_close(tensor, b.state_dict()[name], atol=1e-5, rtol=0, msg=name)


def test_numbers_that_are_none_leave_the_weights_alone() -> None:
    model = fresh_model()
    with torch.no_grad():
        model.cls.predictions.bias[0] = torch.nan
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    assert not stepper(model).step([examples(0)], 0.1).is_finite
    assert all(torch.equal(t.nan_to_num(), before[n].nan_to_num()) for n, t in model.state_dict().items())


def test_nothing_selected_is_no_error() -> None:
    batch = examples(0)
    none = MaskedBatch(batch.input_ids, torch.full_like(batch.labels, -100), torch.zeros_like(batch.kinds))
    assert stepper(fresh_model()).step([none], 0.1).loss_nats == 0


def test_bfloat16_learns_nearly_the_same() -> None:
    losses: list[list[float]] = []
    for precision in ("float32", "bfloat16"):
        ours = stepper(fresh_model(), precision)
        losses.append([ours.step([examples(0)], 0.01).loss_nats for _ in range(20)])
    assert losses[0][-1] < losses[0][0] - 1
    assert losses[1] == pytest.approx(losses[0], abs=0.05)
    assert losses[1] != losses[0]


def test_measuring_the_precision_changes_no_weight() -> None:
    model = fresh_model()
    before: dict[str, Tensor] = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    seconds = stepper(model).measure_precision(examples(0))
    assert set(seconds) == {"float32", "bfloat16"}
    assert min(seconds.values()) > 0
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())
