"""Reads the files of a tokenizer in the Hugging Face layout: tokenizer.json, or vocab.txt and what lies beside it.

Kept beside `tokenizer.py` so that it reads as what a tokenizer does, not where it comes from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tokenizers
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from bertviz_lite.errors import TokenizerError

# The files a tokenizer may consist of, in the Hugging Face layout.
TOKENIZER_FILES = (
    "tokenizer.json",
    "vocab.txt",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
)

# The pieces that are not language, by their role in a configuration.
SPECIAL_TOKENS = {
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
}
_LONGEST_WORD = 100  # Google's limit: a longer word becomes the unknown token


@dataclass(frozen=True)
class TokenizerParts:
    """What the files say: the backend, the special tokens by role, and what had to be guessed."""

    backend: tokenizers.Tokenizer
    roles: Mapping[str, str]
    notes: tuple[str, ...] = ()


def read_tokenizer(files: Mapping[str, bytes]) -> TokenizerParts:
    """Read a tokenizer from the contents of its files, by name.

    Raises:
        TokenizerError: neither tokenizer.json nor vocab.txt is there, or one of the files cannot be read.
    """
    settings = _json_object(files, "tokenizer_config.json")
    roles = _roles(_json_object(files, "special_tokens_map.json") | settings)
    if "tokenizer.json" in files:
        return TokenizerParts(_from_json(files["tokenizer.json"]), roles)
    if "vocab.txt" not in files:
        raise TokenizerError("There is neither a tokenizer.json nor a vocab.txt: the model's words are unknown.")
    return _from_vocabulary(files, settings, roles)


_PRECOMPILED = re.compile(rb'"type"\s*:\s*"Precompiled"')


def _from_json(content: bytes) -> tokenizers.Tokenizer:
    if _PRECOMPILED.search(content):  # of SentencePiece; a damaged one takes gigabytes, or ends the process
        raise TokenizerError("tokenizer.json normalizes by a precompiled table (SentencePiece): no BERT does.")
    try:
        return tokenizers.Tokenizer.from_str(content.decode("utf-8"))
    except BaseException as error:  # the package raises bare Exception for a bad file, and panics, which are none
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        raise TokenizerError(f"tokenizer.json cannot be read: {str(error)[:300]}.") from error


def is_panic(error: BaseException) -> bool:
    """Whether the package, which is written in Rust, has panicked: no Exception in Python."""
    return type(error).__name__ == "PanicException"


def _from_vocabulary(
    files: Mapping[str, bytes], settings: Mapping[str, Any], roles: Mapping[str, str]
) -> TokenizerParts:
    pieces = _lines(files["vocab.txt"])
    notes: list[str] = []
    if len(set(pieces)) < len(pieces):
        notes.append(f"vocab.txt holds {len(pieces) - len(set(pieces))} pieces twice; the later id counts.")
    lower = settings.get("do_lower_case")
    if lower is None:
        special = {*roles.values(), *SPECIAL_TOKENS.values()}
        capital = next((p for p in pieces if p not in special and p != p.lower()), None)
        lower = capital is None
        reason = "it has no capital letters" if lower else f"it has capital letters, {capital!r} for example"
        notes.append(f"The vocabulary was taken as {'uncased' if lower else 'cased'}: {reason}.")
    backend = tokenizers.Tokenizer(
        WordPiece(
            {piece: i for i, piece in enumerate(pieces)},
            unk_token=roles["unk_token"],
            max_input_chars_per_word=_LONGEST_WORD,
        )
    )
    backend.normalizer = BertNormalizer(
        lowercase=bool(lower),
        strip_accents=settings.get("strip_accents"),  # None follows lower-casing
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True) is not False,
    )
    backend.pre_tokenizer = BertPreTokenizer()
    _add_tokens(backend, files, settings, set(roles.values()))
    return TokenizerParts(backend, roles, tuple(notes))


def _add_tokens(
    backend: tokenizers.Tokenizer, files: Mapping[str, bytes], settings: Mapping[str, Any], special: set[str]
) -> None:
    """Add the tokens that training added to the vocabulary, in the order of their ids."""
    plain = {token: i for token, i in _json_object(files, "added_tokens.json").items() if isinstance(i, int)}
    # As in transformers: an added word is matched after lower-casing, a special token before.
    added = {i: tokenizers.AddedToken(token, normalized=token not in special) for token, i in plain.items()}
    for i, entry in (settings.get("added_tokens_decoder") or {}).items():
        if isinstance(entry, Mapping) and isinstance(entry.get("content"), str) and str(i).isdigit():
            flags = {k: bool(entry.get(k, False)) for k in ("single_word", "lstrip", "rstrip", "normalized", "special")}
            added[int(i)] = tokenizers.AddedToken(entry["content"], **flags)
    for i in sorted(added):
        backend.add_tokens([added[i]])
        if backend.token_to_id(added[i].content) != i:
            raise TokenizerError(
                f"The added token {added[i].content!r} should have id {i}, but after the pieces of vocab.txt it gets "
                f"{backend.token_to_id(added[i].content)}: vocab.txt does not belong to these added tokens."
            )


def _lines(vocabulary: bytes) -> list[str]:
    """Pieces of vocab.txt, one a line; split on "\\n" alone, since a piece may be U+2028 or blank."""
    try:
        text = vocabulary.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TokenizerError(f"vocab.txt is not UTF-8 text ({error}).") from error
    lines = text.removesuffix("\n").split("\n")
    if len(lines) < 2:
        raise TokenizerError("vocab.txt has no pieces: it should hold one piece a line.")
    if all(line.endswith("\r") for line in lines[:-1]):  # written on Windows
        lines = [line.removesuffix("\r") for line in lines]
    return lines


def _json_object(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    if name not in files:
        return {}
    try:
        values = json.loads(files[name].decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise TokenizerError(f"{name} is not valid JSON ({error}).") from error
    if not isinstance(values, dict):
        raise TokenizerError(f"{name} must hold a JSON object, not {type(values).__name__}.")
    return values


def _roles(settings: Mapping[str, Any]) -> dict[str, str]:
    """The special tokens by role; an entry is a string or an object with `content`."""
    roles = dict(SPECIAL_TOKENS)
    for role in SPECIAL_TOKENS:
        entry = settings.get(role)
        content = entry.get("content") if isinstance(entry, Mapping) else entry
        if isinstance(content, str) and content:
            roles[role] = content
    return roles


__all__ = ["SPECIAL_TOKENS", "TOKENIZER_FILES", "TokenizerParts", "is_panic", "read_tokenizer"]
