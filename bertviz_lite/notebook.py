"""The attention view in a notebook and as a file: the code of the page, with everything that it needs inside."""

from __future__ import annotations

import html
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from bertviz_lite.analysis import LayerAttention, first_look, layer_attention, named_heads, require_index, survey
from bertviz_lite.checkpoints import Checkpoint, load
from bertviz_lite.figures import attention_view as view
from bertviz_lite.tokenizer import Encoding

MOST_BYTES = 6_000_000  # of maps in a file; beyond, only the head that is open is whole

_LINK = "file"


@dataclass(frozen=True)
class AttentionView:
    """A view that a notebook displays.

    Attributes:
        html: a whole document; it works from disk, with no network.
        height: of the frame in a notebook, in pixels.
    """

    html: str
    height: int = 980

    def _repr_html_(self) -> str:
        frame = html.escape(self.html)
        return (
            f'<iframe srcdoc="{frame}" style="width:100%;height:{self.height}px;border:0" title="attention"></iframe>'
        )

    def save(self, path: str | Path) -> None:
        """Write the document to a file."""
        Path(path).write_text(self.html, encoding="utf-8")


def show_attention(
    model: Checkpoint | str | Path | None,
    text: str,
    text_b: str | None = None,
    *,
    layer: int | None = None,
    head: int | None = None,
    mask: Collection[int] = (),
) -> AttentionView:
    """Show where the heads of a model look in one text, or in two that it reads as a pair.

    Args:
        model: a checkpoint, what `load` opens, or None for the bundled model.
        layer, head: opened first, from 0; the head that is worth a first look where both are None.
        mask: numbers of the words to mask, from 0; those of `text_b` are counted on.

    Raises:
        BertvizError: the model does not open, the text is too long for it, or there is no such layer or head.
    """
    checkpoint = model if isinstance(model, Checkpoint) else load(model, headless=True) if model else load()
    encoding = checkpoint.tokenizer.encode(text, text_b).masked(mask, checkpoint.tokenizer.mask_token)
    return AttentionView(attention_page(checkpoint, encoding, layer, head))


def attention_page(
    checkpoint: Checkpoint, encoding: Encoding, layer: int | None = None, head: int | None = None
) -> str:
    """The view of one text as an HTML document; all heads are whole where `MOST_BYTES` hold them, else the opened one.

    Raises:
        BertvizError: as in `show_attention`.
    """
    model, config = checkpoint.model, checkpoint.config
    found = survey(model, encoding)
    first = first_look(found.statistics)
    opened = (first[0] if layer is None else layer, first[1] if head is None else head)
    require_index("layer", opened[0], config.num_hidden_layers)
    require_index("head", opened[1], config.num_attention_heads)
    every = [(at, of) for at in range(config.num_hidden_layers) for of in range(config.num_attention_heads)]
    bytes_a_head = 4 * len(encoding) * (len(encoding) + 2 * config.head_size)
    others = [head for head in every if head != opened] if bytes_a_head * len(every) <= MOST_BYTES else []
    layers: dict[int, LayerAttention] = {}

    def data(at: tuple[int, int]) -> bytes:
        if at[0] not in layers:
            layers[at[0]] = layer_attention(model, encoding, at[0])
        state = view.ViewState()
        return view.head_data(
            encoding, layers[at[0]], at[1], n_layers=config.num_hidden_layers, state=state, link=_LINK
        )

    overview = view.overview_data(found.overview, named_heads(found.statistics), link=_LINK)
    text = encoding.text if encoding.pair is None else f"{encoding.text} / {encoding.pair}"
    title = f"{checkpoint.report.name}: {text if len(text) <= 120 else text[:119] + '…'}"
    return view.page(overview, [data(opened), *map(data, others)], title)


__all__ = ["MOST_BYTES", "AttentionView", "attention_page", "show_attention"]
