"""The text to train on: the one that ships or the visitor's own files, and how it is laid out for training."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import count
from pathlib import Path

import streamlit as st

from bertviz_lite.bundled import TRAINING_TEXTS
from bertviz_lite.checkpoints import file_name
from bertviz_lite.errors import TextError, TrainingError
from bertviz_lite.texts import Texts, read_texts
from bertviz_lite.ui import own_file, state

MOST_BYTES = 20 << 20  # of a text; minutes go by before the first step on a larger one
_FEWEST_WORDS = 300
_LONGEST_LINE = 1_000  # characters; a longer line is broken, so that a part of it can be held out
_PREVIEW = 300_000  # characters
_LINE = re.compile(rf".{{1,{_LONGEST_LINE}}}(?:(?<=[.!?])\s+|$)|.{{1,{_LONGEST_LINE}}}(?:\s+|$)|.{{1,{_LONGEST_LINE}}}")


@dataclass(frozen=True)
class Text:
    """What is trained on.

    Attributes:
        name: of the text, for people.
        about: where it comes from, and who may use it.
        parts: name and content of its files: a paragraph a line, a blank line between documents.
        probes, sentence_share: as in `bundled.TrainingText`; no probes where the run is to choose some.
    """

    name: str
    about: str
    parts: tuple[tuple[str, str], ...]
    probes: tuple[str, ...] = ()
    sentence_share: float = 0.4

    @cached_property
    def n_words(self) -> int:
        """Words between white space."""
        return sum(len(content.split()) for _, content in self.parts)

    @cached_property
    def digest(self) -> str:
        """Tells texts apart."""
        return hashlib.sha256("\0".join(content for _, content in self.parts).encode()).hexdigest()

    @property
    def held_out_every(self) -> int:
        """Of a short text more is held out, so that some thousand tokens can judge the model."""
        return 12 if sum(len(content) for _, content in self.parts) < 2_000_000 else 100

    def beginning(self) -> Text:
        """As much of it as a first look needs."""
        return replace(
            self, parts=tuple((name, content[: _PREVIEW // len(self.parts)]) for name, content in self.parts)
        )

    def write(self, folder: Path) -> tuple[str, ...]:
        """Write its files into a folder; returns their paths, as a recipe names them.

        Raises:
            TrainingError: they cannot be written.
        """
        paths = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, content in self.parts:
                path = folder / f"{name}.txt"
                path.write_text(content, encoding="utf-8", errors="replace")
                paths.append(str(path))
        except OSError as error:
            raise TrainingError(
                f"The text cannot be kept on the server ({error.strerror}); try again later."
            ) from error
        return tuple(paths)


@lru_cache
def sample(key: str) -> Text:
    """A text that ships."""
    shipped = TRAINING_TEXTS[key]
    return Text(shipped.name, shipped.about, ((key, shipped.read()),), shipped.probes, shipped.sentence_share)


def from_files(files: list[tuple[str, bytes]]) -> Text:
    """A text from uploaded files; of a table, the column called text or sentence, or the only one.

    Raises:
        TextError: a file cannot be read, or there is too little text or too much.
    """
    if sum(len(content) for _, content in files) > MOST_BYTES:
        raise TextError(
            f"At most {MOST_BYTES >> 20} MB of text are trained on here; train on more in the shell: "
            "`python -m bertviz_lite pretrain`."
        )
    parts: dict[str, str] = {}
    for name, content in files:
        stem = file_name(name.rsplit(".", 1)[0])
        taken = {part.lower() for part in parts}
        parts[next(one for one in _numbered(stem) if one.lower() not in taken)] = _laid_out(read_texts(name, content))
    name = files[0][0] if len(files) == 1 else f"{files[0][0]} and {len(files) - 1} more"
    text = Text(name, "Your own text; it goes with the run.", tuple(parts.items()))
    if (n := text.n_words) < _FEWEST_WORDS:
        raise TextError(
            f"{name} has {n:,} words: too few to learn from. Give {_FEWEST_WORDS} at least; patterns begin to show "
            "from some ten thousand."
        )
    return text


def _numbered(stem: str) -> Iterator[str]:
    """The name, then the name with numbers: files of one name are told apart."""
    yield stem
    for n in count(2):
        yield f"{stem}-{n}"


def _laid_out(texts: Texts) -> str:
    """One paragraph a line, long lines broken at the ends of sentences; the lines of a table are paragraphs too."""
    lines = []
    for line in texts.lines():
        flat = " ".join(line.text.split())
        lines += [piece.strip() for piece in _LINE.findall(flat)] if len(flat) > _LONGEST_LINE else [flat]
    return "\n".join(lines) + "\n"


def pick() -> Text:
    """Draw the choice of the texts that ship, or the button that closes the visitor's own; return what is chosen."""
    own: Text | None = st.session_state.get("training_text")
    if own is not None:
        own_file.close_button("training_text", own.name)
        return own
    st.selectbox("Text", list(TRAINING_TEXTS), format_func=lambda k: TRAINING_TEXTS[k].name, **state.keyed("sample"))
    return sample(state.get("sample"))


def box() -> None:
    """Draw the box for the visitor's own files; what they hold is kept for this visit."""
    given = st.file_uploader(
        "Your own text: TXT, CSV, TSV or Parquet",
        accept_multiple_files=True,
        key=own_file.box_key("training_text"),
        help="A paragraph a line, a blank line between documents. Of a table, the column called text or sentence.",
        max_upload_size=MOST_BYTES >> 20,
    )
    own_file.keep("training_text", given, lambda: from_files([(file.name, file.getvalue()) for file in given]))


__all__ = ["MOST_BYTES", "Text", "box", "from_files", "pick", "sample"]
