"""A seeded run of damaged files: each ends in a model that works or in an error of ours, and never costs much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext

import pytest
from bounds import HAS_PEAK, in_memory
from damage import KINDS, Damage, damages, ends_badly, good, other_values
from small_files import WEIGHTS, files

SEEDS = range(56)  # for each of the 9 files, so 504 mutations


@pytest.mark.parametrize("file", good())
def test_damaged_bytes_end_in_a_model_or_an_error_of_ours(file: str) -> None:
    assert_ends_well(damages(file, SEEDS))


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "tokenizer_config.json"])
def test_other_values_end_in_a_model_or_an_error_of_ours(file: str) -> None:
    assert_ends_well(other_values(file, range(30)))


def assert_ends_well(run: Iterable[Damage]) -> None:
    with in_memory() if HAS_PEAK else nullcontext():
        bad = [said for damage in run if (said := ends_badly(damage))]
    assert not bad, "\n".join(bad)


def test_the_damage_is_the_same_every_time_and_of_every_kind() -> None:
    once, twice = (list(damages(WEIGHTS, SEEDS)) for _ in range(2))
    assert once == twice
    assert len(set(Counter(damage.kind for damage in once).values())) == 1
    assert {damage.kind for damage in once} == set(KINDS)
    assert all(damage.contents[WEIGHTS] != files()[WEIGHTS] for damage in once if damage.kind.startswith("flip"))
