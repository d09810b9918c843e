"""A figure as the browser gets it: its JSON, numbers unpacked."""

from __future__ import annotations

import base64
import html
import json
from typing import Any

import numpy as np
from plotly.graph_objects import Figure


def plotted(figure: Figure) -> dict[str, Any]:
    """What Plotly would draw; arrays, which travel as base64, are lists again."""
    drawn: dict[str, Any] = _unpacked(json.loads(figure.to_json()))
    return drawn


def shown(label: str) -> str:
    """A label as Plotly shows it: entities are read, and a tag would be."""
    assert "<" not in label.replace("<b>", "").replace("</b>", "").replace("<br>", "")
    return html.unescape(label.replace("<b>", "").replace("</b>", ""))


def _unpacked(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, dict) and "bdata" in value:
        flat = np.frombuffer(base64.b64decode(value["bdata"]), np.dtype(value["dtype"]))
        shape = [int(n) for n in str(value.get("shape", len(flat))).split(",")]
        return flat.reshape(shape).tolist()
    if isinstance(value, dict):
        return {name: _unpacked(inner) for name, inner in value.items()}
    return [_unpacked(inner) for inner in value] if isinstance(value, list) else value
