"""What can be asked of a model: pure functions of (model, encoding) that return frozen dataclasses of arrays.

Nothing here draws, reads a file or keeps anything between calls.
"""

from bertviz_lite.analysis._layers import require_index
from bertviz_lite.analysis._rows import Progress, require_fits, require_numbers
from bertviz_lite.analysis.attention import (
    AttentionMaps,
    attention_maps,
    each_layer,
    every_head,
    head_map,
    layer_maps,
    mean_map,
)
from bertviz_lite.analysis.attention_files import (
    MOST_WRITTEN_OUT,
    AttentionTable,
    attention_csv,
    attention_json,
    attention_npz,
    head_records,
    heads_csv,
    heads_json,
    shown_table,
)
from bertviz_lite.analysis.candidates import Candidates, candidates, spelling
from bertviz_lite.analysis.contrast import Contrast, contrast, log_odds
from bertviz_lite.analysis.corpus import ScoredLine, Totals, score_lines, totals, work
from bertviz_lite.analysis.decoder import Stages, WorkedLogit, stages, worked_logit
from bertviz_lite.analysis.filling import STRATEGIES, Filling, Strategy, fill
from bertviz_lite.analysis.filters import Case, continuing_ids, wrong_case_ids
from bertviz_lite.analysis.flow import LONGEST_FLOW, attention_flow
from bertviz_lite.analysis.heads import HeadStatistics, first_look, head_statistics, leaders
from bertviz_lite.analysis.learning import TOKEN_CLASSES, TokenClass, loss_by_class, probe_margins, token_class
from bertviz_lite.analysis.map_changes import MapChange, map_change
from bertviz_lite.analysis.overview import LARGEST_MAP, Overview, Pool, Survey, overview, pooled, survey
from bertviz_lite.analysis.pairs import Aligned, PairScores, compare_pair
from bertviz_lite.analysis.patterns import PATTERNS, NamedHead, Pattern, named_heads
from bertviz_lite.analysis.predictions import MaskPredictions, require_slot, slots, top_k
from bertviz_lite.analysis.query_key import LayerAttention, QueryKey, layer_attention, query_key
from bertviz_lite.analysis.rollout import rollout
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
from bertviz_lite.analysis.shown_maps import PAIRINGS, MapChoice, Pairing, ShownMap, pair_mask, shown_map
from bertviz_lite.analysis.training_examples import (
    Draws,
    LossByKind,
    TrainingExample,
    draws,
    expected_n_selected,
    loss_by_kind,
    training_example,
)
from bertviz_lite.analysis.units import Kind, Units, merge, token_units, word_units
from bertviz_lite.analysis.vocabulary import Neighbours, neighbours, row_norms
from bertviz_lite.analysis.window import Window, window

__all__ = [
    "LARGEST_MAP",
    "LONGEST_FLOW",
    "METRICS",
    "MOST_WRITTEN_OUT",
    "PAIRINGS",
    "PATTERNS",
    "STRATEGIES",
    "TOKEN_CLASSES",
    "Aligned",
    "AttentionMaps",
    "AttentionTable",
    "Candidates",
    "Case",
    "Contrast",
    "Draws",
    "Filling",
    "HeadStatistics",
    "Kind",
    "LayerAttention",
    "LossByKind",
    "MapChange",
    "MapChoice",
    "MaskPredictions",
    "Metric",
    "NamedHead",
    "Neighbours",
    "Overview",
    "PairScores",
    "Pairing",
    "Pattern",
    "Pool",
    "Progress",
    "QueryKey",
    "ScoredLine",
    "ShownMap",
    "Stages",
    "Strategy",
    "Survey",
    "TokenClass",
    "TokenScores",
    "Totals",
    "TrainingExample",
    "Units",
    "Window",
    "WorkedLogit",
    "attention_csv",
    "attention_flow",
    "attention_json",
    "attention_maps",
    "attention_npz",
    "candidates",
    "compare_pair",
    "continuing_ids",
    "contrast",
    "draws",
    "each_layer",
    "every_head",
    "expected_n_selected",
    "fill",
    "first_look",
    "head_map",
    "head_records",
    "head_statistics",
    "heads_csv",
    "heads_json",
    "labelled_loss",
    "layer_attention",
    "layer_maps",
    "leaders",
    "log_odds",
    "loss_by_class",
    "loss_by_kind",
    "map_change",
    "mean_map",
    "merge",
    "named_heads",
    "neighbours",
    "overview",
    "pair_mask",
    "pooled",
    "probe_margins",
    "pseudo_loss",
    "query_key",
    "require_fits",
    "require_index",
    "require_numbers",
    "require_slot",
    "rollout",
    "row_norms",
    "score",
    "score_all",
    "score_lines",
    "scored_positions",
    "shown_map",
    "shown_table",
    "slots",
    "spelling",
    "stages",
    "survey",
    "token_class",
    "token_units",
    "top_k",
    "totals",
    "training_example",
    "unmasked_loss",
    "window",
    "word_units",
    "work",
    "worked_logit",
    "wrong_case_ids",
]
