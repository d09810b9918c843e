"""Text to `Encoding` and back, on the `tokenizers` package.

Reads tokenizer.json, or vocab.txt with its tokenizer_config.json; nothing is ever cut off or padded here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import tokenizers
import torch
from tokenizers.models import WordPiece
from tokenizers.processors import TemplateProcessing
from torch import Tensor

from bertviz_lite._tokenizer_files import SPECIAL_TOKENS, TOKENIZER_FILES, is_panic, read_tokenizer
from bertviz_lite.errors import TextError, TokenizerError

_LARGEST_ID = 10_000_000
_MEANT_AS_MASK = re.compile(r"\[\s*mask\s*\]|<\s*mask\s*>|(?<![^\W_])_{2,}(?![^\W_])", re.IGNORECASE)


@dataclass(frozen=True)
class Encoding:
    """One text, or a pair, as a model reads it. All tuples have T entries, one a token.

    Attributes:
        text, pair: what was encoded; `pair` is None for a single text.
        ids: vocabulary ids, [CLS] and [SEP] included.
        pieces: the vocabulary's spelling of each id.
        word_ids: number of the word a token belongs to, counted through both texts; None for [CLS] and [SEP].
        offsets: (start, end) in characters of the text that the segment names; (0, 0) for [CLS] and [SEP].
        segment_ids: 0 for the first text, 1 for the second.
        special_mask: True for [CLS] and [SEP] that encoding added; a special token that was typed is False.
        mask_id: id of the mask token.
        typed_ids, typed_pieces: ids and pieces before `masked` hid some; equal to the others where nothing is hidden.
    """

    text: str
    pair: str | None
    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    word_ids: tuple[int | None, ...]
    offsets: tuple[tuple[int, int], ...]
    segment_ids: tuple[int, ...]
    special_mask: tuple[bool, ...]
    mask_id: int
    typed_ids: tuple[int, ...]
    typed_pieces: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def mask_positions(self) -> tuple[int, ...]:
        """Positions of the mask token, typed or hidden."""
        return tuple(i for i, token in enumerate(self.ids) if token == self.mask_id)

    @property
    def n_words(self) -> int:
        """How many words, punctuation marks counted as words of their own."""
        return 1 + max((w for w in self.word_ids if w is not None), default=-1)

    def word_positions(self, word: int) -> tuple[int, ...]:
        """Positions of a word's pieces."""
        return tuple(i for i, w in enumerate(self.word_ids) if w == word)

    def word_text(self, word: int) -> str:
        """A word as it was typed."""
        if not (at := self.word_positions(word)):
            return ""  # a word that a vocabulary without an unknown token leaves out
        source = self.text if self.segment_ids[at[0]] == 0 or self.pair is None else self.pair
        return source[self.offsets[at[0]][0] : self.offsets[at[-1]][1]]

    def masked(self, words: Collection[int], mask_piece: str = "[MASK]") -> Encoding:
        """The text as typed, but with every piece of these words, and of no others, replaced by the mask token."""
        hide = [w is not None and w in words for w in self.word_ids]
        ids = tuple(self.mask_id if h else t for h, t in zip(hide, self.typed_ids, strict=True))
        pieces = tuple(mask_piece if h else p for h, p in zip(hide, self.typed_pieces, strict=True))
        return replace(self, ids=ids, pieces=pieces)

    def tensors(self) -> dict[str, Tensor]:
        """`input_ids`, `attention_mask` and `token_type_ids`, each (1, T), to call a model with."""
        return {
            "input_ids": torch.tensor([self.ids]),
            "attention_mask": torch.ones(1, len(self), dtype=torch.long),
            "token_type_ids": torch.tensor([self.segment_ids]),
        }


class Tokenizer:
    """A vocabulary with its rules for splitting text.

    Attributes:
        notes: what had to be guessed when it was read, a sentence each.
    """

    def __init__(
        self, backend: tokenizers.Tokenizer, roles: Mapping[str, str] = SPECIAL_TOKENS, notes: tuple[str, ...] = ()
    ) -> None:
        """Wrap a backend whose special tokens have these roles (unk_token, cls_token, …).

        Raises:
            TokenizerError: the vocabulary lacks a special token that a masked language model needs.
        """
        self._backend = backend
        self.notes = notes
        self._roles = {**SPECIAL_TOKENS, **roles}
        needed = ["cls_token", "sep_token", "mask_token"]
        if isinstance(backend.model, WordPiece):
            needed.append("unk_token")  # it cannot spell a new character otherwise
        absent = [self._roles[role] for role in needed if backend.token_to_id(self._roles[role]) is None]
        if absent:
            raise TokenizerError(
                f"The vocabulary has no {' and no '.join(absent)}: it does not belong to a masked language model."
            )
        if max(backend.get_vocab().values()) > _LARGEST_ID:
            raise TokenizerError(f"The vocabulary has an id above {_LARGEST_ID:,}; no vocabulary is that large.")
        backend.no_truncation()  # cutting could cut the mask away
        backend.no_padding()
        self._special = {p: i for p in self._roles.values() if (i := backend.token_to_id(p)) is not None}
        matched_first = {t.content for t in backend.get_added_tokens_decoder().values()}
        backend.add_special_tokens([piece for piece in self._special if piece not in matched_first])
        if backend.post_processor is None:
            backend.post_processor = _template(self.cls_token, self.cls_id, self.sep_token, self.sep_id)
        _try(backend)

    @property
    def cls_token(self) -> str:
        """The piece that opens a text, [CLS]."""
        return self._roles["cls_token"]

    @property
    def sep_token(self) -> str:
        """The piece that closes a text, [SEP]."""
        return self._roles["sep_token"]

    @property
    def mask_token(self) -> str:
        """The piece that hides a token, [MASK]."""
        return self._roles["mask_token"]

    @property
    def cls_id(self) -> int:
        """Id of the piece that opens a text."""
        return self._id_of("cls_token")

    @property
    def sep_id(self) -> int:
        """Id of the piece that closes a text."""
        return self._id_of("sep_token")

    @property
    def mask_id(self) -> int:
        """Id of the mask token."""
        return self._id_of("mask_token")

    @property
    def unk_id(self) -> int | None:
        """Id of the unknown token, where the vocabulary has one."""
        return self.id(self._roles["unk_token"])

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Ids that are not language: [PAD], [UNK], [CLS], [SEP], [MASK] and added special tokens."""
        return frozenset(i for i, t in self._backend.get_added_tokens_decoder().items() if t.special)

    @cached_property
    def pieces(self) -> tuple[str | None, ...]:
        """The vocabulary by id; None where no piece has that id."""
        vocabulary = self._backend.get_vocab()
        table: list[str | None] = [None] * (1 + max(vocabulary.values()))
        for piece, i in vocabulary.items():
            table[i] = piece
        return tuple(table)

    @cached_property
    def is_cased(self) -> bool:
        """Whether the vocabulary knows capital letters, special tokens aside."""
        return any(p is not None and p != p.lower() and i not in self.special_ids for i, p in enumerate(self.pieces))

    def __len__(self) -> int:
        """The number of ids: one more than the largest."""
        return len(self.pieces)

    def id(self, piece: str) -> int | None:
        """Id of a piece exactly as the vocabulary spells it, or None."""
        found: int | None = self._backend.token_to_id(piece)
        return found

    def piece(self, i: int) -> str:
        """Spelling of an id.

        Raises:
            TokenizerError: no piece has this id.
        """
        spelled = self.pieces[i] if 0 <= i < len(self) else None
        if spelled is None:
            raise TokenizerError(f"The vocabulary has no piece with id {i}; its ids go from 0 to {len(self) - 1}.")
        return spelled

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        """Split a text, or two, into tokens; special tokens typed in the text are matched first.

        Characters that cannot be written in UTF-8 (lone surrogates) become U+FFFD.

        Raises:
            TextError: the vocabulary can neither spell a character nor has an unknown token.
        """
        text = _encodable(text)
        pair = None if pair is None else _encodable(pair)
        try:
            found = self._backend.encode(text, pair)
        except BaseException as error:  # bare Exception for a character that no piece spells, a panic for the rest
            if not isinstance(error, Exception) and not is_panic(error):
                raise
            raise TextError(f"The tokenizer cannot encode this text: {str(error)[:300]}.") from error
        # The second text's words are counted on from the first's, so that a word id names one word.
        first = [w for w, s in zip(found.word_ids, found.sequence_ids, strict=True) if s == 0 and w is not None]
        shift = 1 + max(first, default=-1)
        words = [
            None if w is None else w + (shift if s == 1 else 0)
            for w, s in zip(found.word_ids, found.sequence_ids, strict=True)
        ]
        # By id, since an added token may have been matched in other letters or with the space before it.
        pieces = tuple(self.piece(i) for i in found.ids)
        return Encoding(
            text=text,
            pair=pair,
            ids=tuple(found.ids),
            pieces=pieces,
            word_ids=tuple(words),
            offsets=tuple(found.offsets),
            segment_ids=tuple(found.type_ids),
            special_mask=tuple(bool(m) for m in found.special_tokens_mask),
            mask_id=self.mask_id,
            typed_ids=tuple(found.ids),
            typed_pieces=pieces,
        )

    def ids_of(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of many texts at once, several times as quick as `encode`; no special tokens are added.

        Raises:
            TextError: the vocabulary can neither spell a character nor has an unknown token.
        """
        try:
            found = self._backend.encode_batch_fast([_encodable(text) for text in texts], add_special_tokens=False)
        except Exception as error:  # the package raises bare Exception, for a character that no piece spells
            raise TextError(f"The tokenizer cannot encode these texts: {error}.") from error
        return [encoding.ids for encoding in found]

    def with_mask_token(self, text: str) -> str:
        """The text with `[mask]`, `[ MASK ]`, `<mask>` and `___` written as the mask token.

        A text that already says it right comes back unchanged: compare to know whether there is anything to offer.
        """
        return _MEANT_AS_MASK.sub(lambda _: self.mask_token, text)

    def to_files(self) -> dict[str, str]:
        """Contents of tokenizer.json, tokenizer_config.json and, for WordPiece, vocab.txt."""
        config = {**self._roles, "tokenizer_class": "BertTokenizer"}
        normalizer = json.loads(self._backend.to_str()).get("normalizer") or {}
        if normalizer.get("type") == "BertNormalizer":
            config |= {
                "do_lower_case": normalizer["lowercase"],
                "strip_accents": normalizer["strip_accents"],
                "tokenize_chinese_chars": normalizer["handle_chinese_chars"],
            }
        files = {
            "tokenizer.json": self._backend.to_str(),
            "tokenizer_config.json": json.dumps(config, indent=2, ensure_ascii=False) + "\n",
        }
        if isinstance(self._backend.model, WordPiece):
            files["vocab.txt"] = "".join(f"{piece or ''}\n" for piece in self.pieces)
        return files

    def _id_of(self, role: str) -> int:
        return self._special[self._roles[role]]

    @classmethod
    def from_folder(cls, folder: str | Path) -> Tokenizer:
        """Read the tokenizer of a folder in the Hugging Face layout.

        Raises:
            TokenizerError: no tokenizer there, or one that cannot be read.
        """
        return cls.from_files(
            {name: path.read_bytes() for name in TOKENIZER_FILES if (path := Path(folder) / name).is_file()}
        )

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Tokenizer:
        """Read a tokenizer from the contents of its files, by name (see `TOKENIZER_FILES`).

        Raises:
            TokenizerError: neither tokenizer.json nor vocab.txt is there, or one of the files cannot be read.
        """
        try:
            parts = read_tokenizer(files)
            return cls(parts.backend, parts.roles, parts.notes)
        except TokenizerError:
            raise
        except (AttributeError, TypeError, ValueError) as error:  # a setting of a type that it cannot have
            raise TokenizerError(f"The settings of the tokenizer cannot be used: {error}.") from error


def _template(cls: str, cls_id: int, sep: str, sep_id: int) -> TemplateProcessing:
    return TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B:1 {sep}:1",
        special_tokens=[(cls, cls_id), (sep, sep_id)],
    )


def _try(backend: tokenizers.Tokenizer) -> None:
    """Encode once: a template that names no piece ends in a panic of the package, which is no Exception."""
    try:
        added = backend.encode("").ids + backend.encode("", "").ids
    except BaseException as error:
        if not is_panic(error):
            raise
        raise TokenizerError(f"The tokenizer cannot encode anything: {str(error)[:200]}.") from error
    if (unknown := next((i for i in added if backend.id_to_token(i) is None), None)) is not None:
        raise TokenizerError(
            f"The tokenizer's post_processor adds id {unknown} to every text, but the vocabulary has no such id: "
            "tokenizer.json was put together from two models."
        )


def _encodable(text: str) -> str:
    if not isinstance(text, str):
        raise TextError(f"a text must be a string, not {type(text).__name__}.")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


__all__ = ["TOKENIZER_FILES", "Encoding", "Tokenizer"]
