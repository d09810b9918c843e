"""What must hold for any weights; expected values are formulas, hand arithmetic or numbers of facts/bert.md."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import pytest
import torch
from tiny import PAD_5, TINY, labels_for, ours, padded, token_ids
from torch import Tensor
from torch.testing import assert_close

from bertviz_lite import BERTConfig, BERTForMaskedLM, MaskedLMOutput
from bertviz_lite.model import EncoderOutput

PATHS = pytest.mark.parametrize("grad", [True, False], ids=["explicit", "fused"])
close = partial(assert_close, atol=1e-5, rtol=1e-5)


def test_the_worked_example() -> None:
    config = BERTConfig(hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=512)
    output = BERTForMaskedLM(config).eval()(torch.tensor([[101, 7592, 103, 102]]))
    assert isinstance(output, MaskedLMOutput)
    assert output.logits.shape == (1, 4, 30522)
    assert (output.loss, output.hidden_states, output.attentions) == (None, None, None)


def test_shapes_of_everything_that_can_be_asked_for() -> None:
    model, ids = ours(), token_ids(batch=2, length=7)
    output = model(ids, labels=ids, output_hidden_states=True, output_attentions=True)
    assert output.logits.shape == (2, 7, 99)
    assert output.loss.shape == ()
    assert [tuple(h.shape) for h in output.hidden_states] == [(2, 7, 36)] * 4
    assert [tuple(a.shape) for a in output.attentions] == [(2, 4, 7, 7)] * 3
    trunk = model.bert(ids, output_hidden_states=True, output_attentions=True)
    assert isinstance(trunk, EncoderOutput)
    assert_close(trunk.last_hidden_state, output.hidden_states[-1], atol=0, rtol=0)
    assert_close(trunk.attentions, output.attentions, atol=0, rtol=0)


@pytest.mark.parametrize("kind", ["absolute", "relative_key", "relative_key_query"])
def test_attention_rows_sum_to_one_and_give_padding_nothing(kind: str) -> None:
    ids, mask = padded()
    maps = ours(replace(TINY, position_embedding_type=kind))(ids, mask, output_attentions=True).attentions
    for layer in maps:
        close(layer.sum(-1), torch.ones(3, 4, 13))
        assert not layer.masked_select(mask[:, None, None, :] == 0).any()


@PATHS
def test_padding_changes_nothing(grad: bool) -> None:
    model = ours(PAD_5)
    ids, mask = padded(PAD_5)
    with torch.set_grad_enabled(grad):
        together = model(ids, mask, output_hidden_states=True)
        for row, n in enumerate((13, 9, 1)):
            alone = model(ids[row : row + 1, :n], output_hidden_states=True)
            close(together.logits[row : row + 1, :n], alone.logits)
            for mine, expected in zip(together.hidden_states, alone.hidden_states, strict=True):
                close(mine[row : row + 1, :n], expected)


def test_what_stands_under_the_padding_changes_nothing() -> None:
    ids, mask = padded()
    other = torch.where(mask == 1, ids, token_ids(seed=9))
    model = ours()
    assert_close(model(ids, mask).logits[mask == 1], model(other, mask).logits[mask == 1], atol=0, rtol=0)


@PATHS
def test_batched_equals_looped(grad: bool) -> None:
    model, ids = ours(), token_ids(batch=4)
    with torch.set_grad_enabled(grad):
        close(model(ids).logits, torch.cat([model(row[None]).logits for row in ids]))


def test_bool_int_and_float_masks_mean_the_same() -> None:
    model, (ids, mask) = ours(), padded()
    for same in (mask.bool(), mask.int(), mask.float()):
        assert_close(model(ids, same).logits, model(ids, mask).logits, atol=0, rtol=0)


def test_int32_ids_are_read_as_int64() -> None:
    model, ids = ours(), token_ids()
    narrow = model(ids.int(), token_type_ids=ids.int() % 3, labels=ids.int())
    wide = model(ids, token_type_ids=ids % 3, labels=ids)
    assert_close((narrow.logits, narrow.loss), (wide.logits, wide.loss), atol=0, rtol=0)


def test_segments_are_zero_by_default_and_matter() -> None:
    model, ids = ours(), token_ids()
    assert_close(model(ids).logits, model(ids, token_type_ids=torch.zeros_like(ids)).logits, atol=0, rtol=0)
    assert not torch.allclose(model(ids).logits, model(ids, token_type_ids=torch.ones_like(ids)).logits)


@PATHS
def test_positions_are_rows_of_the_full_logits(grad: bool) -> None:
    model, (ids, mask) = ours(), padded()
    positions = torch.tensor([[2, 0], [0, 12], [1, 3], [1, 3]])  # any order, twice is fine
    with torch.set_grad_enabled(grad):
        full = model(ids, mask).logits
        rows = model(ids, mask, positions=positions).logits
    close(rows, torch.stack([full[2, 0], full[0, 12], full[1, 3], full[1, 3]]))


def test_positions_leave_hidden_states_and_maps_whole() -> None:
    model, (ids, mask) = ours(), padded()
    some = {"positions": torch.tensor([[2, 0], [1, 3]])}
    asked = {"output_hidden_states": True, "output_attentions": True}
    full, found = model.bert(ids, mask, **asked), model.bert(ids, mask, **some, **asked)
    for one, other in zip(full.hidden_states + full.attentions, found.hidden_states + found.attentions, strict=True):
        close(other, one)
    for rows in (found, model.bert(ids, mask, **some), model.bert(ids, mask, **some, output_attentions=True)):
        close(rows.last_hidden_state, torch.stack([full.last_hidden_state[2, 0], full.last_hidden_state[1, 3]]))


def test_gradients_are_the_same_where_only_the_labelled_positions_are_computed() -> None:
    (ids, mask), (model, same) = padded(), (ours(), ours())
    labels = torch.full_like(ids, -100)
    labels[2, 0], labels[0, 12], labels[1, 3] = 7, 8, 9
    model(ids, mask, labels=labels).loss.backward()
    same(ids, mask, labels=labels, positions=(labels != -100).nonzero()).loss.backward()
    for (name, one), other in zip(model.named_parameters(), same.parameters(), strict=True):
        assert_close(other.grad, one.grad, atol=1e-6, rtol=1e-4, msg=lambda said, name=name: f"{name}: {said}")


def test_loss_counts_only_labels_at_the_positions() -> None:
    model, ids = ours(), token_ids(batch=2)
    labels = torch.full_like(ids, -100)
    labels[0, 1], labels[0, 4], labels[1, 2] = 7, 8, 9
    log_probs = model(ids).logits.log_softmax(-1)
    a, b, c = -log_probs[0, 1, 7], -log_probs[0, 4, 8], -log_probs[1, 2, 9]
    close(model(ids, labels=labels).loss, (a + b + c) / 3)
    close(model(ids, labels=labels, positions=(labels != -100).nonzero()).loss, (a + b + c) / 3)
    # (1, 5) has no label: it takes no part in the mean
    close(model(ids, labels=labels, positions=torch.tensor([[0, 4], [1, 5]])).loss, b)


@pytest.mark.parametrize("positions", [None, torch.tensor([[0, 1]]), torch.empty(0, 2, dtype=torch.long)])
def test_nothing_labelled_gives_zero_loss_with_a_graph(positions: Tensor | None) -> None:
    model, ids = ours(), token_ids()
    loss = model(ids, labels=torch.full_like(ids, -100), positions=positions).loss
    assert loss.item() == 0.0
    loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert not parameter.grad.any(), name  # NaN counts as any


def test_nothing_labelled_gives_zero_loss_in_half_precision() -> None:
    model, ids = ours(), token_ids(batch=8)
    with torch.no_grad():
        model.cls.predictions.bias.fill_(
            -20.0
        )  # 8 · 13 · 99 logits near -20 sum to about -205,920; half ends at 65,504
    assert model.half()(ids, labels=torch.full_like(ids, -100)).loss.item() == 0.0


@PATHS
def test_a_row_of_nothing_but_padding_gives_no_nan(grad: bool) -> None:
    model, ids = ours(), token_ids(batch=2)
    ids[1] = TINY.pad_token_id
    with torch.set_grad_enabled(grad):
        logits = model(ids).logits
    assert logits.isfinite().all()
    close(logits[:1], model(ids[:1]).logits)
    if grad:
        logits.sum().backward()
        assert all(p.grad.isfinite().all() for p in model.parameters())


def test_uniform_logits_cost_ln_v() -> None:
    model, ids = ours(), token_ids()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert model(ids, labels=ids).loss.item() == pytest.approx(math.log(99), abs=1e-6)


def test_the_output_bias_is_added_once() -> None:
    model, ids = ours(), token_ids()
    before = model(ids).logits
    with torch.no_grad():
        model.cls.predictions.bias += 3.0
    close(model(ids).logits, before + 3.0)


def test_dropout_acts_in_training_only() -> None:
    model, ids = ours(), token_ids()
    assert_close(model(ids).logits, model(ids).logits, atol=0, rtol=0)
    model.train()
    assert not torch.equal(model(ids).logits, model(ids).logits)


@pytest.mark.parametrize(
    ("name", "grad"),
    [
        ("hidden_dropout_prob", True),
        ("hidden_dropout_prob", False),
        ("attention_probs_dropout_prob", True),
        pytest.param("attention_probs_dropout_prob", False),
    ],
)
def test_each_dropout_acts_in_training(name: str, grad: bool) -> None:
    none = replace(TINY, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    ids = token_ids()
    with torch.set_grad_enabled(grad):
        model = ours(none).train()
        assert_close(model(ids).logits, model(ids).logits, atol=0, rtol=0)
        model = ours(BERTConfig.from_dict({**none.to_dict(), name: 0.5})).train()
        assert not torch.equal(model(ids).logits, model(ids).logits)


def test_attention_maps_are_those_before_dropout() -> None:
    model, ids = ours(replace(TINY, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.5)), token_ids()
    expected = model(ids, output_attentions=True).attentions[0]
    close(model.train()(ids, output_attentions=True).attentions[0], expected)


def test_a_few_steps_learn_a_sentence() -> None:
    torch.manual_seed(0)
    model, ids = BERTForMaskedLM(TINY).eval(), token_ids(batch=2)
    labels = labels_for(ids)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(60):
        optimizer.zero_grad()
        model(ids, labels=labels).loss.backward()
        optimizer.step()
    assert model(ids, labels=labels).loss.item() < 0.1 < math.log(99)
