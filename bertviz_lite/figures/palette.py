"""Three scales with a fixed meaning: probability is blue, loss amber to red, attention violet; grey is "not asked".

A fourth, for values with a sign (activations, weights), goes from blue (below zero) through the page's grey to amber.

Steps are even in OKLab lightness, so that a step looks the same anywhere on a scale, in light and in dark.
"""

from __future__ import annotations

import math
from typing import Literal

from plotly.graph_objects import Figure

Scale = Literal["probability", "loss", "attention"]

# From OKLCH: lightness 0.975 to 0.45 on light pages, 0.27 to 0.86 on dark ones, hue and chroma by scale.
_LIGHT: dict[Scale, list[str]] = {
    "probability": ["#f2f8fc", "#cce5f9", "#abd1f2", "#8dbce9", "#71a7e0", "#5891d5", "#407bca", "#2b64be", "#194cb1"],
    "loss": ["#f9f7f1", "#efdfc2", "#e7c69b", "#dfac77", "#d69057", "#cd743a", "#c25620", "#b5340a", "#a10a0d"],
    "attention": ["#f7f6fb", "#e5dbfa", "#d1c3f3", "#beaaea", "#aa93e0", "#977bd5", "#8464c9", "#724bbd", "#6130b1"],
}
_DARK: dict[Scale, list[str]] = {
    "probability": ["#23272a", "#273b4c", "#2e506c", "#39648d", "#4679af", "#558ed2", "#67a4f6", "#90bbfe", "#b9d2ff"],
    "loss": ["#282622", "#44371e", "#62461e", "#835520", "#a66428", "#ca7137", "#ef7f4d", "#fd9c82", "#febfb6"],
    "attention": ["#27262a", "#3c344c", "#51446c", "#67558e", "#7e66af", "#9579d2", "#ac8cf6", "#c0a9fd", "#d4c8fe"],
}


_FONT = "Source Sans, sans-serif"  # what Streamlit serves for the page itself

# Both sides equally far from the middle in lightness.
_SIGNED_LIGHT = ["#0c74c5", "#5095da", "#84b7eb", "#b9d7f8", "#faf6f3", "#f2cbb2", "#e0a279", "#cb7a3e", "#ab5806"]
_SIGNED_DARK = ["#7dbdfe", "#4f94d9", "#3e6e9d", "#2f4964", "#292624", "#5e3f29", "#935b32", "#ca793d", "#fe9c53"]


def signed(dark: bool = False) -> list[str]:
    """Nine colours from the most negative through zero to the most positive."""
    return _SIGNED_DARK if dark else _SIGNED_LIGHT


def colorscale(steps: list[str]) -> list[tuple[float, str]]:
    """Colours at equal distances, as Plotly wants them."""
    return [(i / (len(steps) - 1), step) for i, step in enumerate(steps)]


def stops(scale: Scale, dark: bool = False) -> list[str]:
    """The scale's colours from nothing to most, as #rrggbb, equal steps apart."""
    return (_DARK if dark else _LIGHT)[scale]


def colour(scale: Scale, t: float, dark: bool = False) -> str:
    """The colour at t, 0 (nothing) to 1 (most); values outside are clipped, NaN is nothing."""
    t = 0.0 if math.isnan(t) else min(max(t, 0.0), 1.0)
    steps = stops(scale, dark)
    place = t * (len(steps) - 1)
    low = min(int(place), len(steps) - 2)
    share = place - low
    mixed = (round(a + (b - a) * share) for a, b in zip(_channels(steps[low]), _channels(steps[low + 1]), strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def text_on(background: str) -> str:
    """Near-black or near-white, whichever has the higher WCAG contrast on a #rrggbb background."""
    return "#000000" if (_luminance(background) + 0.05) ** 2 > 1.05 * 0.05 else "#ffffff"


def ink(dark: bool = False) -> str:
    """The colour of text and axes."""
    return "#e6e8ec" if dark else "#1d2129"


def page(dark: bool = False) -> str:
    """The colour of the page, for what lies over a picture."""
    return "#15181d" if dark else "#fdfdfb"


def style(figure: Figure, dark: bool, height: int) -> Figure:
    """Give a figure the project's look: no frame, thin grid, text in the page's colours."""
    grid = "#343a45" if dark else "#e6e8ec"
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": _FONT, "size": 14, "color": ink(dark)},
        hoverlabel={
            "bgcolor": "#2a2f39" if dark else "#ffffff",
            "font": {"color": ink(dark), "size": 14, "family": _FONT},
            "bordercolor": grid,
        },
        showlegend=False,
        modebar={"remove": ["zoom", "pan", "select", "lasso", "zoomin", "zoomout", "autoscale", "resetscale"]},
        dragmode=False,
    )
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(gridcolor=grid, zeroline=False, automargin=True, fixedrange=True, title_font={"size": 14})
    return figure


def _channels(hex_colour: str) -> tuple[int, int, int]:
    return int(hex_colour[1:3], 16), int(hex_colour[3:5], 16), int(hex_colour[5:7], 16)


def _luminance(hex_colour: str) -> float:
    """WCAG 2 relative luminance, 0 to 1."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (channel / 255 for channel in _channels(hex_colour))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


__all__ = ["Figure", "Scale", "colorscale", "colour", "ink", "page", "signed", "stops", "style", "text_on"]
