"""What can be asked of a model: pure functions of (model, encoding) that return frozen dataclasses of arrays.

Nothing here draws, reads a file or keeps anything between calls.
"""

from bertviz_lite.analysis._rows import Progress, require_fits, require_numbers
from bertviz_lite.analysis.attention import AttentionMaps, attention_maps, without
from bertviz_lite.analysis.candidates import Candidates, candidates, spelling
from bertviz_lite.analysis.contrast import Contrast, contrast, log_odds
from bertviz_lite.analysis.corpus import ScoredLine, Totals, score_lines, totals, work
from bertviz_lite.analysis.decoder import Stages, WorkedLogit, stages, worked_logit
from bertviz_lite.analysis.filling import STRATEGIES, Filling, Strategy, fill
from bertviz_lite.analysis.filters import Case, continuing_ids, wrong_case_ids
from bertviz_lite.analysis.heads import HeadStatistics, head_statistics, leaders
from bertviz_lite.analysis.pairs import Aligned, PairScores, compare_pair
from bertviz_lite.analysis.predictions import MaskPredictions, require_slot, slots, top_k
from bertviz_lite.analysis.scoring import (
    METRICS,
    Metric,
    TokenScores,
    labelled_loss,
    pseudo_loss,
    score,
    score_all,
    scored_positions,
    unmasked_loss,
)
from bertviz_lite.analysis.training_examples import (
    Draws,
    LossByKind,
    TrainingExample,
    draws,
    expected_n_selected,
    loss_by_kind,
    training_example,
)
from bertviz_lite.analysis.vocabulary import Neighbours, neighbours, row_norms
from bertviz_lite.analysis.window import Window, window

__all__ = [
    "METRICS",
    "STRATEGIES",
    "Aligned",
    "AttentionMaps",
    "Candidates",
    "Case",
    "Contrast",
    "Draws",
    "Filling",
    "HeadStatistics",
    "LossByKind",
    "MaskPredictions",
    "Metric",
    "Neighbours",
    "PairScores",
    "Progress",
    "ScoredLine",
    "Stages",
    "Strategy",
    "TokenScores",
    "Totals",
    "TrainingExample",
    "Window",
    "WorkedLogit",
    "attention_maps",
    "candidates",
    "compare_pair",
    "continuing_ids",
    "contrast",
    "draws",
    "expected_n_selected",
    "fill",
    "head_statistics",
    "labelled_loss",
    "leaders",
    "log_odds",
    "loss_by_kind",
    "neighbours",
    "pseudo_loss",
    "require_fits",
    "require_numbers",
    "require_slot",
    "row_norms",
    "score",
    "score_all",
    "score_lines",
    "scored_positions",
    "slots",
    "spelling",
    "stages",
    "top_k",
    "totals",
    "training_example",
    "unmasked_loss",
    "window",
    "without",
    "work",
    "worked_logit",
    "wrong_case_ids",
]
