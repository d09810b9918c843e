"""Expected values: OKLab (Ottosson 2020), WCAG 2 contrast and the dichromat simulation of Viénot, Brettel and
Mollon 1999, all computed here from the published matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bertviz_lite.figures import palette
from bertviz_lite.figures.palette import Scale

SCALES: list[Scale] = ["probability", "loss", "attention"]
EVERY_SCALE = pytest.mark.parametrize("scale", SCALES)
BOTH_THEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])

OKLAB_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
VIENOT_CONES = np.array(
    [[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]],
)
# The missing cone's answer, guessed from the two that are left.
SIGHT = {
    "protanopia": np.array([[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]]),
    "deuteranopia": np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]]),
}


def linear(colour: str) -> NDArray[np.float64]:
    """Linear red, green and blue, 0 to 1."""
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def oklab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    return OKLAB @ np.cbrt(OKLAB_CONES @ rgb)


def lightness(colours: list[str]) -> NDArray[np.float64]:
    return np.array([oklab(linear(colour))[0] for colour in colours])


def hue(colour: str) -> float:
    """Degrees: 29 is red, 70 amber, 264 blue, 300 violet."""
    _, a, b = oklab(linear(colour))
    return math.degrees(math.atan2(b, a)) % 360


def contrast(one: str, other: str) -> float:
    low, high = sorted(float(np.dot([0.2126, 0.7152, 0.0722], linear(colour))) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def as_seen(colour: str, sight: str) -> NDArray[np.float64]:
    """Linear colour as a dichromat sees it."""
    return np.linalg.inv(VIENOT_CONES) @ SIGHT[sight] @ VIENOT_CONES @ linear(colour)


def test_the_formulas_of_this_file_give_published_values() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert lightness(["#ffffff", "#ff0000"]) == pytest.approx([1, 0.628], abs=1e-3)
    assert hue("#ff0000") == pytest.approx(29.2, abs=0.1)
    for sight in SIGHT:
        assert as_seen("#808080", sight) == pytest.approx(linear("#808080"), abs=2e-3)  # grey stays grey


@EVERY_SCALE
@BOTH_THEMES
def test_steps_are_even_in_lightness(scale: Scale, dark: bool) -> None:
    steps = np.diff(lightness(palette.stops(scale, dark)))
    assert len(steps) >= 4
    assert steps == pytest.approx(np.full(len(steps), steps.mean()), rel=0.05)
    assert abs(steps.mean()) > 0.05
    assert (steps.mean() > 0) == dark, "the strongest colour is the farthest from the page"


@BOTH_THEMES
def test_all_scales_have_the_same_lightness(dark: bool) -> None:
    at = [lightness(palette.stops(scale, dark)) for scale in SCALES]
    assert at[1] == pytest.approx(at[0], abs=0.005)
    assert at[2] == pytest.approx(at[0], abs=0.005)


@BOTH_THEMES
def test_hues_mean_what_the_design_says(dark: bool) -> None:
    for colour in palette.stops("probability", dark)[2:]:
        assert 230 < hue(colour) < 275  # blue
    for colour in palette.stops("attention", dark)[2:]:
        assert 285 < hue(colour) < 310  # violet
    losses = [hue(colour) for colour in palette.stops("loss", dark)]
    assert 60 < losses[2] < 90  # amber
    assert losses[-1] < 32  # red
    assert losses == sorted(losses, reverse=True)


@EVERY_SCALE
@BOTH_THEMES
@pytest.mark.parametrize("sight", SIGHT)
def test_order_is_kept_for_the_colour_blind(scale: Scale, dark: bool, sight: str) -> None:
    seen = np.array([oklab(as_seen(colour, sight))[0] for colour in palette.stops(scale, dark)])
    steps = np.diff(seen) * (1 if dark else -1)
    assert (steps > 0.03).all(), steps.round(3)


@BOTH_THEMES
@pytest.mark.parametrize("sight", [None, *SIGHT])
def test_values_with_a_sign_are_as_strong_on_both_sides_and_differ_for_the_colour_blind(
    dark: bool, sight: str | None
) -> None:
    seen = [oklab(linear(c) if sight is None else as_seen(c, sight)) for c in palette.signed(dark)]
    assert len(seen) % 2 == 1, "zero has a colour of its own"
    middle = len(seen) // 2
    below, above = seen[middle::-1], seen[middle:]  # from zero outwards
    for side in (below, above):
        assert (np.diff([lab[0] for lab in side]) * (1 if dark else -1) > 0.03).all()
    for low, high in zip(below[1:], above[1:], strict=True):
        if sight is None:
            assert low[0] == pytest.approx(high[0], abs=0.01)
        assert math.dist(low[1:], high[1:]) > 0.05


@EVERY_SCALE
@BOTH_THEMES
def test_colour_at_the_stops_and_beyond_the_ends(scale: Scale, dark: bool) -> None:
    steps = palette.stops(scale, dark)
    for i, step in enumerate(steps):
        assert palette.colour(scale, i / (len(steps) - 1), dark) == step
    for below in (-0.1, -7.0, -math.inf, math.nan):
        assert palette.colour(scale, below, dark) == steps[0]
    for above in (1.1, 7.0, math.inf):
        assert palette.colour(scale, above, dark) == steps[-1]


@EVERY_SCALE
@BOTH_THEMES
def test_colour_between_two_stops_is_their_mixture(scale: Scale, dark: bool) -> None:
    steps = palette.stops(scale, dark)
    for i in range(len(steps) - 1):
        mixed = palette.colour(scale, (i + 0.25) / (len(steps) - 1), dark)
        for at in (1, 3, 5):
            low, high, got = (int(colour[at : at + 2], 16) for colour in (steps[i], steps[i + 1], mixed))
            assert got == pytest.approx(0.75 * low + 0.25 * high, abs=0.51)


@EVERY_SCALE
@BOTH_THEMES
def test_more_is_always_stronger(scale: Scale, dark: bool) -> None:
    colours = [palette.colour(scale, i / 100, dark) for i in range(101)]
    steps = np.diff(lightness(colours)) * (1 if dark else -1)
    assert (steps > 0).all()


@settings(database=None, deadline=None)
@given(st.sampled_from(SCALES), st.floats(), st.booleans())
def test_any_number_gives_a_colour_that_css_and_plotly_read(scale: Scale, t: float, dark: bool) -> None:
    colour = palette.colour(scale, t, dark)
    assert len(colour) == 7
    assert colour.startswith("#")
    assert 0 <= int(colour[1:], 16) <= 0xFFFFFF


def test_text_is_dark_or_light_whichever_is_read_better() -> None:
    choices = [palette.text_on("#ffffff"), palette.text_on("#000000")]
    assert contrast(choices[0], "#ffffff") > 15
    assert contrast(choices[1], "#000000") > 15
    greys = [f"#{level:02x}{level:02x}{level:02x}" for level in range(256)]
    for background in (*greys, *(palette.colour(scale, i / 200) for scale in SCALES for i in range(201))):
        chosen = palette.text_on(background)
        assert chosen in choices
        assert contrast(chosen, background) == max(contrast(choice, background) for choice in choices)


@EVERY_SCALE
@BOTH_THEMES
def test_text_can_be_read_on_every_colour(scale: Scale, dark: bool) -> None:
    """WCAG AA asks for 4.5; chips are coloured anywhere on a scale, not only at its stops."""
    colours = [palette.colour(scale, i / 200, dark) for i in range(201)]
    worst = min(colours, key=lambda colour: contrast(palette.text_on(colour), colour))
    assert contrast(palette.text_on(worst), worst) >= 4.5, worst


@BOTH_THEMES
def test_ink_can_be_read_on_the_palest_colour(dark: bool) -> None:
    for scale in SCALES:
        assert contrast(palette.ink(dark), palette.stops(scale, dark)[0]) >= 7
