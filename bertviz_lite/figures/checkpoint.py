"""Pictures of a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from bertviz_lite.figures import palette


def parameter_bar(parts: Mapping[str, int], *, dark: bool = False) -> go.Figure:
    """Where the parameters are: one stacked bar, a segment per part.

    Args:
        parts: number of parameters by part, in the order of the network.
    """
    total = sum(parts.values())
    steps = palette.stops("probability", dark)
    shown = {name: n for name, n in parts.items() if n}
    figure = go.Figure()
    for (name, n), step in zip(shown.items(), (5, 3, 7, 4, 2), strict=False):
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


__all__ = ["parameter_bar"]
