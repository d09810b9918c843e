"""Masking, corpus reading and the training loop live here.

Nothing in this room draws or knows a page; a page starts a run and reads what it logs.
"""

from bertviz_lite.training.curve import Curve, mean_nats, read_curve
from bertviz_lite.training.journal import STOP, Progress, read_log, read_status
from bertviz_lite.training.loop import Hooks, pretrain, read_recipe, resume
from bertviz_lite.training.masking import (
    KEPT,
    KINDS,
    MASKED,
    NOT_SELECTED,
    RANDOM,
    RULES,
    MaskedBatch,
    MaskingRule,
    mask,
)
from bertviz_lite.training.preparation import read_network
from bertviz_lite.training.recipe import PRECISIONS, Recipe
from bertviz_lite.training.run import CHECKPOINTS, RUN
from bertviz_lite.training.schedule import SCHEDULES, learning_rate

__all__ = [
    "CHECKPOINTS",
    "KEPT",
    "KINDS",
    "MASKED",
    "NOT_SELECTED",
    "PRECISIONS",
    "RANDOM",
    "RULES",
    "RUN",
    "SCHEDULES",
    "STOP",
    "Curve",
    "Hooks",
    "MaskedBatch",
    "MaskingRule",
    "Progress",
    "Recipe",
    "learning_rate",
    "mask",
    "mean_nats",
    "pretrain",
    "read_curve",
    "read_log",
    "read_network",
    "read_recipe",
    "read_status",
    "resume",
]
