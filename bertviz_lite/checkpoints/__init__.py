"""Files to (configuration, weights, tokenizer) with a report of what was read, and back.

`load` gives a model that predicts or says in a sentence why not; `inspect` reports in either case.
"""

from bertviz_lite.checkpoints._archives import ARCHIVES
from bertviz_lite.checkpoints._checkpoint import Checkpoint, count_parameters, tie_sentence, write_folder
from bertviz_lite.checkpoints._folder import Source, matters
from bertviz_lite.checkpoints._load import inspect, load
from bertviz_lite.checkpoints._save import file_name, saved_zip
from bertviz_lite.checkpoints.compare import Comparison, compare
from bertviz_lite.checkpoints.report import ParameterCounts, Renamed, Report, TensorInfo, Unused
from bertviz_lite.checkpoints.statistics import Histogram, TensorStatistics, histogram, tensor_statistics
from bertviz_lite.checkpoints.tree import Node, module_tree

__all__ = [
    "ARCHIVES",
    "Checkpoint",
    "Comparison",
    "Histogram",
    "Node",
    "ParameterCounts",
    "Renamed",
    "Report",
    "Source",
    "TensorInfo",
    "TensorStatistics",
    "Unused",
    "compare",
    "count_parameters",
    "file_name",
    "histogram",
    "inspect",
    "load",
    "matters",
    "module_tree",
    "saved_zip",
    "tensor_statistics",
    "tie_sentence",
    "write_folder",
]
