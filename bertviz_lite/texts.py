"""Files of texts: TXT (one a line), CSV, TSV or Parquet, read into numbered lines.

The pages and the shell read the same bytes in the same way, so a line has the same number in both.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

import pandas as pd

from bertviz_lite.errors import TextError

MOST_LINES = 100_000
MOST_BYTES = 200 << 20
KINDS = (".txt", ".csv", ".tsv", ".parquet")

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
        columns = _columns(name, _parquet(name, content))
    elif kind in (".csv", ".tsv"):
        columns = _columns(name, _table(name, _decoded(name, content), "," if kind == ".csv" else "\t"))
    else:
        columns = {"": _plain(_decoded(name, content))}
    n = max(map(len, columns.values()))
    if n == 0:
        raise TextError(f"{name} is empty: write one sentence a line.")
    if n > MOST_LINES:
        raise TextError(f"{name} has {n:,} lines; at most {MOST_LINES:,} are scored at once. Split it.")
    return Texts(name, columns)


def _decoded(name: str, content: bytes) -> str:
    by_windows = content[:2] in (b"\xff\xfe", b"\xfe\xff")  # what its editor calls Unicode
    encoding = "utf-16" if by_windows else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TextError(f"{name} is not UTF-8 text (line {line:,}): save it as UTF-8.") from error


def _plain(text: str) -> tuple[str, ...]:
    # Not splitlines(): it also splits at characters that an editor does not count as the end of a line.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return tuple(lines[:-1] if lines[-1] == "" else lines)


def _table(name: str, text: str, separator: str) -> pd.DataFrame:
    try:
        return pd.read_csv(io.StringIO(text), sep=separator, dtype=str, keep_default_na=False, skip_blank_lines=False)
    except (ValueError, pd.errors.ParserError) as error:  # EmptyDataError is a ValueError
        raise TextError(f"{name} cannot be read as a table: {str(error).strip().rstrip('.')}.") from error


def _parquet(name: str, content: bytes) -> pd.DataFrame:
    try:
        return pd.read_parquet(io.BytesIO(content))
    except (ValueError, OSError) as error:  # pyarrow's own errors are kinds of these
        raise TextError(f"{name} is not a Parquet file: {str(error).splitlines()[0].rstrip('.')}.") from error


def _columns(name: str, table: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """The columns that hold text; an empty cell is an empty text."""
    found: dict[str, tuple[str, ...]] = {}
    for column in table.columns:
        values = table[column].tolist()
        missing = table[column].isna().tolist()
        if all(isinstance(value, str) or empty for value, empty in zip(values, missing, strict=True)):
            found[str(column)] = tuple("" if empty else value for value, empty in zip(values, missing, strict=True))
    if not found:
        raise TextError(f"{name} has no column of texts.")
    return found


__all__ = ["KINDS", "MOST_BYTES", "MOST_LINES", "Line", "Texts", "read_texts"]
