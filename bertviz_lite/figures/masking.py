"""Pictures of how a masked language model is trained: one example token by token, and many draws counted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import plotly.graph_objects as go

from bertviz_lite.figures import palette

_MARKS_PX = 150  # all marks together, so that neighbours do not touch
_MOST_TICKS = 10

_CSS = """
<style>
.drawn { display: flex; flex-wrap: wrap; gap: 0.45rem 0.3rem; font-size: 0.95rem; line-height: 1.3; }
.drawn > div { display: grid; justify-items: center; align-content: start; padding: 0.25rem 0.45rem;
  border: 1px solid rgba(128, 128, 128, 0.28); border-radius: 0.45rem; min-width: 2.6rem; }
.drawn > .names { border-color: transparent; justify-items: end; opacity: 0.75; font-size: 0.85rem; }
.drawn > .names .read { font-size: 0.85rem; line-height: 1.72; }
.drawn .read { font-size: 1.12rem; }
.drawn .quiet { opacity: 0.6; font-size: 0.85rem; }
.drawn .asked { border: 1.5px solid currentColor; }
.drawn .asked .read { font-weight: 600; }
.drawn .prob { border-radius: 0.3rem; padding: 0 0.35rem; font-size: 0.9rem; }
@media (max-width: 640px) { .drawn > .names { display: none; } }
</style>
"""


@dataclass(frozen=True)
class Drawn:
    """One token of a training example as it is drawn.

    Attributes:
        typed, read: its spelling in the sentence, and what the model reads there.
        label: the right id, or -100.
        kind: what became of it; empty where it is not asked for.
        prob: what the model gave the right token; None where it is not asked for.
        strength: of the colour of its loss, 0 to 1.
        tip: what hovering tells.
    """

    typed: str
    read: str
    label: int
    kind: str = ""
    prob: float | None = None
    strength: float = 0.0
    tip: str = ""


def cards(tokens: Sequence[Drawn], dark: bool = False) -> str:
    """HTML of a training example: a card a token, with its text, what the model reads, its label and probability."""
    names = '<div class="names"><span>text</span><span class="read">the model reads</span><span>label</span></div>'
    return f'{_CSS}<div class="drawn">{names}{"".join(_card(token, dark) for token in tokens)}</div>'


def _card(token: Drawn, dark: bool) -> str:
    lines = [
        f'<span class="quiet">{escape(token.typed)}</span>',
        f'<span class="read">{escape(token.read)}</span>',
        f'<span class="quiet">{str(token.label).replace("-", "−")}</span>',
    ]
    if token.prob is not None:
        background = palette.colour("loss", token.strength, dark)
        style = f"background: {background}; color: {palette.text_on(background)}"
        lines.append(f'<span class="quiet">{escape(token.kind)}</span>')
        lines.append(f'<span class="prob" style="{style}">p = {token.prob:.3g}</span>')
    asked = ' class="asked"' if token.prob is not None else ""
    return f'<div{asked} title="{escape(token.tip)}">{"".join(lines)}</div>'


def beside_expected(
    values: Sequence[str], observed: Sequence[float], expected: Sequence[float], *, what: str, dark: bool = False
) -> go.Figure:
    """Shares that were drawn as bars, and the expected ones as marks across them.

    Args:
        values: N names, from left to right.
        observed, expected: N shares, 0 to 1.
        what: title of the axis below.
    """
    steps = palette.stops("probability", dark)
    columns = list(range(len(values)))
    hover = "%{customdata}<br>%{y:.1%}"
    figure = go.Figure(
        [
            go.Bar(x=columns, y=list(observed), customdata=list(values), marker={"color": steps[4]},
                   hovertemplate=hover + " of the draws<extra></extra>"),
            go.Scatter(x=columns, y=list(expected), customdata=list(values), mode="markers",
                       marker={"symbol": "line-ew", "size": min(26, _MARKS_PX // len(values)),
                               "line": {"width": 3, "color": palette.ink(dark)}},
                       hovertemplate=hover + " expected<extra></extra>"),
        ]
    )  # fmt: skip
    palette.style(figure, dark, height=240)
    named = columns[:: 1 + (len(columns) - 1) // _MOST_TICKS]
    figure.update_xaxes(
        tickvals=named,
        ticktext=[values[i] for i in named],
        tickangle=0,
        title=what,
        showgrid=False,
        range=[min(-0.6, len(values) / 2 - 2), max(len(values) - 0.4, len(values) / 2 + 1)],  # one bar does not fill it
    )
    figure.update_yaxes(tickformat=".0%", rangemode="tozero", nticks=5)
    figure.update_layout(bargap=0.25)
    return figure


def by_kind(kinds: Sequence[str], losses: Sequence[float], counts: Sequence[int], dark: bool = False) -> go.Figure:
    """Mean loss in nats of each kind of token, NaN left out; the number of tokens stands on the bar."""
    columns = list(range(len(kinds)))
    shown = [0.0 if math.isnan(loss) else loss for loss in losses]
    most = max([*shown, 4.0])
    figure = go.Figure(
        go.Bar(
            x=columns,
            y=shown,
            marker={
                "color": [palette.colour("loss", loss / most, dark) for loss in shown],
                "line": {"color": palette.stops("loss", dark)[3], "width": 1},
            },
            text=[f"{loss:.2f}" if n else "none drawn" for loss, n in zip(shown, counts, strict=True)],
            textposition="outside",
            cliponaxis=False,
            customdata=list(counts),
            hovertemplate="%{y:.3f} nats, mean of %{customdata} tokens<extra></extra>",
        )
    )
    palette.style(figure, dark, height=240)
    figure.update_xaxes(tickvals=columns, ticktext=list(kinds), showgrid=False)
    figure.update_yaxes(title="loss (nats)", rangemode="tozero", nticks=5, range=[0, max([*shown, 1.0]) * 1.15])
    figure.update_layout(bargap=0.3)
    return figure


__all__ = ["Drawn", "beside_expected", "by_kind", "cards"]
