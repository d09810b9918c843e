"""Files of texts as people save them, good and bad; the contents are written here byte by byte, or by pyarrow."""

from __future__ import annotations

import io

import pyarrow
import pyarrow.parquet
import pytest

from bertviz_lite import texts
from bertviz_lite.errors import TextError
from bertviz_lite.texts import Line, read_texts


def parquet(**columns: list[object]) -> bytes:
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), out)
    return out.getvalue()


def read(name: str, content: bytes, column: str | None = None) -> list[str]:
    lines = read_texts(name, content).lines(column)
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))
    return [line.text for line in lines]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"One.\nTwo.\n", ["One.", "Two."]),
        (b"One.\r\nTwo.", ["One.", "Two."]),
        (b"One.\rTwo.", ["One.", "Two."]),
        (b"One.\n\n  \nTwo.\n", ["One.", "", "  ", "Two."]),
        (b"\n", [""]),
        ("\ufeffOne – æ\u2028two\x85.\n".encode(), ["One – æ\u2028two\x85."]),  # a mark, and no ends of lines
        ("Eins.\nZwei ü.\n".encode("utf-16"), ["Eins.", "Zwei ü."]),
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "A.TXT", "corpus"])
def test_txt(name: str, content: bytes, expected: list[str]) -> None:
    assert read(name, content) == expected


def test_csv_and_tsv_keep_what_looks_like_nothing() -> None:
    content = b'id,sentence\n1,"One, two."\n2,NA\n\n3,"A\nB"\n4,\n'
    assert read("a.csv", content) == ["One, two.", "NA", "", "A\nB", ""]
    assert read("a.csv", content, "id") == ["1", "2", "", "3", "4"]
    assert read("a.tsv", b"Text\tn\nOne, two.\t1\n") == ["One, two."]


def test_parquet_offers_its_columns_of_text() -> None:
    content = parquet(n=[1, 2, 3], good=["a", None, "c"], bad=["d", "e", ""])
    found = read_texts("a.parquet", content)
    assert list(found.columns) == ["good", "bad"]
    assert found.usual_column is None
    assert found.lines("good") == (Line(1, "a"), Line(2, ""), Line(3, "c"))
    assert read("a.parquet", parquet(x=["a"])) == ["a"], "an only column needs no name"


@pytest.mark.parametrize(
    ("name", "content", "column", "message"),
    [
        ("a.txt", b"", None, "a.txt is empty"),
        ("a.txt", b"fine\ncaf\xe9\n", None, r"not UTF-8 text \(line 2\)"),
        ("a.csv", b"", None, "a.csv cannot be read as a table"),
        ("a.csv", b"text\n", None, "a.csv is empty"),
        ("a.csv", b'text\n"open', None, "a.csv cannot be read as a table"),
        ("a.csv", b"a,b\n1,2\n", None, "Choose the column with the texts: a.csv has a, b"),
        ("a.csv", b"a,b\n1,2\n", "c", "no column of texts “c”: a.csv has a, b"),
        ("a.parquet", b"PAR1 is not enough", None, "a.parquet is not a Parquet file"),
        ("a.parquet", b"", None, "a.parquet is not a Parquet file"),
        ("a.parquet", parquet(n=[1, 2]), None, "no column of texts"),
        ("a.txt", b"a\n" * 100_001, None, "100,001 lines; at most 100,000"),
    ],
)
def test_what_cannot_be_read_is_told(name: str, content: bytes, column: str | None, message: str) -> None:
    with pytest.raises(TextError, match=message):
        read_texts(name, content).lines(column)


def test_as_many_lines_as_allowed() -> None:
    assert len(read_texts("a.txt", b"a\n" * 100_000).lines()) == 100_000


def test_a_file_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MOST_BYTES", 1 << 20)
    with pytest.raises(TextError, match="2 MB; at most 1 MB"):
        read_texts("a.txt", b"a" * (2 << 20))


@pytest.mark.parametrize("content", [b"text\nHello, my friend.\nYes, it is true.\n", b"id,text\n1,Hello, my friend.\n"])
def test_commas_that_are_not_quoted_shift_nothing_in_silence(content: bytes) -> None:
    with pytest.raises(TextError, match="double quotes"):
        read_texts("a.csv", content)


def test_a_line_of_commas_is_no_table() -> None:
    with pytest.raises(TextError, match="40,001 columns"):
        read_texts("a.csv", b"a" + b"," * 40_000)


def test_a_small_parquet_that_unpacks_to_much_is_refused_before() -> None:
    rows = pyarrow.array(["x" * 10_000_000]).dictionary_encode()
    many = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 50_000, pyarrow.int32()), rows.dictionary)
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"text": many}), out)
    with pytest.raises(TextError, match="unpacked"):
        read_texts("a.parquet", out.getvalue())


def test_parquet_rows_are_counted_before_they_are_read() -> None:
    with pytest.raises(TextError, match="100,001 lines"):
        read_texts("a.parquet", parquet(text=["a"] * 100_001))


def test_parquet_columns_of_other_kinds_stand_in_nobodys_way() -> None:
    out = io.BytesIO()
    odd = pyarrow.array([1, 2], pyarrow.time64("ns"))  # which pandas cannot hold
    pyarrow.parquet.write_table(pyarrow.table({"at": odd, "text": ["a", "b"]}), out)
    assert read("a.parquet", out.getvalue()) == ["a", "b"]


def test_parquet_text_that_is_no_utf8_is_told() -> None:
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"text": pyarrow.array([b"caf\xe9"]).view(pyarrow.string())}), out)
    with pytest.raises(TextError, match="not a Parquet file"):
        read_texts("a.parquet", out.getvalue())


def test_parquet_with_broken_notes_of_pandas_is_read() -> None:
    out = io.BytesIO()
    table = pyarrow.table({"text": ["a"]}).replace_schema_metadata({"pandas": "[]"})
    pyarrow.parquet.write_table(table, out)
    assert read("a.parquet", out.getvalue()) == ["a"]


def test_utf_32_is_told() -> None:
    with pytest.raises(TextError, match="UTF-32"):
        read_texts("a.txt", "One.\nTwo.\n".encode("utf-32-le"))
