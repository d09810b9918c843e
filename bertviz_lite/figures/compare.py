"""Pictures of two models side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from bertviz_lite.figures import palette
from bertviz_lite.figures.attention import token_axes
from bertviz_lite.figures.labels import axis_labels, escaped


def losses(
    pieces: Sequence[str], a: Sequence[float], b: Sequence[float], names: tuple[str, str], *, dark: bool = False
) -> go.Figure:
    """Loss of every token under both models, two bars a token.

    Args:
        pieces, a, b: N each; losses in nats.
        names: of the two models.
    """
    steps = palette.stops("loss", dark)
    figure = go.Figure()
    for values, name, colour in ((a, names[0], steps[3]), (b, names[1], steps[7])):
        figure.add_bar(
            x=list(range(len(pieces))),
            y=list(values),
            name=escaped(name),
            marker={"color": colour},
            customdata=[escaped(piece) for piece in pieces],
            hovertemplate="<b>%{customdata}</b><br>%{y:.2f} nats<extra>" + escaped(name) + "</extra>",
        )
    palette.style(figure, dark, height=260)
    figure.update_layout(barmode="group", bargap=0.25, showlegend=True, legend={"orientation": "h", "y": 1.15})
    figure.update_xaxes(tickvals=list(range(len(pieces))), ticktext=axis_labels(pieces), showgrid=False)
    figure.update_yaxes(title="loss (nats)", nticks=5)
    return figure


def map_difference(difference: NDArray[np.float32], pieces: Sequence[str], *, dark: bool = False) -> go.Figure:
    """Attention of b less attention of a: blue where b looks less, amber where it looks more.

    Args:
        difference: (T, T).
        pieces: T labels.
    """
    most = max(float(np.abs(difference).max(initial=0.0)), 1e-3)  # below this, nothing differs
    figure = go.Figure(
        go.Heatmap(
            z=np.round(difference, 5),
            zmin=-most,
            zmax=most,
            colorscale=palette.colorscale(palette.signed(dark)),
            hovertemplate="<b>%{y}</b> at <b>%{x}</b><br>%{z:+.4f}<extra></extra>",
            colorbar={"thickness": 10, "outlinewidth": 0, "nticks": 5, "len": 0.6},
        )
    )
    palette.style(figure, dark, height=int(min(max(17 * len(pieces) + 90, 320), 560)))
    token_axes(figure, pieces)
    return figure


__all__ = ["losses", "map_difference"]
