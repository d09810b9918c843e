"""Pictures of what every token costs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from bertviz_lite.figures import palette
from bertviz_lite.figures.labels import axis_labels, escaped

_MOST_LABELS = 40  # of a longer text every so many tokens is named; hovering names the others
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
    figure.update_layout(bargap=0.18)
    return figure


def top(losses: Sequence[float]) -> float:
    """The loss that gets the strongest colour: the sentence's largest, but never below a fair guess's."""
    finite = [loss for loss in losses if math.isfinite(loss)]
    return max([*finite, 4.0])


__all__ = ["bars", "top"]
