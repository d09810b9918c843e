"""Every rule about tensors broken once: the message names the tensor, the value that broke it and the limit."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tiny import TINY, ours, token_ids
from torch import Tensor

from bertviz_lite.errors import BertvizError, InputError

IDS = token_ids(batch=2, length=6)


def changed(tensor: Tensor, row: int, column: int, value: float) -> Tensor:
    copy = tensor.clone()
    copy[row, column] = value
    return copy


ZEROS, ONES = torch.zeros_like(IDS), torch.ones_like(IDS)
# name of the argument, its value, what the message must contain
BROKEN: dict[str, tuple[str, Any, list[str]]] = {
    "ids of one axis": ("input_ids", IDS[0], ["input_ids", "(6,)"]),
    "ids of three axes": ("input_ids", IDS[None], ["input_ids", "(1, 2, 6)"]),
    "no sequence": ("input_ids", IDS[:0], ["input_ids", "(0, 6)"]),
    "no token": ("input_ids", IDS[:, :0], ["input_ids", "(2, 0)"]),
    "float ids": ("input_ids", IDS.float(), ["input_ids", "float32"]),
    "bool ids": ("input_ids", IDS.bool(), ["input_ids", "bool"]),
    "id too large": ("input_ids", changed(IDS, 1, 4, 99), ["input_ids", "99", "sequence 1", "token 4", "98"]),
    "id below 0": ("input_ids", changed(IDS, 0, 2, -7), ["input_ids", "-7", "sequence 0", "token 2"]),
    "too long": ("input_ids", token_ids(length=41), ["41 tokens", "at most 40", "max_position_embeddings"]),
    "mask of another shape": ("attention_mask", ONES[:, :5], ["attention_mask", "(2, 5)", "(2, 6)"]),
    "mask for one sequence": ("attention_mask", ONES[:1], ["attention_mask", "(1, 6)", "(2, 6)"]),
    "mask of 2": ("attention_mask", changed(ONES, 1, 1, 2), ["attention_mask", "2", "0 and 1"]),
    "additive mask": ("attention_mask", changed(ONES.float(), 0, 0, -1e4), ["attention_mask", "-10000.0"]),
    "mask of NaN": ("attention_mask", changed(ONES.float(), 0, 0, float("nan")), ["attention_mask", "nan"]),
    "segments of another shape": ("token_type_ids", ZEROS[0], ["token_type_ids", "(6,)", "(2, 6)"]),
    "segment too large": (
        "token_type_ids",
        changed(ZEROS, 1, 5, 3),
        ["token_type_ids", "3", "sequence 1", "token 5", "type_vocab_size", "2"],
    ),
    "segment below 0": ("token_type_ids", changed(ZEROS, 0, 0, -1), ["token_type_ids", "-1", "type_vocab_size"]),
    "float segments": ("token_type_ids", ZEROS.float(), ["token_type_ids", "float32"]),
    "labels of another shape": ("labels", IDS[:, :5], ["labels", "(2, 5)", "(2, 6)"]),
    "float labels": ("labels", IDS.float(), ["labels", "float32"]),
    "label too large": ("labels", changed(IDS, 1, 3, 99), ["labels", "99", "sequence 1", "token 3", "98", "-100"]),
    "old ignore value": ("labels", changed(IDS, 0, 1, -1), ["labels", "-1", "sequence 0", "token 1", "-100"]),
    "positions of one axis": ("positions", torch.tensor([0, 1]), ["positions", "(N, 2)", "(2,)"]),
    "positions of three": ("positions", torch.tensor([[0, 1, 2]]), ["positions", "(N, 2)", "(1, 3)"]),
    "float positions": ("positions", torch.tensor([[0.0, 1.0]]), ["positions", "float32"]),
    "mask as positions": ("positions", IDS == 3, ["positions", "bool"]),
    "sequence too large": ("positions", torch.tensor([[0, 1], [2, 3]]), ["positions", "(2, 3)", "(2, 6)"]),
    "token too large": ("positions", torch.tensor([[1, 6]]), ["positions", "(1, 6)", "(2, 6)"]),
    "position below 0": ("positions", torch.tensor([[0, -1]]), ["positions", "(0, -1)"]),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_rule_is_told_with_its_value(case: str) -> None:
    argument, value, words = BROKEN[case]
    with pytest.raises(InputError) as caught:
        ours()(**{"input_ids": IDS, argument: value})
    for word in words:
        assert word in str(caught.value)
    assert isinstance(caught.value, BertvizError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("case", [case for case, (name, *_) in BROKEN.items() if name not in ("labels", "positions")])
def test_the_trunk_asks_the_same(case: str) -> None:
    argument, value, words = BROKEN[case]
    with pytest.raises(InputError) as caught:
        ours().bert(**{"input_ids": IDS, argument: value})
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "beside",
    [
        pytest.param({"labels": torch.full((6,), 200)}),
        {"labels": torch.zeros(6, dtype=torch.long)},
        {"positions": torch.tensor([[0, 1]])},
    ],
    ids=["wrong labels", "right labels", "positions"],
)
def test_ids_of_one_axis_are_named_whatever_stands_beside_them(beside: dict[str, Tensor]) -> None:
    with pytest.raises(InputError, match="input_ids must be"):
        ours()(IDS[0], **beside)


def test_ids_of_three_axes_are_named_with_positions_too() -> None:
    with pytest.raises(InputError, match="input_ids must be"):
        ours()(IDS[None], positions=torch.tensor([[0, 1]]))


def test_the_limits_themselves_are_fine() -> None:
    ids = token_ids(length=TINY.max_position_embeddings)
    ids[0, 0], ids[0, 1] = 0, 98
    labels = torch.full_like(ids, -100)
    labels[0, 0], labels[0, 1] = 0, 98
    positions = torch.tensor([[0, 0], [2, 39]])
    output = ours()(ids, torch.ones_like(ids), ids % 3, labels, positions=positions)
    assert output.logits.shape == (2, 99)
    assert output.loss.isfinite()


def test_the_tensors_given_are_left_as_they_were() -> None:
    ids, labels = IDS.clone(), IDS.clone()
    labels[0, :3] = -100
    before = labels.clone()
    ours()(ids, ONES, ZEROS, labels)
    assert torch.equal(ids, IDS)
    assert torch.equal(labels, before)
