"""Text on disk: which files there are, their sentences one by one, and a vocabulary learnt from them.

Everything streams, so that a corpus may be larger than memory.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import tokenizers
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.trainers import WordPieceTrainer

from bertviz_lite._tokenizer_files import SPECIAL_TOKENS
from bertviz_lite.errors import TrainingError
from bertviz_lite.tokenizer import Tokenizer

_ENDINGS = (".txt", ".txt.gz", ".txt.xz")
_LONGEST_LINE = 100_000  # bytes; a longer one is cut, so that a file without line breaks still streams
_BLOCK_LINES = 10
_LETTERS = 8  # at most one letter for so many pieces of the vocabulary
# White space after . ! ? and perhaps a closing quote, but not after the likes of "Mr." and "J."
_SENTENCE_BREAK = re.compile(
    r"""(?:(?<=[.!?])|(?<=[.!?]["')\]]))(?<!\b[A-Z]\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bDr\.)(?<!\bSt\.)\s+"""
)
# In the order of Google's vocabularies, so that padding is id 0.
_SPECIAL = [SPECIAL_TOKENS[f"{role}_token"] for role in ("pad", "unk", "cls", "sep", "mask")]


def _opened(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]  # a GzipFile reads like any file
    return lzma.open(path) if path.suffix == ".xz" else path.open("rb")


@dataclass(frozen=True)
class Source:
    """One text file of a corpus; its name is the file's without endings."""

    name: str
    path: Path

    def digest(self) -> str:
        """SHA-256 of the file as it lies on disk, in hexadecimal."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def blocks(self) -> Iterator[list[str]]:
        """Neighbouring sentences: a document, but at most ten lines of it. A blank line ends a document.

        Raises:
            TrainingError: the file cannot be read, or is no text.
        """
        block: list[str] = []
        n_lines = 0
        for line in self._lines():
            if line:
                block += _SENTENCE_BREAK.split(line)
                n_lines += 1
            if block and (not line or n_lines >= _BLOCK_LINES):
                yield block
                block, n_lines = [], 0
        if block:
            yield block

    def _lines(self) -> Iterator[str]:
        try:
            with _opened(self.path) as file:
                while raw := file.readline(_LONGEST_LINE):
                    if b"\0" in raw:
                        raise TrainingError(f"{self.path} is no text file: it holds zero bytes. Give plain UTF-8 text.")
                    yield raw.decode("utf-8", "replace").removeprefix("\ufeff").strip()
        except (OSError, EOFError, lzma.LZMAError) as error:
            raise TrainingError(f"{self.path} cannot be read ({error}).") from error


def find_sources(corpus: Sequence[str | Path]) -> tuple[Source, ...]:
    """The text files that a corpus consists of; a folder stands for every .txt, .txt.gz and .txt.xz below it.

    Raises:
        TrainingError: a path does not exist, a folder holds no text, or two files have one name.
    """
    sources: dict[str, Source] = {}
    for path in map(Path, corpus):
        files = sorted(p for p in path.rglob("*.txt*") if p.name.endswith(_ENDINGS)) if path.is_dir() else [path]
        if not files:
            raise TrainingError(f"The folder {path} holds no text: no file ends in {', '.join(_ENDINGS)}.")
        for file in files:
            if not file.is_file():
                raise TrainingError(f"There is no file or folder {file}.")
            name = re.sub(r"(\.txt)?(\.gz|\.xz)?$", "", file.name) or file.name
            if name in sources and sources[name].path.resolve() == file.resolve():
                raise TrainingError(f"{file} is given twice; leave one out, or read it more often with a weight.")
            if name in sources:
                raise TrainingError(f"{sources[name].path} and {file} have one name; rename one of them.")
            sources[name] = Source(name, file)
    if not sources:
        raise TrainingError("There is no text to train on: give a text file or a folder.")
    return tuple(sources.values())


def learn_tokenizer(sources: Sequence[Source], vocab_size: int, *, lower_case: bool = True) -> Tokenizer:
    """A WordPiece vocabulary of at most this size, learnt from the text; the special tokens have ids 0 to 4.

    The same text gives the same vocabulary.

    Raises:
        TrainingError: a file cannot be read, or the text holds no words.
    """
    normalizer = BertNormalizer(lowercase=lower_case)
    letters: Counter[str] = Counter()
    for text in _texts(sources):
        letters.update(normalizer.normalize_str(text))
    known = sorted((c for c in letters if not c.isspace()), key=lambda c: (-letters[c], c))[: vocab_size // _LETTERS]
    if letters.keys() - set(" \t\n") and vocab_size < _LETTERS:
        raise TrainingError(f"vocab_size = {vocab_size}: it has no room for a letter; give some hundred at least.")
    if not known:
        raise TrainingError("The text holds no words, so there is nothing to learn.")
    backend = _backend({}, normalizer)
    # The trainer numbers letters inside words in an order of chance, and ties follow the numbers: named as special
    # tokens, they have theirs beforehand. They are not special in the tokenizer that is built from its vocabulary.
    trainer = WordPieceTrainer(
        vocab_size=vocab_size,
        special_tokens=[*_SPECIAL, *known, *(f"##{letter}" for letter in known)],
        initial_alphabet=known,
        limit_alphabet=len(known),
        show_progress=False,
    )
    backend.train_from_iterator(_texts(sources), trainer)
    return Tokenizer(_backend(backend.get_vocab(), normalizer))


def _texts(sources: Sequence[Source]) -> Iterator[str]:
    return (" ".join(block) for source in sources for block in source.blocks())


def _backend(vocabulary: dict[str, int], normalizer: BertNormalizer) -> tokenizers.Tokenizer:
    model = WordPiece(vocabulary, unk_token=SPECIAL_TOKENS["unk_token"], max_input_chars_per_word=100)
    backend = tokenizers.Tokenizer(model)
    backend.normalizer = normalizer
    backend.pre_tokenizer = BertPreTokenizer()
    return backend


__all__ = ["Source", "find_sources", "learn_tokenizer"]
