"""The attention view in a notebook and as a file: the code of the page, with everything that it needs inside."""

from __future__ import annotations

import html
from collections.abc import Collection
from dataclasses import dataclass, fields
from numbers import Integral
from pathlib import Path
from typing import cast

from bertviz_lite.analysis import (
    HeadStatistics,
    LayerAttention,
    Survey,
    every_head,
    first_look,
    layer_attention,
    pair_mask,
    require_index,
    survey,
    token_units,
)
from bertviz_lite.analysis.shown_maps import Pairing
from bertviz_lite.analysis.units import KINDS, Kind
from bertviz_lite.checkpoints import Checkpoint, load
from bertviz_lite.errors import InputError, TextError
from bertviz_lite.figures import attention_view as view
from bertviz_lite.tokenizer import Encoding

MOST_BYTES = 6_000_000  # of maps in a file; beyond, only the head that is open is whole

_LINK = "file"

# A frame as high as its document, whenever that changes; some notebooks run no handler.
_GROW = (
    "const page = this.contentDocument?.body; if (page) new ResizeObserver(() => "
    "{ this.style.height = page.offsetHeight + 30 + 'px' }).observe(page)"
)


@dataclass(frozen=True)
class AttentionView:
    """A view that a notebook displays.

    Attributes:
        html: a whole document; it works from disk, with no network.
        height: of the frame in a notebook that lets no frame grow with what it holds, in pixels.
    """

    html: str
    height: int = 980

    def _repr_html_(self) -> str:
        frame = html.escape(self.html)
        style = f"width:100%;height:{self.height}px;border:0"
        return f'<iframe srcdoc="{frame}" style="{style}" onload="{html.escape(_GROW)}" title="attention"></iframe>'

    def save(self, path: str | Path) -> None:
        """Write the document to a file.

        Raises:
            InputError: it cannot be written there.
        """
        try:
            Path(path).write_text(self.html, encoding="utf-8")
        except OSError as error:
            raise InputError(f"{path} cannot be written ({error.strerror or error}).") from error


def show_attention(  # noqa: PLR0913 - the choices of the view
    model: Checkpoint | str | Path | None,
    text: str,
    text_b: str | None = None,
    *,
    layer: int | None = None,
    head: int | None = None,
    mask: Collection[int] = (),
    by: str = "pieces",
    without: Collection[Kind] = (),
    pairs: Pairing | None = None,
    rescale: bool = False,
) -> AttentionView:
    """Show where the heads of a model look in one text, or in two that it reads as a pair.

    Args:
        model: a checkpoint, what `load` opens, or None for the bundled model.
        layer, head: opened first, from 0; of those left open, the head that is worth a first look.
        mask: numbers of the words to mask, from 0; those of `text_b` are counted on.
        by, without, pairs, rescale: chosen at first, as in `figures.attention_view.ViewState`.

    Raises:
        BertvizError: the model does not open, the text is empty or too long for it, or there is no such layer, head,
            word or choice.
    """
    checkpoint = model if isinstance(model, Checkpoint) else load(model, headless=True) if model else load()
    if by not in ("pieces", "words"):
        raise InputError(f"A map is read by pieces or by words, not by {by!r}.")
    if odd := [kind for kind in without if kind not in KINDS]:
        raise InputError(f"{odd[0]!r} cannot be left out; {', '.join(KINDS)} can.")
    kinds = tuple(kind for kind in KINDS if kind in without)
    state = view.ViewState(by=by, without=kinds, pairs=pairs or "all", rescale=rescale)
    return AttentionView(attention_page(checkpoint, read(checkpoint, text, text_b, mask), layer, head, state))


def read(checkpoint: Checkpoint, text: str, text_b: str | None = None, mask: Collection[int] = ()) -> Encoding:
    """A text, or two, as a model reads it, with some words masked.

    Args:
        mask: as in `show_attention`.

    Raises:
        TextError: there is no word in it.
        InputError: there is no such word.
    """
    encoding = checkpoint.tokenizer.encode(text, text_b if text_b and text_b.strip() else None)
    if not encoding.n_words:
        raise TextError("There is no word in this text: write a sentence to see where its tokens look.")
    if isinstance(mask, (str, bytes)) or not isinstance(mask, Collection) or not all(map(_is_number, mask)):
        raise InputError(f"mask is a list of numbers of words, from 0, not {mask!r}.")
    if odd := [word for word in mask if not 0 <= word < encoding.n_words]:
        last = encoding.n_words - 1
        raise InputError(f"There is no word {odd[0]}: the words go from 0 to {last} (“{encoding.word_text(last)}”).")
    return encoding.masked(mask, checkpoint.tokenizer.mask_token)


def attention_page(
    checkpoint: Checkpoint,
    encoding: Encoding,
    layer: int | None = None,
    head: int | None = None,
    state: view.ViewState | None = None,
) -> str:
    """The view of one text as an HTML document; all heads are whole where `MOST_BYTES` hold them, else the opened one.

    Args:
        state: what is chosen in it at first; nothing in particular if None.

    Raises:
        BertvizError: as in `show_attention`.
    """
    model, config = checkpoint.model, checkpoint.config
    state = state or view.ViewState()
    require_head(checkpoint, layer, head)
    if state.pairs != "all":
        pair_mask(token_units(encoding), cast(Pairing, state.pairs))
    found = survey(model, encoding)
    opened = _opened(found, layer, head)
    every = every_head(config)
    bytes_a_head = 4 * len(encoding) * (len(encoding) + 2 * config.head_size)
    others = [head for head in every if head != opened] if bytes_a_head * len(every) <= MOST_BYTES else []
    layers: dict[int, LayerAttention] = {}

    def data(at: tuple[int, int]) -> bytes:
        if at[0] not in layers:
            layers[at[0]] = layer_attention(model, encoding, at[0])
        return view.head_data(
            encoding, layers[at[0]], at[1], n_layers=config.num_hidden_layers, state=state, link=_LINK
        )

    overview = view.overview_data(found, link=_LINK)
    text = encoding.text if encoding.pair is None else f"{encoding.text} / {encoding.pair}"
    title = f"{checkpoint.report.name}: {text if len(text) <= 120 else text[:119] + '…'}"
    return view.page(overview, [data(opened), *map(data, others)], title)


def require_head(checkpoint: Checkpoint, layer: int | None, head: int | None) -> None:
    """Raise an InputError where the model has no such layer or head; None is any."""
    for name, number in (("layer", layer), ("head", head)):
        if number is not None and not _is_number(number):
            raise InputError(f"{name} is a number from 0, not {number!r}.")
    if layer is not None:
        require_index("layer", layer, checkpoint.config.num_hidden_layers)
    if head is not None:
        require_index("head", head, checkpoint.config.num_attention_heads)


def _is_number(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _opened(found: Survey, layer: int | None, head: int | None) -> tuple[int, int]:
    """Layer and head: those asked for, or of those left open what is worth a first look."""
    rows = slice(None) if layer is None else slice(layer, layer + 1)
    columns = slice(None) if head is None else slice(head, head + 1)
    names = [field.name for field in fields(HeadStatistics)]
    left = HeadStatistics(**{name: getattr(found.statistics, name)[rows, columns] for name in names})
    first = first_look(left)
    return first[0] + (layer or 0), first[1] + (head or 0)


__all__ = ["MOST_BYTES", "AttentionView", "attention_page", "read", "require_head", "show_attention"]
