"""What can be asked of a model: pure functions of (model, encoding) that return frozen dataclasses of arrays.

Nothing here draws, reads a file or keeps anything between calls.
"""

from bertviz_lite.analysis._rows import require_fits
from bertviz_lite.analysis.attention import AttentionMaps, attention_maps, without
from bertviz_lite.analysis.decoder import Stages, WorkedLogit, stages, worked_logit
from bertviz_lite.analysis.heads import HeadStatistics, head_statistics, leaders
from bertviz_lite.analysis.predictions import MaskPredictions, top_k
from bertviz_lite.analysis.scoring import TokenScores, pseudo_loss, unmasked_loss
from bertviz_lite.analysis.vocabulary import Neighbours, neighbours, row_norms

__all__ = [
    "AttentionMaps",
    "HeadStatistics",
    "MaskPredictions",
    "Neighbours",
    "Stages",
    "TokenScores",
    "WorkedLogit",
    "attention_maps",
    "head_statistics",
    "leaders",
    "neighbours",
    "pseudo_loss",
    "require_fits",
    "row_norms",
    "stages",
    "top_k",
    "unmasked_loss",
    "without",
    "worked_logit",
]
