"""Files to (configuration, weights, tokenizer) with a report of what was read, and back.

`load` gives a model that predicts or says in a sentence why not; `inspect` reports in either case.
"""

from bertviz_lite.checkpoints._folder import Source
from bertviz_lite.checkpoints._load import Checkpoint, count_parameters, inspect, load, tie_sentence
from bertviz_lite.checkpoints.report import ParameterCounts, Renamed, Report, TensorInfo, Unused

__all__ = [
    "Checkpoint",
    "ParameterCounts",
    "Renamed",
    "Report",
    "Source",
    "TensorInfo",
    "Unused",
    "count_parameters",
    "inspect",
    "load",
    "tie_sentence",
]
