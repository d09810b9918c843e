"""Masking, corpus reading and the training loop live here.

Nothing in this room draws or knows a page; a page starts a run and reads what it logs.
"""

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

__all__ = ["KEPT", "KINDS", "MASKED", "NOT_SELECTED", "RANDOM", "RULES", "MaskedBatch", "MaskingRule", "mask"]
