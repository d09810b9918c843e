"""Pictures of a model while it learns: its loss as it fell, and strips with one column a moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from bertviz_lite.figures import palette
from bertviz_lite.figures.attention import token_axes
from bertviz_lite.figures.labels import axis_labels, escaped

Floats = NDArray[np.floating]

_FIRST = 10_000  # tokens; below it the axis is nearly even, above it each factor of ten is equally wide
_ROW_PX, _AXIS_PX = 27, 44


@dataclass(frozen=True)
class Strip:
    """R rows of one cell a moment.

    Attributes:
        rows: R names, from the top.
        values: (R, M).
        texts, hovers: (R, M) what stands in a cell, and what hovering it tells; a line break parts lines.
        span: the values that get the palest and the strongest colour.
        firsts: (M,) the row whose text is bold; none where empty.
    """

    rows: Sequence[str]
    values: Floats
    texts: Sequence[Sequence[str]]
    hovers: Sequence[Sequence[str]]
    scale: palette.Scale
    span: tuple[float, float]
    firsts: Sequence[int] = ()

    @property
    def strengths(self) -> Floats:
        """(R, M) of the colours, 0 to 1."""
        low, high = self.span
        strengths: Floats = np.clip((self.values - low) / max(high - low, 1e-9), 0, 1)
        return strengths

    @property
    def shown_texts(self) -> list[list[str]]:
        """(R, M) as Plotly shows them."""
        firsts = self.firsts or [-1] * self.values.shape[1]
        return [
            [
                f"<b>{escaped(text)}</b>" if first == i else escaped(text)
                for text, first in zip(row, firsts, strict=True)
            ]
            for i, row in enumerate(self.texts)
        ]


def place(tokens: float) -> float:
    """Where an amount of text lies on the axis of the loss curve; 0 lies at 0."""
    return float(np.log10(1 + tokens / _FIRST))


def curve(
    trained: tuple[Floats, Floats],
    held_out: tuple[Floats, Floats],
    moments: Mapping[str, tuple[float, float]],
    marked: str,
    levels: Mapping[str, float],
    *,
    dark: bool = False,
) -> go.Figure:
    """Training loss thin, held-out loss strong, with what counting alone reaches as lines across.

    Args:
        trained, held_out: tokens read and loss in nats, (N,) each.
        moments: tokens and held-out loss of the moments that were saved, by name; to be pressed.
        marked: the moment on show.
        levels: losses in nats, by what stands on the line.
    """
    steps = palette.stops("loss", dark)
    strong, thin = {"color": steps[6], "width": 2.5}, {"color": steps[3], "width": 1}
    figure = go.Figure(
        [
            _line(trained, thin),
            _line(held_out, strong),
            go.Scatter(
                x=[place(tokens) for tokens, _ in moments.values()],
                y=[loss for _, loss in moments.values()],
                mode="markers",
                marker={
                    "size": [15 if name == marked else 8 for name in moments],
                    "color": [palette.ink(dark) if name == marked else steps[6] for name in moments],
                    "line": {"color": palette.page(dark), "width": 2},
                },
                selected={"marker": {"opacity": 1}},
                unselected={"marker": {"opacity": 1}},
                customdata=list(moments),
                hovertemplate="after %{customdata} tokens: %{y:.2f} nats<extra></extra>",
            ),
        ]
    )
    palette.style(figure, dark, height=360)
    tokens, _ = moments[marked]
    figure.add_vline(x=place(tokens), line={"color": palette.ink(dark), "width": 1, "dash": "dot"}, layer="below")
    last = max(map(place, (tokens for tokens, _ in moments.values())))
    ends = [loss for _, loss in (*moments.values(),)][:: max(len(moments) - 1, 1)]
    for text, loss in levels.items():
        figure.add_hline(y=loss, line={"color": palette.ink(dark), "width": 1, "dash": "dash"}, opacity=0.5)
        on_right = abs(loss - ends[-1]) > abs(loss - ends[0])  # where the curve leaves room
        figure.add_annotation(
            x=last * 0.97 if on_right else 0, y=loss, text=f"{escaped(text)} {loss:.2f}", showarrow=False,
            xanchor="right" if on_right else "left", yanchor="bottom", font={"size": 12},
        )  # fmt: skip
    decades = [0, *(10**power for power in range(4, 10) if place(10**power) <= last * 1.02)]
    names = ["0", "10 k", "100 k", "1 M", "10 M", "100 M", "1 G"]
    figure.update_xaxes(
        title="tokens read", tickvals=[place(n) for n in decades], ticktext=names, range=[-0.08, last * 1.04]
    )
    figure.update_yaxes(title="loss (nats)", nticks=6)
    return figure


def strip(cells: Strip, moments: Sequence[str], marked: int, *, dark: bool = False) -> go.Figure:
    """One column a moment, one row a word, a token or a kind; the moment on show is framed.

    Args:
        moments: M names.
        marked: the column on show.
    """
    n_rows, n = cells.values.shape
    figure = go.Figure(
        go.Heatmap(
            z=cells.strengths,
            zmin=0,
            zmax=1,
            colorscale=palette.colorscale(palette.stops(cells.scale, dark)),
            showscale=False,
            xgap=2,
            ygap=2,
            customdata=[[escaped(text).replace("\n", "<br>") for text in row] for row in cells.hovers],
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
    figure.add_scatter(
        x=list(range(n)) * n_rows,
        y=[row for row in range(n_rows) for _ in range(n)],
        mode="text",
        text=[text for row in cells.shown_texts for text in row],
        textfont={
            "size": 12,
            "color": [palette.text_on(palette.colour(cells.scale, t, dark)) for t in cells.strengths.ravel().tolist()],
        },
        hoverinfo="skip",
    )
    palette.style(figure, dark, height=_ROW_PX * n_rows + _AXIS_PX)
    box = {"x0": marked - 0.5, "x1": marked + 0.5, "y0": -0.5, "y1": n_rows - 0.5}
    figure.add_shape(type="rect", **box, line={"color": palette.ink(dark), "width": 2})
    figure.update_xaxes(
        tickvals=list(range(n)), ticktext=list(moments), side="bottom", showgrid=False, tickfont_size=12,
        range=[-0.52, n - 0.48],
    )  # fmt: skip
    figure.update_yaxes(
        tickvals=list(range(n_rows)), ticktext=axis_labels(cells.rows), range=[n_rows - 0.48, -0.52], showgrid=False
    )
    return figure


def head_map(weights: NDArray[np.float32], pieces: Sequence[str], *, dark: bool = False) -> go.Figure:
    """One head's map: rows are the tokens that look, columns those looked at.

    Args:
        weights: (T, T) probabilities, queries by keys; 1 has the strongest colour, so that moments compare.
        pieces: T labels.
    """
    figure = go.Figure(
        go.Heatmap(
            z=weights,
            zmin=0,
            zmax=1,
            colorscale=palette.colorscale(palette.stops("attention", dark)),
            hovertemplate="<b>%{y}</b> looks at <b>%{x}</b><br>attention %{z:.4f}<extra></extra>",
            xgap=1,
            ygap=1,
            colorbar={"thickness": 10, "outlinewidth": 0, "nticks": 5, "len": 0.6},
        )
    )
    palette.style(figure, dark, height=360)
    token_axes(figure, pieces)
    return figure


def _line(points: tuple[Floats, Floats], line: Mapping[str, object]) -> go.Scatter:
    """Silent, or its points would be pressed in place of the moments that lie on it."""
    tokens, losses = points
    return go.Scatter(
        x=[place(n) for n in tokens.tolist()], y=losses.tolist(), mode="lines", line=line, hoverinfo="skip"
    )


__all__ = ["Strip", "curve", "head_map", "place", "strip"]
