"""Data for the attention view (views/attention/): all heads small, one map whole with its queries and keys, and both
as one HTML file that needs nothing else. A page, a notebook and a file show the same code.
"""

from __future__ import annotations

import base64
import html
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertviz_lite.analysis import (
    PATTERNS,
    HeadStatistics,
    Kind,
    LayerAttention,
    Survey,
    Units,
    leaders,
    named_heads,
    token_units,
    word_units,
)
from bertviz_lite.figures import palette, scripts
from bertviz_lite.figures.pack import Array, pack
from bertviz_lite.tokenizer import Encoding

HTML = '<div class="attention"></div>'
CSS = scripts.read("attention/attention.css")
_PARTS = ("pack", "shape", "colours", "svg", "dom", "figure", "map", "overview", "worked", "link")
JS = scripts.joined("attention", (*_PARTS, "overview_view", "map_view", "main"))
PART_JS = scripts.joined("attention", ("part",))  # for a map beside an overview, whose code it uses

MOST_EXACT = 64  # tokens up to which weights travel as float32, above as float16 (to within 0.05 %)

_FEW = 6  # tokens; half the attention on one of them is little to go by

_Scored = tuple[int, int, float]

_RAMPS = {
    name: {"attention": palette.stops("attention", dark), "signed": palette.signed(dark)}
    for name, dark in (("light", False), ("dark", True))
}
_HINT = "Hover a token to see where it looks, or who looks at it; press to keep it."


@dataclass(frozen=True)
class ViewState:
    """What is chosen in the view of one map.

    Attributes:
        layer, head: on show, from 0; None where the map is no single head's.
        by: `pieces` or `words`.
        without: kinds left out, of `cls`, `sep`, `punctuation`.
        pairs: a key of `analysis.PAIRINGS`, or `all`.
        rescale: rows divided by what is left of them.
        large: text for a projector.
        readable: every token named, however long the picture.
        pin: the token that looks and the token looked at, None for none.
    """

    layer: int | None = None
    head: int | None = None
    by: str = "pieces"
    without: tuple[Kind, ...] = ()
    pairs: str = "all"
    rescale: bool = False
    large: bool = False
    readable: bool = False
    pin: tuple[int | None, int | None] = (None, None)


def overview_data(survey: Survey, *, link: str) -> bytes:
    """All heads small. It does not say which head is open: data that stay the same are not sent again.

    Args:
        link: the view of one map that opens what is pressed here.
    """
    overview, statistics = survey.overview, survey.statistics
    n_cells = overview.levels.shape[-1]
    tells = ["Layers down, heads across, from 0; all tokens, each map on its own scale. Press one to open it."]
    if overview.is_pooled:
        tells.append(f"{overview.n_tokens} tokens are pooled to {n_cells} cells a side (largest weight).")
    if overview.n_tokens < _FEW:
        tells.append("Of so few tokens, heads get their names by chance.")
    header = {
        "part": "overview",
        "link": link,
        "shape": [*overview.levels.shape[:2], n_cells],
        "note": " ".join(tells),
        "names": _names(statistics),
        "ramps": _RAMPS,
    }
    return pack(header, {"levels": overview.levels, "peaks": overview.peak_prob})


def _names(statistics: HeadStatistics) -> list[tuple[str, list[_Scored], str, _Scored | None]]:
    """Of each pattern: its name, the heads that bear it, what their score is, and the head that comes nearest."""
    named = named_heads(statistics)
    found = []
    for pattern in PATTERNS:
        scores = getattr(statistics, pattern.measure)
        heads = [(one.layer, one.head, one.score) for one in named if one.pattern is pattern]
        (layer, head), *_ = leaders(scores, 1)
        nearest = None if np.isnan(scores).all() else (layer, head, float(scores[layer, head]))
        found.append((pattern.name, heads, pattern.says, nearest))
    return found


def head_data(
    encoding: Encoding, layer: LayerAttention, head: int, *, n_layers: int, state: ViewState, link: str, heard: int = 0
) -> bytes:
    """One head's map, with the queries and keys that make it.

    Args:
        n_layers: of the model, whose heads can all be opened.
        state: its layer and head are replaced by those given.
        heard: number of the last choice in the view that this answers.
    """
    arrays: dict[str, Array] = {"queries": layer.queries[head], "keys": layer.keys[head]}
    if layer.distance_scores is not None:
        arrays["distances"] = layer.distance_scores[head]
    header = {
        "opens": [n_layers, len(layer.weights)],
        "state": asdict(state) | {"layer": layer.layer, "head": head},
        "title": f"layer {layer.layer}, head {head}",
        "heard": heard,
    }
    return _map_data(encoding, layer.weights[head], arrays, header, link)


def map_data(
    encoding: Encoding,
    weights: NDArray[np.float32],
    title: str,
    *,
    state: ViewState,
    link: str,
    labels: Sequence[str] | None = None,
    signed: bool = False,
    heard: int = 0,
) -> bytes:
    """A map that is no single head's: a mean, a rollout, a difference.

    Args:
        weights: (T, T) probabilities, or their differences where `signed`.
        labels: T names in place of the pieces.
    """
    header = {"opens": None, "state": asdict(state), "title": title, "signed": signed, "heard": heard}
    return _map_data(encoding, weights, {}, header, link, labels)


def page(overview: bytes | None, maps: Sequence[bytes], title: str) -> str:
    """An HTML document that shows the view with no network; it holds its data, styles and script.

    Args:
        overview: of `overview_data`; None where one map is all.
        maps: of `head_data` or `map_data`; the first is shown, the others open when they are asked for.
    """
    parts = {"overview": None if overview is None else _text(overview), "maps": [_text(one) for one in maps]}
    return _PAGE.format(
        title=html.escape(title), css=CSS, js=JS.replace("</", "<\\/"), data=json.dumps(parts), part=HTML
    )


def _map_data(
    encoding: Encoding,
    weights: NDArray[np.float32],
    arrays: Mapping[str, Array],
    header: Mapping[str, Any],
    link: str,
    labels: Sequence[str] | None = None,
) -> bytes:
    hidden = [
        i for i, (shown, typed) in enumerate(zip(encoding.ids, encoding.typed_ids, strict=True)) if shown != typed
    ]
    known = {
        "part": "map",
        "link": link,
        "signed": False,
        "text": f"{zlib.crc32(repr((encoding.ids, link)).encode()):08x}",
        "tokens": _units(token_units(encoding), labels),
        "words": _units(word_units(encoding)),
        "word_ids": encoding.word_ids,
        "word_labels": [encoding.word_text(word) for word in range(encoding.n_words)],
        "masked": hidden,
        "hint": _HINT,
        "ramps": _RAMPS,
    }
    exact = len(encoding) <= MOST_EXACT
    sent: dict[str, Array] = {"weights": weights if exact else weights.astype(np.float16), **arrays}
    return pack(known | dict(header), sent)


def _units(units: Units, labels: Sequence[str] | None = None) -> dict[str, Any]:
    kinds = np.full(len(units), "", dtype=object)
    for kind, flags in (("cls", units.cls), ("sep", units.sep), ("punctuation", units.punctuation)):
        kinds[flags] = kind
    return {
        "labels": labels or units.labels,
        "positions": units.positions,
        "kinds": kinds.tolist(),
        "segments": units.segments.tolist(),
    }


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 0.8rem; background: light-dark(#fdfdfb, #15181d); color: light-dark(#1d2129, #e6e8ec); }}
h1 {{ font: 600 1.1rem "Source Sans", "Segoe UI", sans-serif; margin: 0 0 0.8rem; }}
#view {{ display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 2rem; max-width: 1400px; }}
#view > :only-child {{ grid-column: 1 / -1; }}
@media (max-width: 800px) {{ #view {{ grid-template-columns: minmax(0, 1fr); }} }}
{css}
</style>
</head>
<body>
<h1>{title}</h1>
<div id="view">{part}{part}</div>
<script type="module">
{js}
mount(document.getElementById("view"), {data});
</script>
</body>
</html>
"""

__all__ = ["CSS", "HTML", "JS", "MOST_EXACT", "PART_JS", "ViewState", "head_data", "map_data", "overview_data", "page"]
