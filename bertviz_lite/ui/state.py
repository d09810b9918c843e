"""What a visitor has set: one dictionary, kept over page changes, written to the address so that a link opens the view.

Streamlit's own `bind="query-params"` loses a value when the next page does not draw its widget, and resets it on
"back"; so the address is read and written here, once per run, as one history entry per change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, NoReturn

import streamlit as st

from bertviz_lite.analysis import HeadStatistics
from bertviz_lite.analysis.units import KINDS
from bertviz_lite.bundled import CONTRASTS, EXAMPLES, MINIMAL_PAIRS, TRAINING_TEXTS

MOST_CHARACTERS = 10_000
CHOSEN = "chosen"  # of layer, head and the like: the page chooses
HEAD_NUMBERS = tuple(field.name for field in fields(HeadStatistics))
WORDS = "milk, water, ice cream, hot chocolate, lemonade, souvenirs"  # one, two and three pieces
MOST_SIZES = (1_000_000, 16_384, 200, 256, 65_536)  # of the calculator: a million layers would cost minutes

RATES = (0.0, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1)  # learning rates; 0 stands for the usual one


@dataclass(frozen=True)
class Setting:
    """One thing a visitor can set.

    Attributes:
        default: its value where the address is silent.
        parse: from the address; raises ValueError for nonsense, which then counts as silence.
        write: to the address.
    """

    default: Any
    parse: Callable[[str], Any]
    write: Callable[[Any], str] = str


def _between(low: int, high: int) -> Callable[[str], int]:
    return lambda value: min(max(int(value), low), high)


def _one_of(*names: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if value not in names:
            raise ValueError(value)
        return value

    return parse


def _numbers(value: str) -> tuple[int, ...]:
    return tuple(sorted({int(part) for part in value.split(",") if part}))


def _index_or_name(*names: str) -> Callable[[str], int | str]:
    return lambda value: value if value in names else _between(0, 9_999)(value)


def _kinds(value: str) -> tuple[str, ...]:
    asked = value.split(",")
    return tuple(kind for kind in KINDS if kind in asked)


def _pair(value: str) -> tuple[int | None, ...]:
    """The token that looks and the one looked at, as `3.5`; `3.` and `.5` where one is chosen."""
    row, column = value.split(".")
    return tuple(_between(0, 9_999)(at) if at else None for at in (row, column))


def _write_pair(pair: Iterable[int | None]) -> str:
    return ".".join("" if at is None else str(at) for at in pair)


def _heads(value: str) -> tuple[tuple[int, int], ...]:
    """Layers and heads as `0.2,3.11`."""
    pairs = (part.split(".") for part in value.split(",")[:1_000] if part)
    return tuple((_between(0, 9_999)(layer), _between(0, 9_999)(head)) for layer, head in pairs)


def _write_heads(heads: Iterable[tuple[int, int]]) -> str:
    return ",".join(f"{layer}.{head}" for layer, head in heads)


def _five_sizes(value: str) -> tuple[int, ...]:
    sizes = tuple(int(part) for part in value.split(","))
    if len(sizes) != 5 or min(sizes) < 1 or any(n > most for n, most in zip(sizes, MOST_SIZES, strict=True)):
        raise ValueError(value)
    return sizes


def _write_numbers(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


def _rate(value: str) -> float:
    if float(value) not in RATES:
        raise ValueError(value)
    return float(value)


def _flag(value: str) -> bool:
    return _one_of("0", "1")(value) == "1"


def _write_flag(value: bool) -> str:
    return "1" if value else "0"


SETTINGS: Mapping[str, Setting] = {
    "text": Setting(EXAMPLES[0].text, lambda value: value[:MOST_CHARACTERS]),
    "mask": Setting((), _numbers, _write_numbers),
    "model": Setting("", str),
    "k": Setting(10, _between(1, 100)),
    "special": Setting(False, _flag, _write_flag),
    "ask": Setting("each", _one_of("each", "together", "words", "contrast")),
    "whole": Setting(False, _flag, _write_flag),
    "case": Setting("any", _one_of("any", "lower", "capital")),
    "word": Setting("", lambda value: value[:100]),
    "beams": Setting(8, _between(1, 50)),
    "words": Setting(WORDS, lambda value: value[:MOST_CHARACTERS]),
    "slot": Setting(0, _between(0, 9_999)),
    "second": Setting(CONTRASTS[0].second, lambda value: value[:MOST_CHARACTERS]),
    "mask2": Setting((), _numbers, _write_numbers),
    "pair": Setting(CONTRASTS[0].words, lambda value: value[:200]),
    "scored": Setting("sentence", _one_of("sentence", "pair", "file")),
    "measure": Setting("pll", _one_of("pll", "word_l2r", "whole_word", "l2r", "unmasked", "labelled")),
    "by": Setting("pieces", _one_of("pieces", "words")),
    "pair_a": Setting(MINIMAL_PAIRS[0].good, lambda value: value[:MOST_CHARACTERS]),
    "pair_b": Setting(MINIMAL_PAIRS[0].bad, lambda value: value[:MOST_CHARACTERS]),
    "order": Setting("high", _one_of("high", "low", "file")),
    "seed": Setting(30, _between(0, 9_999)),
    "rule": Setting("google", _one_of("google", "transformers")),
    "by_word": Setting(False, _flag, _write_flag),
    "rate": Setting(15, _between(1, 60)),
    "hidden": Setting(80, _between(0, 100)),
    "random": Setting(10, _between(0, 100)),
    "unit": Setting("nats", _one_of("nats", "bits")),
    "text_b": Setting("", lambda value: value[:MOST_CHARACTERS]),
    "maps": Setting("heads", _one_of("heads", "numbers", "means", "change")),
    "layer": Setting(CHOSEN, _index_or_name(CHOSEN)),
    "head": Setting(CHOSEN, _index_or_name(CHOSEN)),
    "pin": Setting((None, None), _pair, _write_pair),
    "hide": Setting((), _kinds, ",".join),
    "pairs": Setting("all", _one_of("all", "a_to_a", "a_to_b", "b_to_a", "b_to_b")),
    "rescale": Setting(False, _flag, _write_flag),
    "large": Setting(False, _flag, _write_flag),
    "readable": Setting(False, _flag, _write_flag),
    "shows": Setting("previous_prob", _one_of(*HEAD_NUMBERS)),
    "mean": Setting("rollout", _one_of("all", "layer", "heads", "rollout", "flow")),
    "of_layer": Setting(CHOSEN, _index_or_name(CHOSEN)),
    "of_heads": Setting((), _heads, _write_heads),
    "flow_to": Setting(CHOSEN, _index_or_name(CHOSEN)),
    "change": Setting("mask", _one_of("mask", "head", "text", "model")),
    "layer2": Setting(CHOSEN, _index_or_name(CHOSEN)),
    "head2": Setting(CHOSEN, _index_or_name(CHOSEN)),
    "text2": Setting("", lambda value: value[:MOST_CHARACTERS]),
    "moment": Setting(CHOSEN, _index_or_name(CHOSEN)),
    "at": Setting(CHOSEN, _index_or_name(CHOSEN)),
    "piece": Setting("", lambda value: value[:100]),
    "sizes": Setting((20_000, 768, 6, 12, 3072), _five_sizes, _write_numbers),
    "view": Setting("overview", _one_of("overview", "tensors", "vocabulary", "save")),
    "tensor": Setting("", lambda value: value[:200]),
    "search": Setting("", lambda value: value[:100]),
    "near": Setting("", lambda value: value[:100]),
    "other": Setting("", lambda value: value[:100]),
    "start": Setting("scratch", _one_of("scratch", "model")),
    "sample": Setting("everyday", _one_of(*TRAINING_TEXTS)),
    "size": Setting("tiny", _one_of("tiny", "small", "medium")),
    "minutes": Setting("1", _one_of("0.5", "1", "2", "5", "10")),
    "lr": Setting(0.0, _rate),
    "probes": Setting("", lambda value: value[:1_000]),
    "run": Setting("", lambda value: value[:40]),
}


def start(page: str) -> None:
    """Bring state and address together; the first thing a page does.

    On the page where the visitor was, an address that differs from ours is "back" or a link: it wins, unless a widget
    has just changed the state, for then it is only late (quick clicks outrun the browser's address bar). On a page
    change our state wins, since a link drawn before the last edit carries the old address.
    """
    session = st.session_state
    stays = session.get("page") == page
    session["page"] = page
    given = {name: value for name, value in st.query_params.to_dict().items() if name in SETTINGS}
    if "state" not in session or (stays and address() == session.get("address") and given != address()):
        session["state"] = _read(given)
    write_address()


def get(name: str) -> Any:  # noqa: ANN401 - settings have types of their own
    """The value of a setting."""
    return st.session_state["state"][name]


def number(name: str, n: int, own: int) -> int:
    """The value of a setting that counts from 0: `own` where the page chooses, the last of n where it is too high."""
    asked = get(name)
    return own if asked == CHOSEN else min(asked, n - 1)


def put(**values: object) -> None:
    """Change settings; call it from a widget's callback, so that the whole page sees the change."""
    st.session_state["state"] = {**st.session_state["state"], **values}


def put_told(told: Mapping[str, object]) -> None:
    """Change settings to what a browser tells, held to the rules of the address; what breaks them is left out."""
    for name, value in told.items():
        try:
            put(**{name: SETTINGS[name].parse(SETTINGS[name].write(value))})
        except (TypeError, ValueError, AttributeError):
            continue


def keyed(name: str, *, showing: object = None, anew: bool = False) -> dict[str, Any]:
    """Arguments that make a widget show and set a setting: `st.slider("k", 1, 100, **keyed("k"))`.

    Args:
        showing: what the widget shows where it is not the setting itself, because the page chose for the visitor.
        anew: whether each value gets a widget of its own. One that is out of sight, in a closed popover, does not
            hear of a new value, and tells its old one at the next press of anything.
    """
    key = f"widget_{name}_{get(name)}" if anew else f"widget_{name}"
    st.session_state[key] = get(name) if showing is None else showing
    return {"key": key, "on_change": lambda: put(**{name: st.session_state[key]})}


def address() -> dict[str, str]:
    """The parts of the address that differ from the defaults."""
    state: Mapping[str, Any] = st.session_state["state"]
    parts = {
        name: setting.write(state[name])
        for name, setting in SETTINGS.items()
        if name not in ("text", "mask") and state[name] != setting.default
    }
    if (state["text"], tuple(state["mask"])) != (EXAMPLES[0].text, EXAMPLES[0].masked):
        parts["text"] = state["text"]
        if state["mask"]:
            parts["mask"] = SETTINGS["mask"].write(state["mask"])
    return parts


def write_address() -> None:
    """Show the state in the address bar; one history entry, and none where nothing changed.

    What the browser last told may be late: it can tell the address that is wanted while another, sent since, is still
    on its way to it.
    """
    wanted = address()
    if st.query_params.to_dict() != wanted or st.session_state.get("address", wanted) != wanted:
        st.query_params.from_dict(wanted)
    st.session_state["address"] = wanted


def go_to(page: str) -> NoReturn:
    """Open another page with the settings in its address: an entry without them would set all back on "back"."""
    st.switch_page(page, query_params=address())


def _read(given: Mapping[str, str]) -> dict[str, Any]:
    state = {name: setting.default for name, setting in SETTINGS.items()}
    if "text" not in given:
        state["mask"] = EXAMPLES[0].masked
    for name, value in given.items():
        try:
            state[name] = SETTINGS[name].parse(value)
        except ValueError:
            continue  # a mistyped address opens the page all the same
    return state


__all__ = [
    "CHOSEN",
    "MOST_CHARACTERS",
    "MOST_SIZES",
    "RATES",
    "SETTINGS",
    "WORDS",
    "Setting",
    "address",
    "get",
    "go_to",
    "keyed",
    "number",
    "put",
    "put_told",
    "start",
    "write_address",
]
