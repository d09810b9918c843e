"""Files of texts: TXT (one a line), CSV, TSV or Parquet, read into numbered lines.

The pages and the shell read the same bytes in the same way, so a line has the same number in both.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import pandas as pd

from bertviz_lite.errors import TextError

MOST_LINES = 100_000
MOST_BYTES = 200 << 20
KINDS = (".txt", ".csv", ".tsv", ".parquet")

_MOST_COLUMNS = 1_000
_USUAL_COLUMNS = ("text", "sentence")  # taken without asking where a table has one


@dataclass(frozen=True)
class Line:
    """One text of a file.

    Attributes:
        number: counted from 1; of a table, rows below the header.
    """

    number: int
    text: str


@dataclass(frozen=True)
class Texts:
    """What a file holds.

    Attributes:
        name: of the file.
        columns: the texts by name of their column; a TXT has one, without a name.
    """

    name: str
    columns: Mapping[str, tuple[str, ...]]

    @property
    def usual_column(self) -> str | None:
        """The column meant where none is named: the only one, or one called text or sentence; else None."""
        if len(self.columns) == 1:
            return next(iter(self.columns))
        return next((name for name in self.columns if name.lower() in _USUAL_COLUMNS), None)

    def lines(self, column: str | None = None) -> tuple[Line, ...]:
        """The texts of a column.

        Raises:
            TextError: the file has no such column, or none was named and several could be meant.
        """
        column = self.usual_column if column is None else column
        if column is None or column not in self.columns:
            asked = "Choose the column with the texts" if column is None else f"There is no column of texts “{column}”"
            raise TextError(f"{asked}: {self.name} has {', '.join(self.columns) or 'none'}.")
        return tuple(Line(number, text) for number, text in enumerate(self.columns[column], start=1))


def read_texts(name: str, content: bytes) -> Texts:
    """Read a file by the ending of its name; one without an ending known here is read as TXT.

    Raises:
        TextError: the content is not of that kind, not UTF-8, empty or too large.
    """
    if len(content) > MOST_BYTES:
        raise TextError(
            f"{name} has {len(content) / 2**20:,.0f} MB; at most {MOST_BYTES >> 20} MB are read at once. Split it."
        )
    kind = PurePath(name).suffix.lower()
    if kind == ".parquet":
        columns = _parquet(name, content)
    elif kind in (".csv", ".tsv"):
        columns = _table(name, _decoded(name, content), "," if kind == ".csv" else "\t")
    else:
        columns = {"": _plain(_decoded(name, content))}
    n = max(map(len, columns.values()))
    if n == 0:
        raise TextError(f"{name} is empty: write one sentence a line.")
    if n > MOST_LINES:
        raise _too_many(name, n)
    return Texts(name, columns)


def _decoded(name: str, content: bytes) -> str:
    by_windows = content[:2] in (b"\xff\xfe", b"\xfe\xff")  # what its editor calls Unicode
    encoding = "utf-16" if by_windows else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TextError(f"{name} is not UTF-8 text (line {line:,}): save it as UTF-8.") from error
    if "\0" in text:
        raise TextError(f"{name} holds NUL characters: it is UTF-32 or no text. Save it as UTF-8.")
    return text


def _plain(text: str) -> tuple[str, ...]:
    # Not splitlines(): it also splits at characters that an editor does not count as the end of a line.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return tuple(lines[:-1] if lines[-1] == "" else lines)


def _table(name: str, text: str, separator: str) -> dict[str, tuple[str, ...]]:
    n = text.split("\n", 1)[0].count(separator) + 1
    if n > _MOST_COLUMNS:
        raise TextError(f"{name} has {n:,} columns; at most {_MOST_COLUMNS:,} are read.")
    try:
        table = pd.read_csv(io.StringIO(text), sep=separator, dtype=str, keep_default_na=False, skip_blank_lines=False)
    except (ValueError, pd.errors.ParserError) as error:  # EmptyDataError is a ValueError
        told = str(error).strip().rstrip(".").removeprefix("Error tokenizing data. C error: ")
        raise TextError(
            f"{name} cannot be read as a table: {told}. A text that holds “{separator}” must stand in double quotes."
        ) from error
    if not isinstance(table.index, pd.RangeIndex):  # pandas takes what is too much for an index, and shifts the rest
        raise TextError(
            f"{name} has rows with more fields than its first line has names: a text that holds “{separator}” must "
            "stand in double quotes."
        )
    return {str(column): tuple("" if pd.isna(v) else v for v in table[column].tolist()) for column in table.columns}


def _parquet(name: str, content: bytes) -> dict[str, tuple[str, ...]]:
    """The columns of strings, and no others: what they weigh unpacked is looked at before they are unpacked."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and few files are of this kind
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        file = pq.ParquetFile(io.BytesIO(content))
        texts = [field.name for field in file.schema_arrow if _is_text(field.type)]
        if (n := file.metadata.num_rows) > MOST_LINES:
            raise _too_many(name, n)
        table = pq.ParquetFile(io.BytesIO(content), read_dictionary=texts).read(columns=texts, use_threads=False)
        found: dict[str, tuple[str, ...]] = {}
        for column, values in zip(table.column_names, table.columns, strict=True):
            chunks = [c if isinstance(c, pa.DictionaryArray) else c.dictionary_encode() for c in values.chunks]
            if sum(_n_bytes(chunk) for chunk in chunks) > MOST_BYTES:
                raise TextError(f"{name}: “{column}” has more than {MOST_BYTES >> 20} MB of text unpacked. Split it.")
            found[column] = tuple(text or "" for chunk in chunks for text in chunk.to_pylist())
    except (pa.ArrowException, ValueError, OSError, KeyError, TypeError) as error:
        if isinstance(error, TextError):
            raise
        raise TextError(f"{name} is not a Parquet file: {str(error).splitlines()[0].rstrip('.')}.") from error
    if not found:
        raise TextError(f"{name} has no column of texts.")
    return found


def _is_text(kind: Any) -> bool:  # noqa: ANN401 - pyarrow has no types
    from pyarrow import types  # noqa: PLC0415

    of = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(of) or types.is_large_string(of))


def _n_bytes(chunk: Any) -> int:  # noqa: ANN401
    import pyarrow.compute as pc  # noqa: PLC0415

    total: int | None = pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py()
    return total or 0


def _too_many(name: str, n: int) -> TextError:
    return TextError(f"{name} has {n:,} lines; at most {MOST_LINES:,} are read at once. Split it.")


__all__ = ["KINDS", "MOST_BYTES", "MOST_LINES", "Line", "Texts", "read_texts"]
