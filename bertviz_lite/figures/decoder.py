"""Pictures for the way from ids to a prediction: strips of real values, the logits, and one logit as a sum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from bertviz_lite.figures import palette
from bertviz_lite.figures.checkpoint import value_histogram
from bertviz_lite.figures.labels import axis_labels, escaped

Floats = NDArray[np.float32]

_ROW_PX = 15
_STRONG_QUANTILE = 0.995  # a few outliers would make all other values look alike


def strip(values: Floats, pieces: Sequence[str], *, marked: int | None = None, dark: bool = False) -> go.Figure:
    """Real values of one stage: a row per token, a column per dimension, blue below zero, amber above.

    Args:
        values: (T, D).
        pieces: T labels.
        marked: the row that is followed, framed.
    """
    most = max(float(np.quantile(np.abs(values), _STRONG_QUANTILE)), 1e-6)
    figure = go.Figure(
        go.Heatmap(
            z=values,
            zmid=0,
            zmin=-most,
            zmax=most,
            colorscale=palette.colorscale(palette.signed(dark)),
            showscale=False,
            hovertemplate="%{y}, dimension %{x}<br>value %{z:.3f}<extra></extra>",
        )
    )
    n = len(pieces)
    palette.style(figure, dark, height=max(_ROW_PX * n, 60) + 16)
    if marked is not None:
        figure.add_hrect(y0=marked - 0.5, y1=marked + 0.5, line={"color": palette.ink(dark), "width": 2})
    figure.update_xaxes(visible=False)
    figure.update_yaxes(
        tickvals=list(range(n)), ticktext=axis_labels(pieces), range=[n - 0.5, -0.5], showgrid=False, tickfont_size=11
    )
    return figure


def logit_histogram(logits: Floats, chosen: float, label: str, *, dark: bool = False) -> go.Figure:
    """How the logits of the whole vocabulary are spread, the chosen word's marked.

    Args:
        logits: (V,).
        chosen: the word's logit.
        label: the word.
    """
    counts, edges = np.histogram(logits[np.isfinite(logits)], bins=60)
    figure = value_histogram(counts, edges, dark=dark)
    figure.update_layout(height=190)
    figure.update_traces(hovertemplate="%{y:,} pieces have a logit near %{x:.1f}<extra></extra>")
    figure.add_vline(
        x=chosen,
        line={"color": palette.stops("probability", dark)[-1], "width": 2},
        annotation={"text": f"{escaped(label)} {chosen:.2f}", "font": {"size": 13}},
        annotation_position="top left",
    )
    figure.update_xaxes(title="logit")
    figure.update_yaxes(visible=False)
    return figure


def terms(vector: Floats, row: Floats, products: Floats, piece: str, *, dark: bool = False) -> go.Figure:
    """The vector, the word's row and their product, dimension by dimension, each coloured by its own largest value.

    Args:
        vector, row, products: (D,).
    """
    values = np.stack([vector, row, products])
    largest = np.abs(values).max(1, keepdims=True)
    figure = strip(values / np.maximum(largest, 1e-9), ["vector", f"row of {piece}", "product"], dark=dark)
    figure.update_traces(customdata=values, hovertemplate="dimension %{x}<br>%{y}: %{customdata:.4f}<extra></extra>")
    figure.update_layout(height=150)
    return figure


def running_sum(products: Floats, bias: float, *, dark: bool = False) -> go.Figure:
    """Σ over the dimensions as it grows, the bias as the last step.

    Args:
        products: (D,).
        bias: the word's output bias.
    """
    sums = np.concatenate([[0.0], np.cumsum(products, dtype=np.float64)])
    n = len(products)
    steps = palette.stops("probability", dark)
    figure = go.Figure(
        go.Scatter(
            x=np.arange(n + 1),
            y=sums,
            mode="lines",
            line={"color": steps[5], "width": 2},
            hovertemplate="after %{x} dimensions: %{y:.3f}<extra></extra>",
        )
    )
    figure.add_scatter(
        x=[n, n],
        y=[sums[-1], sums[-1] + bias],
        mode="lines+markers",
        line={"color": steps[-1], "width": 3},
        hovertemplate="%{y:.3f}<extra>the bias</extra>",
    )
    palette.style(figure, dark, height=220)
    figure.update_xaxes(title="dimensions added", showgrid=False, range=[0, n * 1.02])
    figure.update_yaxes(title="sum so far", nticks=5)
    return figure


__all__ = ["logit_histogram", "running_sum", "strip", "terms"]
