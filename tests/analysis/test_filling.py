"""Expected values: brute force over all 12³ fillings with transformers, loops over transformers, hand arithmetic."""

from __future__ import annotations

import math

import dice
import numpy as np
import pytest
import torch
from dice import TOKENIZER, V, every_filling, log_probs, put
from guesser import ID, NOT_LANGUAGE, PROBS, guesser
from numpy.testing import assert_allclose
from outside import Outside

from bertviz_lite import Checkpoint
from bertviz_lite.analysis import STRATEGIES, Strategy, fill
from bertviz_lite.errors import CheckpointError, InputError, TextError

THREE = TOKENIZER.encode("a [MASK] b [MASK] [MASK] c")
PLACES = THREE.mask_positions
SEEDS = pytest.mark.parametrize("seed", [0, 1, 2])
ALL = pytest.mark.parametrize("strategy", STRATEGIES)


@SEEDS
@pytest.mark.parametrize("beams", [V**2, V**3, 5000])
def test_a_beam_as_wide_as_the_vocabulary_squared_is_brute_force(seed: int, beams: int) -> None:
    found = fill(dice.ours(seed), THREE, "beam", beams=beams)
    joint = every_filling(THREE.ids, PLACES, seed)
    best = sorted(joint, key=lambda pieces: -joint[pieces])[: len(found.ids)]
    assert len(found.ids) == min(beams, V**3)
    assert_allclose(found.joint_log_probs, [joint[pieces] for pieces in best], atol=1e-4)
    assert_allclose(found.joint_log_probs, [joint[tuple(row)] for row in found.ids.tolist()], atol=1e-4)
    assert len({tuple(row) for row in found.ids.tolist()}) == len(found.ids), "no filling comes twice"
    if len(found.ids) == V**3:
        assert np.exp(found.joint_log_probs).sum() == pytest.approx(1.0, abs=1e-4)


@SEEDS
@pytest.mark.parametrize("beams", [1, 2, 3, 7])
def test_a_narrow_beam_keeps_the_likeliest_beginnings(seed: int, beams: int) -> None:
    kept: dict[tuple[int, ...], float] = {(): 0.0}
    for place in PLACES:
        longer = {
            (*pieces, piece): joint + step
            for pieces, joint in kept.items()
            for piece, step in enumerate(log_probs(put(THREE.ids, PLACES, pieces), place, seed).tolist())
        }
        kept = dict(sorted(longer.items(), key=lambda item: -item[1])[:beams])
    found = fill(dice.ours(seed), THREE, "beam", beams=beams)
    assert [tuple(row) for row in found.ids.tolist()] == list(kept)
    assert_allclose(found.joint_log_probs, list(kept.values()), atol=1e-4)
    assert found.positions.tolist() == list(PLACES)
    assert found.orders.tolist() == beams * [[0, 1, 2]]


@SEEDS
def test_left_to_right_takes_the_best_of_each_step(seed: int) -> None:
    pieces: tuple[int, ...] = ()
    steps = []
    for place in PLACES:
        step = log_probs(put(THREE.ids, PLACES, pieces), place, seed)
        pieces = (*pieces, int(step.argmax()))
        steps.append(float(step.max()))
    found = fill(dice.ours(seed), THREE, "left_to_right", beams=9)
    assert found.ids.tolist() == [list(pieces)]
    assert_allclose(found.step_log_probs, [steps], atol=1e-5)
    assert found.joint_log_probs[0] == pytest.approx(sum(steps), abs=1e-4)


@SEEDS
def test_best_first_fills_where_the_model_is_surest(seed: int) -> None:
    row, left, order, steps = list(THREE.ids), list(range(3)), [], {}
    while left:
        sure = {mask: log_probs(row, PLACES[mask], seed) for mask in left}
        mask = max(left, key=lambda m: float(sure[m].max()))
        row[PLACES[mask]] = int(sure[mask].argmax())
        steps[mask] = float(sure[mask].max())
        order.append(mask)
        left.remove(mask)
    found = fill(dice.ours(seed), THREE, "best_first")
    assert found.ids.tolist() == [[row[place] for place in PLACES]]
    assert found.orders.tolist() == [order]
    assert_allclose(found.step_log_probs, [[steps[mask] for mask in range(3)]], atol=1e-5)


@SEEDS
def test_independent_guesses_are_scored_from_left_to_right(seed: int) -> None:
    guesses = tuple(int(log_probs(list(THREE.ids), place, seed).argmax()) for place in PLACES)
    found = fill(dice.ours(seed), THREE, "independent")
    assert found.ids.tolist() == [list(guesses)]
    assert found.joint_log_probs[0] == pytest.approx(every_filling(THREE.ids, PLACES, seed)[guesses], abs=1e-4)


@ALL
def test_where_context_does_not_matter_all_strategies_agree(strategy: Strategy) -> None:
    found = fill(guesser(), TOKENIZER.encode("a [MASK] [MASK]"), strategy, exclude=NOT_LANGUAGE)
    assert found.ids[0].tolist() == [ID["b"], ID["b"]]
    assert found.joint_log_probs[0] == pytest.approx(2 * math.log(PROBS["b"]), rel=1e-6)


@ALL
def test_excluded_pieces_are_never_put_in(strategy: Strategy) -> None:
    hidden = TOKENIZER.encode("as b").masked({0})  # two masks, the second continues the word
    exclude, at_start = {*NOT_LANGUAGE, ID["a"], ID["b"], ID["c"], ID["."]}, {ID["##s"]}
    found = fill(guesser(), hidden, strategy, exclude={*NOT_LANGUAGE, ID["b"]}, exclude_at_start=at_start)
    assert found.ids[0].tolist() == [ID["a"], ID["a"]]
    found = fill(guesser(), hidden, strategy, exclude=exclude)
    assert found.ids.tolist() == [[ID["##s"], ID["##s"]]], "fewer ways than beams"
    with pytest.raises(InputError, match="Every piece"):
        fill(guesser(), hidden, strategy, exclude=exclude, exclude_at_start=at_start)


@ALL
def test_progress_counts_up_to_the_end(strategy: Strategy) -> None:
    told: list[tuple[int, int]] = []
    fill(dice.ours(), THREE, strategy, beams=4, progress=lambda done, n: told.append((done, n)))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == told[-1][1] > 1


@ALL
def test_many_rows_in_small_batches_change_nothing(strategy: Strategy, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fill(dice.ours(), THREE, strategy, beams=20)
    monkeypatch.setattr("bertviz_lite.analysis._rows.TOKENS_A_BATCH", 1)
    split = fill(dice.ours(), THREE, strategy, beams=20)
    assert split.ids.tolist() == whole.ids.tolist()
    assert_allclose(split.step_log_probs, whole.step_log_probs, atol=1e-5)


def test_what_cannot_be_asked_is_said() -> None:
    with pytest.raises(InputError, match="no strategy 'best'"):
        fill(guesser(), TOKENIZER.encode("[MASK]"), "best")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="beams = 0"):
        fill(guesser(), TOKENIZER.encode("[MASK]"), beams=0)
    with pytest.raises(TextError, match="Nothing is masked"):
        fill(guesser(), TOKENIZER.encode("a b"))
    with pytest.raises(TextError, match="at most 8"):
        fill(guesser(), TOKENIZER.encode("[MASK] " * 9))
    with pytest.raises(CheckpointError, match="NaN"):
        fill(guesser(12 * [math.nan]), TOKENIZER.encode("[MASK] [MASK]"))


def test_the_bundled_example_contradicts_itself_when_filled_independently(
    bundled: Checkpoint, outside: Outside
) -> None:
    encoding = bundled.tokenizer.encode("The president of the United States spoke.").masked({4, 5})
    exclude = bundled.tokenizer.special_ids
    alone, beam = (fill(bundled.model, encoding, way, beams=8, exclude=exclude) for way in ("independent", "beam"))
    assert [bundled.tokenizer.piece(i) for i in alone.ids[0].tolist()] == ["united", "party"]
    assert [bundled.tokenizer.piece(i) for i in beam.ids[0].tolist()] == ["united", "states"]
    for found in (alone, beam):
        joint, ids = 0.0, torch.tensor(encoding.ids)
        for place, piece in zip(encoding.mask_positions, found.ids[0].tolist(), strict=True):
            joint += float(outside.log_probs(ids, torch.zeros_like(ids))[place, piece])
            ids[place] = piece
        assert found.joint_log_probs[0] == pytest.approx(joint, abs=1e-4)
    assert beam.joint_log_probs[0] > alone.joint_log_probs[0] + 3
