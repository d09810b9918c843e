"""What `attention` writes: the chosen heads of a text as a page, as a picture or as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from bertviz_lite.analysis import (
    LARGEST_MAP,
    HeadStatistics,
    MapChoice,
    attention_csv,
    attention_json,
    attention_npz,
    each_layer,
    head_records,
    head_statistics,
    layer_maps,
    pooled,
    shown_map,
    shown_table,
    token_units,
)
from bertviz_lite.analysis.attention_files import AttentionTable
from bertviz_lite.analysis.units import Floats
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.errors import InputError
from bertviz_lite.figures.attention_view import ViewState
from bertviz_lite.notebook import attention_page, require_head
from bertviz_lite.tokenizer import Encoding

KINDS = ("html", "svg", "png", "csv", "json", "npz")

_PAIRS = {"a_to_a": "A → A", "a_to_b": "A → B", "b_to_a": "B → A", "b_to_b": "B → B"}
_KINDS_LEFT_OUT = {"cls": "[CLS]", "sep": "[SEP]", "punctuation": "punctuation"}


@dataclass(frozen=True)
class Asked:
    """Heads of a model on one text, and how their maps are read.

    Attributes:
        layer, head: from 0; None for all.
    """

    checkpoint: Checkpoint
    encoding: Encoding
    layer: int | None
    head: int | None
    choice: MapChoice

    def require(self) -> None:
        """Raise an error where there is no such layer or head, no second sentence, or nothing left to show."""
        require_head(self.checkpoint, self.layer, self.head)
        n_tokens = len(self.encoding)
        if not shown_map(np.zeros((n_tokens, n_tokens), np.float32), self.encoding, self.choice).weights.size:
            raise InputError("Nothing of this text is left to show: leave out less.")

    @property
    def layers(self) -> Sequence[int]:
        """The model's numbers of those chosen."""
        return range(self.checkpoint.config.num_hidden_layers) if self.layer is None else [self.layer]

    @property
    def heads(self) -> Sequence[int]:
        """The model's numbers of those chosen."""
        return range(self.checkpoint.config.num_attention_heads) if self.head is None else [self.head]

    def maps(self) -> Iterator[Floats]:
        """(H, T, T) the chosen heads of one chosen layer after the other."""
        model = self.checkpoint.model
        layers = (
            each_layer(model, self.encoding) if self.layer is None else [layer_maps(model, self.encoding, self.layer)]
        )
        for maps in layers:
            yield maps[list(self.heads)]

    def statistics(self) -> HeadStatistics:
        """Numbers of the chosen heads, of their maps as the model has them."""
        units = token_units(self.encoding)
        found = [head_statistics(maps[None], units) for maps in self.maps()]
        names = [field.name for field in fields(HeadStatistics)]
        return HeadStatistics(**{name: np.concatenate([getattr(one, name) for one in found]) for name in names})

    def records(self, statistics: HeadStatistics) -> list[dict[str, Any]]:
        """A record a head, with the model's numbers of layer and head."""
        return [
            record | {"layer": self.layers[record["layer"]], "head": self.heads[record["head"]]}
            for record in head_records(statistics)
        ]

    def table(self) -> AttentionTable:
        """All chosen maps as they are shown."""
        weights = np.stack(list(self.maps()))
        name = self.checkpoint.report.name
        return shown_table(weights, self.encoding, self.choice, layers=self.layers, heads=self.heads, model=name)

    def says(self) -> str:
        """Which heads these are, and how their maps are read."""
        parts = [
            "all layers" if self.layer is None else f"layer {self.layer}",
            "all heads" if self.head is None else f"head {self.head}",
        ]
        if self.choice.unit == "words":
            parts.append("by words")
        if self.choice.pairing is not None:
            parts.append(_PAIRS[self.choice.pairing])
        if self.choice.without:
            parts.append("without " + ", ".join(_KINDS_LEFT_OUT[kind] for kind in self.choice.without))
        if self.choice.renormalised:
            parts.append("rows rescaled to 1")
        return "; ".join([", ".join(parts[:2]), *parts[2:]])


def kind_of(path: Path) -> str:
    """What a file is to be, by its suffix.

    Raises:
        InputError: none of `KINDS`.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise InputError(f"{path}: the suffix says what is written; it must be one of .{', .'.join(KINDS)}.")
    return kind


def content(asked: Asked, kind: str) -> bytes:
    """The file.

    Args:
        kind: of `KINDS`.

    Raises:
        BertvizError: nothing is left to show, too many weights for a text file, or as in `attention_maps`.
    """
    if kind == "html":
        return _page(asked)
    if kind in ("svg", "png"):
        return _picture(asked, kind)
    write = {"csv": attention_csv, "json": attention_json, "npz": attention_npz}[kind]
    return write(asked.table())


def _page(asked: Asked) -> bytes:
    choice = asked.choice
    state = ViewState(
        by="words" if choice.unit == "words" else "pieces",
        without=choice.without,
        pairs=choice.pairing or "all",
        rescale=choice.renormalised,
    )
    return attention_page(asked.checkpoint, asked.encoding, asked.layer, asked.head, state).encode()


def _picture(asked: Asked, kind: str) -> bytes:
    from bertviz_lite.figures import attention_print as draw  # noqa: PLC0415 - matplotlib is slow to import

    says, encoding, choice = asked.says(), asked.encoding, asked.choice
    if (asked.layer is None or asked.head is None) and len(encoding) > LARGEST_MAP:
        says += f"; pooled to at most {LARGEST_MAP} cells a side (largest weight)"
    if asked.layer is not None and asked.head is not None:
        (maps,) = asked.maps()
        sheet = draw.one_map(shown_map(maps[0], encoding, choice), says)
    elif asked.layer is None and asked.head is None:
        small = [pooled(shown_map(maps, encoding, choice).weights) for maps in asked.maps()]
        sheet = draw.all_maps(small, says)
    else:
        maps = np.concatenate(list(asked.maps()))
        names = [f"head {n}" for n in asked.heads] if asked.head is None else [f"layer {n}" for n in asked.layers]
        sheet = draw.some_maps(shown_map(maps, encoding, choice), names, says)
    text = encoding.text if encoding.pair is None else f"{encoding.text} / {encoding.pair}"
    title = f"{asked.checkpoint.report.name}: {text} ({says})"
    return sheet.svg(title) if kind == "svg" else sheet.png(title)


__all__ = ["KINDS", "Asked", "content", "kind_of"]
