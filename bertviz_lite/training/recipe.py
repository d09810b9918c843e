"""Everything that decides how a run goes, in one dataclass that is kept beside the run.

A resumed run reads it from there, so that nothing has to be told twice.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from bertviz_lite.errors import ConfigError
from bertviz_lite.training.batches import BatchRule
from bertviz_lite.training.masking import MaskingRule
from bertviz_lite.training.schedule import SCHEDULES
from bertviz_lite.training.store import HELD_OUT_EVERY

PRECISIONS = ("auto", "float32", "bfloat16")
_FRESH_LR, _CONTINUED_LR = 1e-3, 3e-4


@dataclass(frozen=True)
class Recipe:
    """How a model is trained.

    Attributes:
        corpus: text files and folders.
        init: checkpoint to continue from, with its vocabulary; None trains from scratch.
        network: values of a config.json for training from scratch; `vocab_size` is the most pieces to learn.
        lower_case: whether a learnt vocabulary ignores capitals.
        flat_start: whether a fresh model begins with all pieces about equally likely, to watch how frequencies are
            learnt; by default its output bias starts at the log frequencies, which saves that stretch.
        minutes, tokens: the budget, one of the two; minutes count while training runs.
        batch_tokens: places of a batch, padding included.
        accumulate: batches whose gradients are added up for one step.
        max_length: tokens of the longest training sequence.
        sentence_share, weights: as in `BatchRule`.
        masking: how tokens are selected.
        lr: peak learning rate; None is 1e-3 from scratch, 3e-4 continued.
        schedule, warmup: as in `learning_rate`.
        decay: AdamW's weight decay, not on biases and norms.
        clip: largest norm of the gradient.
        dropout: of hidden states and attention while training.
        seed: decides the first weights, the order of the text and the masks.
        precision: "auto" measures float32 and bfloat16 autocast on this machine and takes the quicker.
        log_steps: steps between two rows of the log.
        evaluate_tokens: tokens between two evaluations; None for `evaluations` in the run.
        evaluations: how many, the one before the first step not counted; each costs the time of some steps.
        save_minutes: between two saved states, from which a run resumes.
        checkpoint_steps: steps after which a checkpoint is kept; 0 is before the first.
        half: whether checkpoints and the trained model are written in float16, half as large.
        probes: sentences with masks, predicted at every evaluation; none for some of the held-out text.
        held_out_every: of so many blocks of text one is held out; a short text needs more held out to be judged by.

    Raises:
        ConfigError: a value is out of range; the message names it.
    """

    corpus: tuple[str, ...]
    init: str | None = None
    network: Mapping[str, Any] = field(default_factory=dict)
    lower_case: bool = True
    flat_start: bool = False
    minutes: float | None = None
    tokens: int | None = None
    batch_tokens: int = 6144
    accumulate: int = 1
    max_length: int = 128
    sentence_share: float = 0.4
    weights: Mapping[str, float] = field(default_factory=dict)
    masking: MaskingRule = field(default_factory=MaskingRule)
    lr: float | None = None
    schedule: str = "linear"
    warmup: float = 0.03
    decay: float = 0.01
    clip: float = 1.0
    dropout: float = 0.0
    seed: int = 0
    precision: str = "auto"
    log_steps: int = 10
    evaluate_tokens: int | None = None
    evaluations: int = 20
    save_minutes: float = 5.0
    checkpoint_steps: tuple[int, ...] = ()
    half: bool = False
    probes: tuple[str, ...] = ()
    held_out_every: int = HELD_OUT_EVERY

    def __post_init__(self) -> None:
        if self.minutes is None and self.tokens is None:
            raise ConfigError("Say how long to train: either minutes or tokens.")
        if self.minutes is not None and self.tokens is not None:
            raise ConfigError("Both minutes and tokens are given: choose one of them.")
        self._check_ranges()
        if self.max_length < 8:
            raise ConfigError(f"max_length = {self.max_length}: 8 tokens at least.")
        if self.held_out_every < 2:
            raise ConfigError(f"held_out_every = {self.held_out_every}: 2 at least, or nothing is left to train on.")
        if self.batch_tokens < self.max_length:
            raise ConfigError(f"batch_tokens = {self.batch_tokens}: it must hold {self.max_length} tokens at least.")
        for name, known in (("schedule", SCHEDULES), ("precision", PRECISIONS)):
            if getattr(self, name) not in known:
                raise ConfigError(f"{name} = {getattr(self, name)!r}: choose from {', '.join(known)}.")

    def _check_ranges(self) -> None:
        for name in (
            "minutes",
            "tokens",
            "batch_tokens",
            "accumulate",
            "lr",
            "clip",
            "log_steps",
            "evaluate_tokens",
            "evaluations",
        ):
            value = getattr(self, name)
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise ConfigError(f"{name} = {value}: it must be above 0.")
        for name in ("sentence_share", "warmup", "dropout"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} = {getattr(self, name)}: a share goes from 0 to 1.")
        for name in ("decay", "save_minutes", "seed"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"{name} = {getattr(self, name)}: it must not be below 0.")
        if self.seed >= 2**63:
            raise ConfigError(f"seed = {self.seed}: it must be below 2 to the power of 63.")
        if negative := [step for step in self.checkpoint_steps if step < 0]:
            raise ConfigError(f"A checkpoint after {negative[0]} steps: count from 0, before the first.")
        for source, weight in self.weights.items():
            if not (weight >= 0 and math.isfinite(weight)):
                raise ConfigError(f"The weight of {source} is {weight}; it must be 0 or above.")

    @property
    def peak_lr(self) -> float:
        """The highest learning rate."""
        return self.lr or (_CONTINUED_LR if self.init else _FRESH_LR)

    @property
    def batches(self) -> BatchRule:
        """How batches are cut."""
        return BatchRule(self.batch_tokens, self.max_length, self.sentence_share, self.weights)

    def share(self, tokens: int, seconds: float) -> float:
        """The share of the budget that is used, 0 to 1."""
        used = tokens / self.tokens if self.tokens else seconds / (60 * (self.minutes or math.inf))
        return min(1.0, used)

    def turn(self, tokens: int, seconds: float) -> int:
        """How many evaluations are due by now, the one before the first step not counted."""
        return (
            tokens // self.evaluate_tokens
            if self.evaluate_tokens
            else int(self.evaluations * self.share(tokens, seconds))
        )

    def to_json(self) -> str:
        """The recipe as a JSON text."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Recipe:
        """Read what `to_json` wrote.

        Raises:
            ConfigError: it is no recipe.
        """
        try:
            values = json.loads(text)
            values["masking"] = MaskingRule(**values["masking"])
            tuples = {f.name: tuple(values[f.name]) for f in fields(cls) if isinstance(values.get(f.name), list)}
            return cls(**values | tuples)
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigError(f"The recipe of this run cannot be read ({error}).") from error


__all__ = ["PRECISIONS", "Recipe"]
