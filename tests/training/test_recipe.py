"""A recipe survives its file, refuses what cannot be, and counts its budget."""

from __future__ import annotations

from typing import Any

import pytest

from bertviz_lite.errors import ConfigError
from bertviz_lite.training import MaskingRule, Recipe


def test_a_recipe_is_read_back_as_it_was() -> None:
    recipe = Recipe(
        corpus=("a.txt", "b"),
        init="model",
        network={"hidden_size": 12},
        minutes=2.5,
        weights={"a": 3.0},
        masking=MaskingRule(0.2, whole_words=True),
        checkpoint_steps=(0, 10),
        probes=("A [MASK].",),
    )
    assert Recipe.from_json(recipe.to_json()) == recipe


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"masking": {}, "corpus": [], "colour": 1}', '{"masking": 3}'])
def test_what_is_no_recipe_is_told(text: str) -> None:
    with pytest.raises(ConfigError):
        Recipe.from_json(text)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({}, "minutes or tokens"),
        ({"minutes": 1, "tokens": 1}, "choose one"),
        ({"tokens": 1, "seed": 2**63}, "seed"),
        ({"tokens": 1, "checkpoint_steps": (5, -1)}, "after -1 steps"),
        ({"minutes": 0}, "minutes"),
        ({"minutes": float("inf")}, "minutes"),
        ({"tokens": -5}, "tokens"),
        ({"tokens": 1, "lr": 0.0}, "lr"),
        ({"tokens": 1, "clip": 0}, "clip"),
        ({"tokens": 1, "warmup": 1.5}, "warmup"),
        ({"tokens": 1, "dropout": -0.1}, "dropout"),
        ({"tokens": 1, "decay": -1}, "decay"),
        ({"tokens": 1, "weights": {"a": -1}}, "weight of a"),
        ({"tokens": 1, "max_length": 7}, "max_length"),
        ({"tokens": 1, "batch_tokens": 100}, "batch_tokens"),
        ({"tokens": 1, "schedule": "steps"}, "wsd"),
        ({"tokens": 1, "precision": "float8"}, "bfloat16"),
    ],
)
def test_what_cannot_be_is_named(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        Recipe(corpus=("a",), **wrong)


def test_the_budget_is_in_tokens_or_minutes() -> None:
    assert Recipe(("a",), tokens=1000).share(250, 1e9) == 0.25
    assert Recipe(("a",), minutes=2).share(10**9, 30) == 0.25
    assert Recipe(("a",), minutes=2).share(0, 500) == 1


def test_evaluations_are_due_twenty_times_or_by_tokens() -> None:
    assert [Recipe(("a",), tokens=1000).turn(n, 0) for n in (0, 49, 50, 1000)] == [0, 0, 1, 20]
    assert [Recipe(("a",), tokens=1000, evaluate_tokens=300).turn(n, 0) for n in (299, 300, 900)] == [0, 1, 3]


def test_the_usual_rate_is_lower_when_continuing() -> None:
    assert Recipe(("a",), tokens=1).peak_lr == 1e-3
    assert Recipe(("a",), tokens=1, init="x").peak_lr == 3e-4
    assert Recipe(("a",), tokens=1, init="x", lr=0.1).peak_lr == 0.1
