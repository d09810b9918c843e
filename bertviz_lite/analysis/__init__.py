"""What can be asked of a model: pure functions of (model, encoding) that return frozen dataclasses of arrays.

Nothing here draws, reads a file or keeps anything between calls.
"""

from bertviz_lite.analysis._rows import Progress, require_fits, require_numbers
from bertviz_lite.analysis.attention import AttentionMaps, attention_maps, without
from bertviz_lite.analysis.candidates import Candidates, candidates, spelling
from bertviz_lite.analysis.contrast import Contrast, contrast, log_odds
from bertviz_lite.analysis.decoder import Stages, WorkedLogit, stages, worked_logit
from bertviz_lite.analysis.filling import STRATEGIES, Filling, Strategy, fill
from bertviz_lite.analysis.filters import Case, continuing_ids, wrong_case_ids
from bertviz_lite.analysis.heads import HeadStatistics, head_statistics, leaders
from bertviz_lite.analysis.predictions import MaskPredictions, require_slot, slots, top_k
from bertviz_lite.analysis.scoring import TokenScores, pseudo_loss, unmasked_loss
from bertviz_lite.analysis.vocabulary import Neighbours, neighbours, row_norms
from bertviz_lite.analysis.window import Window, window

__all__ = [
    "STRATEGIES",
    "AttentionMaps",
    "Candidates",
    "Case",
    "Contrast",
    "Filling",
    "HeadStatistics",
    "MaskPredictions",
    "Neighbours",
    "Progress",
    "Stages",
    "Strategy",
    "TokenScores",
    "Window",
    "WorkedLogit",
    "attention_maps",
    "candidates",
    "continuing_ids",
    "contrast",
    "fill",
    "head_statistics",
    "leaders",
    "log_odds",
    "neighbours",
    "pseudo_loss",
    "require_fits",
    "require_numbers",
    "require_slot",
    "row_norms",
    "slots",
    "spelling",
    "stages",
    "top_k",
    "unmasked_loss",
    "window",
    "without",
    "worked_logit",
    "wrong_case_ids",
]
