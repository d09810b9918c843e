"""What can be asked of a model: pure functions of (model, encoding) that return frozen dataclasses of arrays.

Nothing here draws, reads a file or keeps anything between calls.
"""

from bertviz_lite.analysis._rows import require_fits
from bertviz_lite.analysis.attention import AttentionMaps, attention_maps, without
from bertviz_lite.analysis.decoder import Stages, WorkedLogit, stages, worked_logit
from bertviz_lite.analysis.heads import HeadStatistics, head_statistics, leaders
from bertviz_lite.analysis.predictions import MaskPredictions, top_k
from bertviz_lite.analysis.scoring import TokenScores, pseudo_loss, unmasked_loss

__all__ = [
    "AttentionMaps",
    "HeadStatistics",
    "MaskPredictions",
    "Stages",
    "TokenScores",
    "WorkedLogit",
    "attention_maps",
    "head_statistics",
    "leaders",
    "pseudo_loss",
    "require_fits",
    "stages",
    "top_k",
    "unmasked_loss",
    "without",
    "worked_logit",
]
