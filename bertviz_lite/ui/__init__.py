"""The only room that knows Streamlit: frame and navigation, state and address, models, the inference gate, widgets.

A page reads inputs, makes one call and draws; everything that two pages share is here.
"""

from bertviz_lite.ui import (
    calculator,
    charts,
    checkpoint_views,
    compute,
    contrast_view,
    file_job,
    file_view,
    fill_tables,
    fill_views,
    follow,
    gate,
    loss_view,
    metrics,
    numbers,
    pair_view,
    sentence,
    shelf,
    shell,
    sight,
    state,
    upload,
    words_view,
)

__all__ = [
    "calculator",
    "charts",
    "checkpoint_views",
    "compute",
    "contrast_view",
    "file_job",
    "file_view",
    "fill_tables",
    "fill_views",
    "follow",
    "gate",
    "loss_view",
    "metrics",
    "numbers",
    "pair_view",
    "sentence",
    "shelf",
    "shell",
    "sight",
    "state",
    "upload",
    "words_view",
]
