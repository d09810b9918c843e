"""Reading text: sentences, endings, mistakes; and the vocabulary that is learnt."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest
import transformers
from small_texts import text

from bertviz_lite.errors import TrainingError
from bertviz_lite.training.corpus import Source, find_sources, learn_tokenizer


def sentences(path: Path) -> list[str]:
    return [s for block in Source("x", path).blocks() for s in block]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ('He said "Go." Then he went.', ['He said "Go."', "Then he went."]),
        (
            "Mr. Fox met Dr. J. B. Watson in St. Ives. They ate.",
            ["Mr. Fox met Dr. J. B. Watson in St. Ives.", "They ate."],
        ),
        ("It costs 3.50 dollars.", ["It costs 3.50 dollars."]),
        ("", []),
    ],
)
def test_sentences_of_a_line(tmp_path: Path, line: str, expected: list[str]) -> None:
    (tmp_path / "a.txt").write_text(line, encoding="utf-8")
    assert sentences(tmp_path / "a.txt") == expected


def test_a_blank_line_or_ten_lines_end_a_block(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\nb\n\n\nc\n" + "d\n" * 12, encoding="utf-8")
    assert [len(block) for block in Source("a", tmp_path / "a.txt").blocks()] == [2, 10, 3]


def test_plain_and_packed_files_read_alike(tmp_path: Path) -> None:
    content = "\ufeffÄ first line.\r\nA second line.\n".encode()
    (tmp_path / "plain.txt").write_bytes(content)
    (tmp_path / "small.txt.gz").write_bytes(gzip.compress(content))
    (tmp_path / "smaller.txt.xz").write_bytes(lzma.compress(content))
    for path in tmp_path.iterdir():
        assert sentences(path) == ["Ä first line.", "A second line."]


def test_a_file_without_line_breaks_streams(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("word " * 50_000, encoding="utf-8")
    found = sentences(tmp_path / "a.txt")
    assert max(map(len, found)) <= 100_000
    assert " ".join(found).split() == ["word"] * 50_000


def test_a_folder_stands_for_the_text_below_it(tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()
    for name in ("b.txt", "deeper/a.txt.gz", "deeper/c.txt.xz", "README.md", "d.txt.orig"):
        (tmp_path / name).touch()
    assert [source.name for source in find_sources([tmp_path])] == ["b", "a", "c"]


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"text\0text")
    (tmp_path / "b.txt.xz").write_bytes(b"no archive")
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b"words " * 1000)[:-20])
    (tmp_path / "empty").mkdir()
    (tmp_path / "twin").mkdir()
    (tmp_path / "twin" / "a.txt").touch()
    for name, told in (("a.txt", "no text file"), ("b.txt.xz", "cannot be read"), ("c.txt.gz", "cannot be read")):
        with pytest.raises(TrainingError, match=told):
            sentences(tmp_path / name)
    with pytest.raises(TrainingError, match="holds no text"):
        find_sources([tmp_path / "empty"])
    with pytest.raises(TrainingError, match="There is no file or folder"):
        find_sources([tmp_path / "nowhere.txt"])
    with pytest.raises(TrainingError, match="have one name"):
        find_sources([tmp_path / "a.txt", tmp_path / "twin"])
    with pytest.raises(TrainingError, match="given twice"):
        find_sources([tmp_path / "a.txt", tmp_path / "twin" / ".." / "a.txt"])
    with pytest.raises(TrainingError, match="no text to train on"):
        find_sources([])


def test_a_vocabulary_is_wordpiece_as_transformers_reads_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text(300), encoding="utf-8")
    tokenizer = learn_tokenizer(find_sources([tmp_path]), 120)
    assert tokenizer.pieces[:5] == ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    assert tokenizer.special_ids == set(range(5))
    assert len(tokenizer) == 120
    assert "the" in tokenizer.pieces
    for name, content in tokenizer.to_files().items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for sentence in ("The cat remembers every morning.", "Unseen: x-ray, Ünïcode 文!"):
        assert list(tokenizer.encode(sentence).ids) == theirs(sentence)["input_ids"]


def test_the_same_text_gives_the_same_vocabulary(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text(300), encoding="utf-8")
    found = [learn_tokenizer(find_sources([tmp_path]), 120).pieces for _ in range(5)]
    assert len(set(found)) == 1


def test_capitals_are_kept_where_asked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text(300), encoding="utf-8")
    assert "The" in learn_tokenizer(find_sources([tmp_path]), 120, lower_case=False).pieces


def test_no_words_no_vocabulary(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("  \n\n \n", encoding="utf-8")
    with pytest.raises(TrainingError, match="no words"):
        learn_tokenizer(find_sources([tmp_path]), 120)
