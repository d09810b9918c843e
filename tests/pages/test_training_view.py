"""What the Train page takes from a run's log: which answers it shows, and where a sentence is cut."""

from __future__ import annotations

import pytest

from bertviz_lite.ui.training.view import moments, split_at_masks


def rows(*seconds: float) -> list[dict[str, object]]:
    return [{"minutes": s / 60, "probes": ["an answer"]} for s in seconds]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        ((), []),
        ((0,), [0]),
        ((0, 3), [0, 3]),
        ((0, 3, 6), [0, 6]),
        ((0, 3, 6, 9), [0, 6, 9]),
        (range(0, 61, 3), [0, 6, 12, 30, 60]),
    ],
)
def test_answers_keep_their_columns_while_the_latest_moves_on(seconds: tuple[float, ...], shown: list[float]) -> None:
    assert [round(60 * row["minutes"]) for row in moments(rows(*seconds), minutes=1)] == shown


def test_rows_without_answers_are_passed_over() -> None:
    assert moments([{"minutes": 0.5}, *rows(30), {"minutes": 1.0, "probes": []}], minutes=1) == rows(30)


def test_a_sentence_is_cut_at_each_of_its_masks() -> None:
    assert split_at_masks("A [MASK] b [MASK].", 2) == [("A ", " b [MASK]."), ("A [MASK] b ", ".")]
    assert split_at_masks("A <mask> b.", 1) == [("A <mask> b. ", "")]
