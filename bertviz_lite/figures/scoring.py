"""Pictures of what every token costs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bertviz_lite.figures import palette
from bertviz_lite.figures.labels import axis_labels, escaped

_MOST_LABELS = 40  # of a longer text every so many tokens is named; hovering names the others
_FULL = 5  # bars that fill the width
_UPRIGHT = 16  # more labels than this lean, so that they do not overlap


def bars(
    pieces: Sequence[str], losses: Sequence[float], hovers: Sequence[str], *, unit: str, most: float, dark: bool = False
) -> go.Figure:
    """One upright bar per token in reading order, coloured by its loss, with the mean as a line.

    Args:
        pieces, losses, hovers: N each; losses in `unit`; hovers stand below the piece.
        most: the loss, in `unit`, that gets the strongest colour; see `top`.
    """
    columns = list(range(len(pieces)))
    figure = go.Figure(
        go.Bar(
            x=columns,
            y=list(losses),
            marker={
                "color": [palette.colour("loss", loss / most, dark) for loss in losses],
                "line": {"color": palette.stops("loss", dark)[3], "width": 1},
            },
            customdata=[
                (escaped(p), "<br>".join(map(escaped, h.split("; ")))) for p, h in zip(pieces, hovers, strict=True)
            ],
            hovertemplate="<b>%{customdata[0]}</b><br>%{customdata[1]}<extra></extra>",
        )
    )
    palette.style(figure, dark, height=300)
    mean = sum(losses) / len(losses)
    figure.add_hline(
        y=mean,
        line={"color": palette.ink(dark), "width": 1, "dash": "dot"},
        annotation={"text": f"mean {mean:.2f}", "font": {"size": 13}, "bgcolor": palette.page(dark)},
        annotation_position="top right",
    )
    at = columns[:: 1 + (len(columns) - 1) // _MOST_LABELS]
    labels = axis_labels([pieces[i] for i in at])
    figure.update_xaxes(tickvals=at, ticktext=labels, showgrid=False, tickangle=-45 if len(labels) > _UPRIGHT else 0)
    figure.update_yaxes(title=f"loss ({unit})", rangemode="tozero", nticks=5)
    figure.update_layout(bargap=1 - 0.82 * min(len(pieces) / _FULL, 1))  # few bars stay slim
    return figure


def differences(
    labels: Sequence[str], values: Sequence[float], hovers: Sequence[str], *, unit: str, dark: bool = False
) -> go.Figure:
    """One bar per place of two sentences: amber above 0, blue below it.

    Args:
        labels, values, hovers: N each; values in `unit`; hovers stand below the label.
    """
    columns = list(range(len(labels)))
    steps = palette.signed(dark)
    figure = go.Figure(
        go.Bar(
            x=columns,
            y=list(values),
            marker={"color": [steps[-2] if value > 0 else steps[1] for value in values]},
            customdata=[
                (escaped(label), "<br>".join(map(escaped, h.split("; "))))
                for label, h in zip(labels, hovers, strict=True)
            ],
            hovertemplate=f"<b>%{{customdata[0]}}</b><br>%{{y:.2f}} {unit}<br>%{{customdata[1]}}<extra></extra>",
        )
    )
    palette.style(figure, dark, height=260)
    figure.add_hline(y=0, line={"color": palette.ink(dark), "width": 1})
    at = columns[:: 1 + (len(columns) - 1) // _MOST_LABELS]
    names = axis_labels([labels[i] for i in at])
    figure.update_xaxes(tickvals=at, ticktext=names, showgrid=False, tickangle=-45 if len(names) > _UPRIGHT else 0)
    figure.update_yaxes(title=f"difference ({unit})", nticks=5)
    figure.update_layout(bargap=0.3)
    return figure


def histogram(means: Sequence[float], *, unit: str, most: float, dark: bool = False) -> go.Figure:
    """How many lines have which mean loss, each bar in the colour of its loss.

    Args:
        means: N mean losses, in `unit`.
        most: the loss, in `unit`, that gets the strongest colour.
    """
    counts, edges = np.histogram(means, bins=min(40, max(12, 2 * math.isqrt(len(means)))))
    middles = (edges[:-1] + edges[1:]) / 2
    figure = go.Figure(
        go.Bar(
            x=middles.tolist(),
            y=counts.tolist(),
            width=(edges[1] - edges[0]).item(),
            marker={
                "color": [palette.colour("loss", middle / most, dark) for middle in middles.tolist()],
                "line": {"color": palette.stops("loss", dark)[3], "width": 1},
            },
            customdata=list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)),
            hovertemplate=f"%{{y}} lines<br>%{{customdata[0]:.2f}} to %{{customdata[1]:.2f}} {unit}<extra></extra>",
        )
    )
    palette.style(figure, dark, height=220)
    figure.update_xaxes(title=f"mean loss of a line ({unit} a token)", showgrid=False)
    figure.update_yaxes(title="lines", rangemode="tozero", nticks=5)
    figure.update_layout(bargap=0)
    return figure


def top(losses: Sequence[float]) -> float:
    """The loss that gets the strongest colour: the sentence's largest, but never below a fair guess's."""
    finite = [loss for loss in losses if math.isfinite(loss)]
    return max([*finite, 4.0])


__all__ = ["bars", "differences", "histogram", "top"]
