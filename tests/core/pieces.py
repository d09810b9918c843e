"""Small vocabularies and texts that tokenizers stumble over, for the tests of the tokenizer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import BertTokenizer

from bertviz_lite.tokenizer import Encoding, Tokenizer

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]  # ids 0 to 4
UNCASED = [*SPECIAL, "the", "cat", "sat", "##s", "##e", "cafe", "café", "a", "b", ".", "!", "中", "文"]
CASED = [*SPECIAL, "The", "the", "cat", "##s", "Caf", "##é", "##e", "É", "A", "a", ".", "!", "中"]

NASTY = [
    "",
    " ",
    "the cat sat.",
    "Unbelievably, it's 3.14 – or $5!",
    "café naïve Ångström İstanbul Straße ŒUVRE",
    "cafe\u0301 n\u0303 \u0301\u0301 a\u0323\u0302",
    "中文字符 and 漢字かな 한국어 각",
    "emoji 😀 👩‍👩‍👧‍👦 🇨🇭 ☕️ done",
    "!?…—‘’“”«»¿¡§†‡•※",
    "x" * 100,
    "x" * 101,
    "a " + "supercalifragilistic" * 20 + " b",
    "tab\tand\nnew\r\nline\x0bvertical\x0cfeed",
    "zero\u200bwidth\u200djoin\ufeffmark\u00adsoft",
    "line\u2028separator\u2029paragraph\u0085next",
    "nbsp\u00a0thin\u2009ideographic\u3000space",
    "null\x00byte\x07bell\x1besc\ufffdreplacement",
    "[CLS] typed [SEP] by [MASK] hand [PAD] [UNK]",
    "[MASK][MASK]x[MASK]",
    "[mask] [ MASK ] [Mask] [MASKS] <mask>",
    "नमस्ते ภาษาไทย العربية עִבְרִית",
    "ﬁne ﬂuent Ⅳ ½ ① 𝒜𝓑 ǅ",
    "snake_case CamelCase e-mail@example.com https://a.b/c?d=e#f",
    "combining \u302e\u302f tone \U0001d165 stem",
    "   leading and trailing   ",
]


def vocab_file(pieces: list[str], newline: str = "\n") -> bytes:
    return "".join(piece + newline for piece in pieces).encode()


def from_vocab(pieces: list[str], config: Mapping[str, Any] | None = None, **files: object) -> Tokenizer:
    """Our tokenizer from a vocab.txt and, by name without ending, further JSON files."""
    contents = {"vocab.txt": vocab_file(pieces)}
    if config is not None:
        contents["tokenizer_config.json"] = json.dumps(config).encode()
    return Tokenizer.from_files(contents | {f"{name}.json": json.dumps(v).encode() for name, v in files.items()})


def reference(pieces: list[str], **switches: bool | None) -> BertTokenizer:
    """transformers' tokenizer for the same pieces."""
    return BertTokenizer(vocab={piece: i for i, piece in enumerate(pieces)}, **switches)


def lines_of(folder: Path) -> list[str]:
    return (folder / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")


def with_files(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return folder


def assert_same_ids(mine: Encoding, theirs: BertTokenizer, text: str, pair: str | None = None) -> None:
    """Ids, offsets and segments are those of transformers.

    It is asked with a batch of one: alone, it takes an empty second text for none.
    """
    batch = theirs([text], None if pair is None else [pair], return_offsets_mapping=True)
    assert list(mine.ids) == batch["input_ids"][0]
    assert list(mine.offsets) == batch["offset_mapping"][0]
    assert list(mine.segment_ids) == batch["token_type_ids"][0]


def assert_same(mine: Encoding, theirs: BertTokenizer, text: str, pair: str | None = None) -> None:
    """Pieces too, which transformers spells in lower case for the tokens that were added."""
    assert_same_ids(mine, theirs, text, pair)
    assert list(mine.pieces) == theirs.convert_ids_to_tokens(list(mine.ids))
