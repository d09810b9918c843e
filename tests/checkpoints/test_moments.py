"""The moments of a training that ship: small, whole, in order, and measured as their JSON says.

Probes and losses by class are worked out again with transformers, from the weights alone.
"""

from __future__ import annotations

import json
import logging
import math
import re
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file

import bertviz_lite
from bertviz_lite.analysis import TOKEN_CLASSES, token_class
from bertviz_lite.bundled import LEARNING_EXAMPLES, Moment, moments, probes
from bertviz_lite.bundled.learning import MOMENTS, counted_nats, learning_sentences
from bertviz_lite.training import read_curve
from bertviz_lite.ui.numbers import short

transformers.logging.set_verbosity(logging.CRITICAL)
transformers.logging.disable_progress_bar()

SAVED = moments()
TOKENIZER = bertviz_lite.load(SAVED[0].weights).tokenizer
STEPS = [moment.step for moment in SAVED]


class Asked:
    """One moment in transformers."""

    def __init__(self, moment: Moment) -> None:
        config = transformers.BertConfig(**json.loads((MOMENTS / "config.json").read_text(encoding="utf-8")))
        self.model = transformers.BertForMaskedLM(config).eval()
        missing, unexpected = self.model.load_state_dict(
            {name: tensor.float() for name, tensor in load_file(moment.weights).items()}, strict=False
        )
        assert not unexpected
        assert all("decoder" in name for name in missing)  # tied
        self.model.tie_weights()

    @torch.no_grad()
    def log_probs(self, ids: tuple[int, ...], at: int) -> torch.Tensor:
        """(V,) at one place."""
        logits: torch.Tensor = self.model(input_ids=torch.tensor([ids])).logits[0, at]
        return logits.log_softmax(-1)


@pytest.fixture(scope="module", params=SAVED, ids=lambda m: f"step {m.step}")
def moment(request: pytest.FixtureRequest) -> Moment:
    found: Moment = request.param
    return found


def test_there_are_about_ten_from_nothing_to_the_end_in_at_most_twelve_megabytes() -> None:
    assert 8 <= len(SAVED) <= 12
    assert SAVED[0].step == SAVED[0].tokens == 0
    assert sorted(STEPS) == STEPS
    assert {m.weights.name for m in SAVED} == {path.name for path in MOMENTS.glob("*.safetensors")}
    assert sum(path.stat().st_size for path in MOMENTS.rglob("*") if path.is_file()) <= 12_000_000


def test_each_is_a_checkpoint_of_its_own_in_half_precision(moment: Moment) -> None:
    opened = bertviz_lite.load(moment.weights)
    assert opened.predicts
    assert opened.tokenizer.pieces == TOKENIZER.pieces
    assert {tensor.dtype for tensor in load_file(moment.weights).values()} == {torch.float16}
    assert opened.report.digest != bertviz_lite.load(SAVED[-1].weights).report.digest or moment == SAVED[-1]


@pytest.mark.parametrize("kind", probes())
def test_probes_come_out_as_measured(moment: Moment, kind: str) -> None:
    asked, right = Asked(moment), 0
    for probe in probes()[kind]:
        odds = []
        for text in filter(None, (probe.text, probe.twin)):
            encoding = TOKENIZER.encode(text)
            (at,) = encoding.mask_positions
            found = asked.log_probs(encoding.ids, at)
            odds.append(float(found[TOKENIZER.id(probe.right)] - found[TOKENIZER.id(probe.wrong)]))
        right += odds[0] > (odds[1] if probe.twin else 0)
    assert moment.right_share[kind] == pytest.approx(right / len(probes()[kind]), abs=0.051)  # one near a tie


def test_losses_by_class_come_out_as_measured() -> None:
    moment = SAVED[len(SAVED) // 2]
    asked = Asked(moment)
    losses: dict[str, list[float]] = {name: [] for name in TOKEN_CLASSES}
    for text in learning_sentences():
        ids = TOKENIZER.encode(text).ids
        for at in range(1, len(ids) - 1):
            hidden = (*ids[:at], TOKENIZER.mask_id, *ids[at + 1 :])
            losses[token_class(TOKENIZER.piece(ids[at]))].append(-float(asked.log_probs(hidden, at)[ids[at]]))
    for name, found in losses.items():
        assert moment.class_nats[name] == pytest.approx(sum(found) / len(found), abs=2e-3)


def test_what_is_learnt_first_comes_first() -> None:
    first = {
        kind: next((m.tokens for m in SAVED if m.right_share[kind] >= 0.8), math.inf)
        for kind in ("frequency", "neighbours", "grammar")
    }
    assert 0 < first["frequency"] < first["neighbours"] <= first["grammar"] < math.inf
    assert SAVED[0].held_out_nats == pytest.approx(math.log(len(TOKENIZER)), abs=0.1)  # a blind guess
    assert SAVED[-1].held_out_nats == min(m.held_out_nats for m in SAVED)


def test_the_log_is_the_way_between_the_moments() -> None:
    curve = read_curve(MOMENTS)
    assert curve.held_out_nats[0] == pytest.approx(SAVED[0].held_out_nats, abs=0.02)
    assert curve.held_out_nats[-1] == pytest.approx(SAVED[-1].held_out_nats, abs=0.02)
    assert curve.tokens[-1] == pytest.approx(SAVED[-1].tokens, rel=0.01)
    nats = counted_nats()
    assert nats["even_nats"] == pytest.approx(math.log(len(TOKENIZER)), abs=1e-3)
    assert nats["even_nats"] > nats["frequency_nats"] > nats["left_nats"] > nats["both_nats"]


def test_card_and_readme_tell_what_was_measured() -> None:
    card = (MOMENTS / "README.md").read_text(encoding="utf-8")
    for moment in SAVED:
        shares = " | ".join(f"{share:.0%}" for share in moment.right_share.values())
        losses = " | ".join(f"{loss:.2f}" for loss in moment.class_nats.values())
        assert f"| {moment.step:,} | {moment.tokens:,} | {moment.held_out_nats:.2f} | {shares} | {losses} |" in card
    readme = (MOMENTS.parent.parent.parent / "README.md").read_text(encoding="utf-8")
    for nats in (*counted_nats().values(), SAVED[-1].held_out_nats):
        assert f"{nats:.2f}" in readme
    told = re.search(
        r"frequent\* \(from (.+?) tokens.*?\((.+?)\), \*grammar.*?\((.+?)\), what words \*mean\* \((.+?)\)", readme
    )
    assert told is not None
    learnt = [next(m for m in SAVED if m.right_share[kind] >= 0.8) for kind in probes()]
    assert list(told.groups()) == [short(int(float(f"{m.tokens:.2g}"))) for m in learnt]


def test_twins_differ_and_their_words_are_pieces() -> None:
    for kind, own in probes().items():
        assert len(own) == 20
        assert all(bool(probe.twin) == (kind != "frequency") for probe in own)
        assert all(probe.text != probe.twin and probe.right != probe.wrong for probe in own)


def test_examples_are_words_that_the_vocabulary_has_whole() -> None:
    *whole, last = LEARNING_EXAMPLES
    for example in whole:
        assert not any(piece.startswith("##") for piece in TOKENIZER.encode(example.text).pieces)
    assert any(piece.startswith("##") for piece in TOKENIZER.encode(last.text).pieces)


def test_a_moment_opens_in_transformers_as_a_folder(tmp_path: Path) -> None:
    bertviz_lite.load(SAVED[-1].weights).save_pretrained(tmp_path)
    theirs = transformers.BertForMaskedLM.from_pretrained(tmp_path).eval()
    encoding = TOKENIZER.encode("She wants [MASK] go home.")
    with torch.no_grad():
        best = theirs(input_ids=torch.tensor([encoding.ids])).logits[0, encoding.mask_positions[0]].argmax()
    assert TOKENIZER.piece(int(best)) == "to"
