"""Pictures of a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from bertviz_lite.figures import palette

_MOST_NUMBERS = 12  # more columns than this have no room for a number in each square


def parameter_bar(parts: Mapping[str, int], *, dark: bool = False) -> go.Figure:
    """Where the parameters are: one stacked bar, a segment per part.

    Args:
        parts: number of parameters by part, in the order of the network.
    """
    total = sum(parts.values())
    steps = palette.stops("probability", dark)
    shown = {name: n for name, n in parts.items() if n}
    figure = go.Figure()
    for (name, n), step in zip(shown.items(), cycle((5, 3, 7, 4, 2)), strict=False):
        wide = n / total > 0.12
        figure.add_bar(
            x=[n],
            y=[""],
            orientation="h",
            name=name,
            marker={"color": steps[step], "line": {"width": 0}},
            text=f"{name}<br>{n / total:.1%}" if wide else "",
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": palette.text_on(steps[step])},
            hovertemplate=f"{name}<br>{n:,} parameters, {n / total:.1%}<extra></extra>",
        )
    palette.style(figure, dark, height=84)
    figure.update_layout(barmode="stack", bargap=0)
    figure.update_xaxes(visible=False, range=[0, total])
    figure.update_yaxes(visible=False)
    return figure


def value_histogram(counts: NDArray[np.int64], edges: NDArray[np.float64], *, dark: bool = False) -> go.Figure:
    """How the values of a tensor are spread.

    Args:
        counts: (n,).
        edges: (n + 1,).
    """
    figure = go.Figure(
        go.Bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=counts,
            width=np.diff(edges),
            marker={"color": palette.stops("probability", dark)[4], "line": {"width": 0}},
            hovertemplate="%{y:,} values near %{x:.4g}<extra></extra>",
        )
    )
    palette.style(figure, dark, height=260)
    figure.update_xaxes(title="value", showgrid=False)
    figure.update_yaxes(title="how many", nticks=5)
    figure.update_layout(bargap=0)
    return figure


def by_layer(values: Mapping[str, Sequence[float]], what: str, *, dark: bool = False) -> go.Figure:
    """One number per weight and layer: a row per weight, a column per layer.

    Args:
        values: L numbers by the name of the weight.
        what: the number's name, for the hover.
    """
    rows = list(values)
    numbers = np.array([list(values[name]) for name in rows], dtype=np.float64)
    figure = go.Figure(
        go.Heatmap(
            z=numbers,
            zmin=0,
            zmax=max(float(np.nanmax(numbers, initial=0.0)), 1e-9),
            colorscale=palette.colorscale(palette.stops("probability", dark)),
            text=[[f"{value:#.3g}".rstrip(".") for value in row] for row in numbers],
            texttemplate="%{text}" if numbers.shape[1] <= _MOST_NUMBERS else None,
            xgap=2,
            ygap=2,
            showscale=False,
            hovertemplate=f"%{{customdata}}, layer %{{x}}<br>{what} %{{z:.4g}}<extra></extra>",
            customdata=[[name] * numbers.shape[1] for name in rows],
        )
    )
    palette.style(figure, dark, height=30 * len(rows) + 60)
    figure.update_xaxes(title="layer", tickvals=list(range(numbers.shape[1])), showgrid=False)
    figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=rows, autorange="reversed", showgrid=False)
    return figure


__all__ = ["by_layer", "parameter_bar", "value_histogram"]
