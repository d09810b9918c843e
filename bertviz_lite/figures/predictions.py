"""Pictures of predictions at a mask."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from bertviz_lite.figures import palette
from bertviz_lite.figures.labels import axis_labels, escaped

_ROW_PX = 28
_LETTER = 0.014  # of the picture's width, roughly: a name that is wider than its bar is left to hovering


def bars(
    pieces: Sequence[str],
    probs: Sequence[float],
    *,
    what: str = "probability",
    original: str | None = None,
    dark: bool = False,
) -> go.Figure:
    """Horizontal bars, the likeliest piece on top; the original word's bar is darker, its label bold.

    Args:
        pieces, probs: k each, best first; probabilities in [0, 1].
        what: the number's name, for the hover.
        original: what stood there before it was masked, where there was something.
    """
    rows = list(range(len(pieces)))
    marked = [piece == original for piece in pieces]
    steps = palette.stops("probability", dark)
    figure = go.Figure(
        go.Bar(
            x=list(probs),
            y=rows,
            orientation="h",
            marker={"color": [steps[-1] if m else steps[4] for m in marked]},
            text=[_digits(p) for p in probs],
            textposition="outside",
            cliponaxis=False,
            customdata=[escaped(piece) for piece in pieces],
            hovertemplate=f"%{{customdata}}<br>{what} %{{x:.4f}}<extra></extra>",
        )
    )
    palette.style(figure, dark, height=_ROW_PX * max(len(rows), 3) + 16)
    labels = [f"<b>{escaped(p)}</b>" if m else escaped(p) for p, m in zip(pieces, marked, strict=True)]
    figure.update_xaxes(visible=False, range=[0, max([*probs, 1e-6]) * 1.18])
    figure.update_yaxes(tickvals=rows, ticktext=labels, range=[max(len(rows), 3) - 0.4, -0.6], showgrid=False)
    figure.update_layout(bargap=0.25)
    return figure


def costs(
    words: Sequence[str],
    pieces: Sequence[Sequence[str]],
    losses: Sequence[Sequence[float]],
    *,
    dark: bool = False,
) -> go.Figure:
    """What each word costs, piece by piece: one bar a word, the first word on top; the shorter, the likelier.

    Args:
        words: N labels.
        pieces, losses: N sequences of a word's pieces and of -ln p of each, in nats.
    """
    figure = go.Figure()
    steps = palette.stops("loss", dark)
    totals = [sum(own) for own in losses]
    longest = max([*totals, 1e-6])
    for place in range(max(map(len, pieces), default=0)):
        rows = [row for row, own in enumerate(pieces) if place < len(own)]
        named = [escaped(pieces[row][place]) for row in rows]
        colour = steps[(2, 4, 3)[place % 3]]  # neighbours differ; the scale's strength means nothing here
        figure.add_bar(
            x=[losses[row][place] for row in rows],
            y=rows,
            orientation="h",
            marker={"color": colour, "line": {"color": palette.page(dark), "width": 1}},
            text=[
                name if len(pieces[row]) > 1 and losses[row][place] / longest > _LETTER * (len(name) + 1) else ""
                for row, name in zip(rows, named, strict=True)
            ],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            constraintext="none",
            textfont={"color": palette.text_on(colour), "size": 13},
            customdata=named,
            hovertemplate="<b>%{customdata}</b><br>%{x:.2f} nats<extra></extra>",
        )
    palette.style(figure, dark, height=_ROW_PX * max(len(words), 3) + 56)
    for row, total in enumerate(totals):
        figure.add_annotation(x=total, y=row, text=f"{total:.2f}", showarrow=False, xanchor="left", xshift=4)
    figure.update_xaxes(title="cost (nats)", range=[0, longest * 1.12], showgrid=False, nticks=6)
    labels = axis_labels(words)
    figure.update_yaxes(
        tickvals=list(range(len(words))), ticktext=labels, range=[max(len(words), 3) - 0.4, -0.6], showgrid=False
    )
    figure.update_layout(barmode="stack", bargap=0.25)
    return figure


def _digits(prob: float) -> str:
    return f"{prob:.3f}" if prob >= 0.001 else f"{prob:.1e}"


__all__ = ["bars", "costs"]
