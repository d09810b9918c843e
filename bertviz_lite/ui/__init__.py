"""The only room that knows Streamlit: frame and navigation, state and address, models, the inference gate, widgets.

A page reads inputs, makes one call and draws; what two pages share is here, the views of one page in a room of theirs.
"""

from bertviz_lite.ui import (
    calculator,
    charts,
    checkpoint_views,
    compute,
    follow,
    gate,
    numbers,
    sentence,
    shelf,
    shell,
    sight,
    state,
    upload,
)

__all__ = [
    "calculator",
    "charts",
    "checkpoint_views",
    "compute",
    "follow",
    "gate",
    "numbers",
    "sentence",
    "shelf",
    "shell",
    "sight",
    "state",
    "upload",
]
