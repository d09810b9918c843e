"""Charts beside the attention view: one number per head as a grid, one number per token as bars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from bertviz_lite.figures import palette
from bertviz_lite.figures.labels import axis_labels

_MOST_LABELS = 40  # more cannot be read: every so many tokens is named, hover names the others
_UPRIGHT = 14  # more labels than this lean
_ROOMY = 20  # up to so many tokens labels have their full size


def token_bars(values: NDArray[np.float32], pieces: Sequence[str], what: str, *, dark: bool = False) -> go.Figure:
    """One upright bar per token.

    Args:
        values: (T,), 0 or more.
        pieces: T labels.
        what: the number's name.
    """
    n, most = len(pieces), max(float(values.max(initial=0.0)), 1e-6)
    figure = go.Figure(
        go.Bar(
            x=list(range(n)),
            y=values,
            marker={"color": [palette.colour("attention", 0.25 + 0.75 * float(v) / most, dark) for v in values]},
            hovertemplate="<b>%{x}</b><br>" + what + " %{y:.4f}<extra></extra>",
        )
    )
    palette.style(figure, dark, height=320)
    figure.update_xaxes(
        tickvals=list(range(n)),
        labelalias={str(i): label for i, label in enumerate(axis_labels(pieces))},
        tickangle=-60 if n > _UPRIGHT else 0,
        showgrid=False,
    )
    figure.update_yaxes(title=what, rangemode="tozero", nticks=5)
    return figure


def document(figure: go.Figure, name: str) -> str:
    """A chart as an HTML document that works offline; its camera saves it as SVG under this name."""
    config = {"displaylogo": False, "toImageButtonOptions": {"format": "svg", "filename": name}}
    whole: str = figure.to_html(config=config, include_plotlyjs=True)
    return whole


def token_axes(figure: palette.Figure, pieces: Sequence[str]) -> None:
    """Name both axes of a token × token picture; hovering names those too that have no room for a label."""
    n = len(pieces)
    names = {"labelalias": {str(i): label for i, label in enumerate(axis_labels(pieces))}, "showgrid": False}
    ticks = list(range(0, n, 1 + max(n - 1, 0) // _MOST_LABELS))
    names["tickfont"] = {"size": 14 if n <= _ROOMY else 11}
    figure.update_xaxes(tickvals=ticks, side="top", tickangle=-60, **names)
    figure.update_yaxes(tickvals=ticks, autorange="reversed", **names)


def head_grid(
    values: NDArray[np.float32], what: str, *, picked: tuple[int, int] | None = None, dark: bool = False
) -> go.Figure:
    """One number per head, layers downwards, heads across; the picked head is framed.

    Args:
        values: (L, H).
        what: the number's name, for the hover.
        picked: (layer, head) on show.
    """
    n_layers, n_heads = values.shape
    figure = go.Figure(
        go.Heatmap(
            z=values,
            zmin=0,
            zmax=max(float(values.max()), 1e-6),
            colorscale=palette.colorscale(palette.stops("attention", dark)),
            xgap=2,
            ygap=2,
            hoverinfo="skip",
            colorbar={"thickness": 8, "outlinewidth": 0, "nticks": 4, "len": 0.9},
        )
    )
    # A heatmap cannot be pressed in Streamlit; points on top of its squares can.
    figure.add_scatter(
        x=[head for _ in range(n_layers) for head in range(n_heads)],
        y=[layer for layer in range(n_layers) for _ in range(n_heads)],
        mode="markers",
        marker={"symbol": "square", "size": 22, "opacity": 0},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        customdata=values.ravel(),
        hovertemplate=f"layer %{{y}}, head %{{x}}<br>{what} %{{customdata:.3f}}<extra></extra>",
    )
    palette.style(figure, dark, height=int(min(28 * n_layers + 48, 460)))
    if picked is not None:
        layer, head = picked
        box = {"x0": head - 0.5, "x1": head + 0.5, "y0": layer - 0.5, "y1": layer + 0.5}
        # Dark inside light, or the other way: seen on the palest square and on the strongest.
        figure.add_shape(type="rect", **box, line={"color": palette.ink(dark), "width": 6})
        figure.add_shape(type="rect", **box, line={"color": palette.ink(not dark), "width": 2})
    figure.update_xaxes(
        title={"text": "head", "standoff": 4},
        tickvals=list(range(n_heads)),
        range=[-0.6, n_heads - 0.4],
        showgrid=False,
    )
    figure.update_yaxes(
        title={"text": "layer", "standoff": 4},
        tickvals=list(range(n_layers)),
        range=[n_layers - 0.4, -0.6],
        showgrid=False,
    )
    return figure


__all__ = ["document", "head_grid", "token_axes", "token_bars"]
