"""Pictures of predictions at a mask."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from bertviz_lite.figures import palette
from bertviz_lite.figures.labels import escaped

_ROW_PX = 28


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


def _digits(prob: float) -> str:
    return f"{prob:.3f}" if prob >= 0.001 else f"{prob:.1e}"


__all__ = ["bars"]
