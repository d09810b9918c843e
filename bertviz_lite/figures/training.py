"""Pictures of a model while it learns: its loss over time, what it says to probe sentences, the example it has met."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from plotly.subplots import make_subplots

from bertviz_lite.figures import palette
from bertviz_lite.figures.palette import Figure

_ROOM = 0.5  # of what frequency alone costs: so far a small model comes in some minutes
_UNKNOWN_NATS = 8.0  # height of the axis before anything is known
_MINUTES_FROM = 150  # seconds; a longer axis counts minutes

_CSS = """
<style>
.learns { display: grid; gap: 0.3rem 0.5rem; font-size: 0.9rem; line-height: 1.35; overflow-x: auto; }
.learns .text { font-size: 0.95rem; padding-right: 0.5rem; min-width: 9rem; }
.learns .text b { border-bottom: 2px solid currentColor; }
.learns .head { opacity: 0.7; font-size: 0.82rem; }
.learns .said { display: flex; flex-direction: column; gap: 2px; min-width: 5.2rem; }
.learns .said span { display: flex; justify-content: space-between; gap: 0.4rem; border-radius: 0.25rem;
  padding: 0 0.35rem; white-space: nowrap; }
.met { display: flex; flex-wrap: wrap; gap: 0.3rem 0.22rem; font-size: 0.95rem; line-height: 1.3; }
.met span { display: inline-grid; justify-items: center; align-content: start; padding: 0.05rem 0.2rem; }
.met .asked { border: 1.5px solid currentColor; border-radius: 0.35rem; padding: 0.05rem 0.35rem; font-weight: 600; }
.met small { font-weight: 400; opacity: 0.75; font-size: 0.8rem; }
</style>
"""


@dataclass(frozen=True)
class Curve:
    """A run as it is drawn; losses in nats.

    Attributes:
        seconds, loss_nats, lr: N points of the training text.
        held_seconds, held_out_nats: M evaluations on held-out text.
        budget_seconds, peak_lr: how far the axes go.
        uniform_nats, unigram_nats: what guessing costs; None where it is not known.
    """

    seconds: Sequence[float]
    loss_nats: Sequence[float]
    lr: Sequence[float]
    held_seconds: Sequence[float]
    held_out_nats: Sequence[float]
    budget_seconds: float
    peak_lr: float
    uniform_nats: float | None = None
    unigram_nats: float | None = None


@dataclass(frozen=True)
class Asked:
    """One masked place of a probe sentence, and the answers to it.

    Attributes:
        before, after: the sentence around the place.
        said: by moment, the likeliest pieces with their probabilities, best first.
    """

    before: str
    after: str
    said: Sequence[Sequence[tuple[str, float]]]


def curve(drawn: Curve, *, dark: bool = False) -> Figure:
    """Loss over time, the held-out loss and the price of guessing with it; below, the learning rate."""
    steps = palette.stops("loss", dark)
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.78, 0.22], vertical_spacing=0.06)
    per, unit = (60, "min") if drawn.budget_seconds > _MINUTES_FROM else (1, "s")

    def line(
        seconds: Sequence[float], values: Sequence[float], name: str, hover: str, row: int, *, colour: str, mode: str
    ) -> None:
        figure.add_scatter(
            x=[s / per for s in seconds], y=list(values), name=name, mode=mode, row=row, col=1,
            line={"color": colour, "width": 2}, marker={"color": colour, "size": 6}, showlegend=row == 1,
            hovertemplate=f"%{{y:{hover}}} after %{{x:.3g}} {unit}<extra>{name}</extra>",
        )  # fmt: skip

    line(drawn.seconds, drawn.loss_nats, "training text", ".2f", 1, colour=steps[4], mode="lines")
    line(drawn.held_seconds, drawn.held_out_nats, "held-out text", ".2f", 1, colour=steps[7], mode="lines+markers")
    line(drawn.seconds, drawn.lr, "learning rate", ".2e", 2, colour=palette.ink(dark), mode="lines")
    guesses = [(drawn.uniform_nats, "blind guess"), (drawn.unigram_nats, "frequency")]
    for nats, name in guesses:
        if nats is not None:
            figure.add_hline(
                y=nats, row=1, col=1, line={"color": palette.ink(dark), "width": 1, "dash": "dot"},
                annotation={"text": f"{name} {nats:.2f}", "font": {"size": 13}}, annotation_position="top right",
            )  # fmt: skip
    palette.style(figure, dark, height=330)
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.12, "x": 0})
    figure.update_yaxes(title="loss (nats)", range=_range(drawn), nticks=6, row=1, col=1)
    figure.update_yaxes(title="rate", range=[0, 1.15 * drawn.peak_lr], nticks=3, exponentformat="e", row=2, col=1)
    figure.update_xaxes(range=[0, drawn.budget_seconds / per], showgrid=False)
    figure.update_xaxes(title=f"time ({unit})", row=2, col=1)
    return figure


def _range(drawn: Curve) -> list[float]:
    """Around what is drawn, not from zero: the gain is what counts. A loss that is no number has no place.

    A run from scratch gets room below from the start, so that the axis stands still while the curve falls.
    """
    guesses = [nats for nats in (drawn.uniform_nats, drawn.unigram_nats) if nats is not None]
    room = [_ROOM * drawn.unigram_nats] if drawn.unigram_nats is not None else []
    found = [nats for nats in (*drawn.loss_nats, *drawn.held_out_nats, *guesses, *room) if math.isfinite(nats)]
    if not found:
        return [0.0, _UNKNOWN_NATS]
    margin = max(0.12 * (max(found) - min(found)), 0.1)
    return [min(found) - margin, max(found) + margin]


def answers(moments: Sequence[str], asked: Sequence[Asked], *, n_columns: int = 0, dark: bool = False) -> str:
    """HTML of what a model said at several moments: a row a masked place, a column a moment, blue by probability.

    Args:
        moments: names of the columns.
        asked: every one with an answer for each moment.
        n_columns: room for so many moments from the first on, so that none moves when another comes.
    """
    free = max(n_columns - len(moments), 0)
    cells = [
        '<span class="head"></span>',
        *(f'<span class="head">{escape(name)}</span>' for name in [*moments, *[""] * free]),
    ]
    for place in asked:
        cells.append(f'<span class="text">{escape(place.before)}<b>[MASK]</b>{escape(place.after)}</span>')
        cells += [f'<div class="said">{"".join(_said(*answer, dark) for answer in said)}</div>' for said in place.said]
        cells += ["<span></span>"] * free
    columns = f"grid-template-columns: minmax(9rem, 2.2fr) repeat({len(moments) + free}, minmax(5.2rem, 1fr))"
    return f'{_CSS}<div class="learns" style="{columns}">{"".join(cells)}</div>'


def _said(piece: str, prob: float, dark: bool) -> str:
    background = palette.colour("probability", prob, dark)
    style = f"background: {background}; color: {palette.text_on(background)}"
    return f'<span style="{style}"><span>{escape(piece)}</span><span>{prob:.2f}</span></span>'


def example(pieces: Sequence[str], input_pieces: Sequence[str], kinds: Sequence[str], *, asked_of: str) -> str:
    """HTML of a training example: what the model reads; below what it is asked for, what stood there.

    Args:
        pieces, input_pieces, kinds: N each, as in `training.Progress.example`.
        asked_of: the kind of a token that is not asked for.
    """
    shown = [
        f'<span title="not asked for">{escape(read)}</span>'
        if kind == asked_of
        else f'<span class="asked" title="{escape(kind)}">{escape(read)}<small>{escape(stood)}</small></span>'
        for stood, read, kind in zip(pieces, input_pieces, kinds, strict=True)
    ]
    return f'{_CSS}<div class="met">{"".join(shown)}</div>'


__all__ = ["Asked", "Curve", "answers", "curve", "example"]
