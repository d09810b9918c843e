"""Pictures of two texts side by side at one place: the same words in both, and the words that differ most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from bertviz_lite.figures import palette
from bertviz_lite.figures.labels import axis_labels, escaped

_ROW_PX = 22
_LEAST_FULL = 1.0  # the strongest colour is the largest log-odds ratio's, but never below this one's


def scatter(
    pieces: Sequence[str],
    log_probs: NDArray[np.float32],
    ratios: NDArray[np.float32],
    named: Sequence[int],
    *,
    dark: bool = False,
) -> go.Figure:
    """Every word at its log-probability in both texts; below the diagonal the first text makes it likelier.

    Args:
        pieces: N words.
        log_probs: (2, N) in nats.
        ratios: (N,) log-odds ratios, which colour the points.
        named: which of the N carry their name, the most important first; those that would lie on others go without.
    """
    figure = go.Figure()
    bounds = _bounds(log_probs)
    figure.add_scatter(
        x=bounds, y=bounds, mode="lines", line={"color": palette.ink(dark), "width": 1, "dash": "dot"}, hoverinfo="skip"
    )
    names = _apart(log_probs, named, bounds[1] - bounds[0])
    figure.add_scatter(
        x=log_probs[0],
        y=log_probs[1],
        mode="markers+text",
        marker={"size": 9, "color": _colours(ratios, dark), "line": {"color": palette.ink(dark), "width": 0.6}},
        text=[escaped(piece) if i in names else "" for i, piece in enumerate(pieces)],
        textposition=["middle right" if ratio > 0 else "middle left" for ratio in ratios],
        customdata=[(escaped(p), f"{a:.3g}", f"{b:.3g}") for p, a, b in zip(pieces, *np.exp(log_probs), strict=True)],
        hovertemplate=(
            "<b>%{customdata[0]}</b><br>probability %{customdata[1]} in A, %{customdata[2]} in B<extra></extra>"
        ),
    )
    palette.style(figure, dark, height=390)
    figure.update_xaxes(title="ln p in A", range=bounds, nticks=6)
    figure.update_yaxes(title="ln p in B", range=bounds, nticks=6)
    return figure


def differences(pieces: Sequence[str], ratios: Sequence[float], *, dark: bool = False) -> go.Figure:
    """The log-odds ratio of each word, the first on top: to the right the first text makes it likelier.

    Args:
        pieces, ratios: N each.
    """
    rows = list(range(len(pieces)))
    figure = go.Figure(
        go.Bar(
            x=list(ratios),
            y=rows,
            orientation="h",
            marker={"color": _colours(np.array(ratios), dark), "line": {"color": palette.ink(dark), "width": 0.6}},
            text=[f"{round(ratio, 2) + 0.0:+.2f}".replace("-", "−") for ratio in ratios],
            textposition="outside",
            cliponaxis=False,
            customdata=[escaped(piece) for piece in pieces],
            hovertemplate="<b>%{customdata}</b><br>log-odds ratio %{x:+.3f}<extra></extra>",
        )
    )
    palette.style(figure, dark, height=_ROW_PX * max(len(rows), 3) + 16)
    most = max([*map(abs, ratios), 0.1]) * 1.4
    figure.update_xaxes(visible=False, range=[-most, most])
    figure.update_yaxes(
        tickvals=rows, ticktext=axis_labels(pieces), range=[max(len(rows), 3) - 0.4, -0.6], showgrid=False
    )
    figure.add_vline(x=0, line={"color": palette.ink(dark), "width": 1})
    figure.update_layout(bargap=0.25)
    return figure


def _bounds(log_probs: NDArray[np.float32]) -> list[float]:
    finite = log_probs[np.isfinite(log_probs)]
    if not finite.size:
        return [-1.0, 0.0]
    low, high = float(finite.min()), float(finite.max())
    margin = 0.09 * (high - low) + 0.1
    return [low - margin, high + margin]


def _apart(log_probs: NDArray[np.float32], named: Sequence[int], span: float) -> set[int]:
    """Those of the named points that are far enough from each other for a name."""
    kept: list[int] = []
    for i in named:
        x, y = log_probs[:, i]
        if all(abs(x - log_probs[0, j]) > 0.15 * span or abs(y - log_probs[1, j]) > 0.04 * span for j in kept):
            kept.append(i)
    return set(kept)


def _colours(ratios: NDArray[np.float32], dark: bool) -> list[str]:
    """Amber where the first text has more, blue where the second has; the page's grey where they agree."""
    steps = palette.signed(dark)
    full = max(float(np.abs(ratios).max(initial=0.0)), _LEAST_FULL)
    places = ratios / full * (len(steps) // 2) + len(steps) // 2
    return [steps[round(float(place))] for place in places]


__all__ = ["differences", "scatter"]
