"""Ids, pieces, offsets and segments are compared with transformers' BertTokenizer; the rest is worked out by hand."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
from pieces import CASED, NASTY, UNCASED, assert_same, from_vocab, lines_of, reference, vocab_file, with_files
from transformers import BertTokenizer

from bertviz_lite import Tokenizer
from bertviz_lite.errors import TextError, TokenizerError

TEXTS = pytest.mark.parametrize("text", NASTY, ids=[f"text-{i}" for i in range(len(NASTY))])


@pytest.fixture(scope="module")
def bundled(bundled_folder: Path) -> Tokenizer:
    return Tokenizer.from_folder(bundled_folder)


@pytest.fixture(scope="module")
def vocabulary(bundled_folder: Path) -> list[str]:
    return lines_of(bundled_folder)


@pytest.fixture(scope="module")
def cased_vocabulary(vocabulary: list[str]) -> list[str]:
    """The bundled pieces and capital letters, alone and inside a word."""
    return vocabulary + [f"{mark}{letter}" for mark in ("", "##") for letter in string.ascii_uppercase + "ÅÉŒİ"]


@pytest.fixture(scope="module")
def hugging_face(bundled_folder: Path) -> BertTokenizer:
    return BertTokenizer.from_pretrained(bundled_folder)


@pytest.fixture(scope="module")
def from_text_files(bundled_folder: Path) -> Tokenizer:
    names = ("vocab.txt", "tokenizer_config.json")
    return Tokenizer.from_files({name: (bundled_folder / name).read_bytes() for name in names})


@TEXTS
def test_bundled_tokenizer_splits_as_transformers_does(
    text: str, bundled: Tokenizer, from_text_files: Tokenizer, hugging_face: BertTokenizer
) -> None:
    assert_same(bundled.encode(text), hugging_face, text)
    assert from_text_files.encode(text) == bundled.encode(text)


@TEXTS
def test_pairs_split_as_in_transformers(text: str, bundled: Tokenizer, hugging_face: BertTokenizer) -> None:
    for first, second in ((text, "the cat."), ("the cat.", text), (text, text), (text, "")):
        assert_same(bundled.encode(first, second), hugging_face, first, second)


@pytest.fixture(scope="module", params=[None, True, False], ids=["follow", "strip", "keep"])
def cased_pair(request: pytest.FixtureRequest, cased_vocabulary: list[str]) -> tuple[Tokenizer, BertTokenizer]:
    """Ours and transformers', cased, with each setting of strip_accents."""
    switches = {"do_lower_case": False, "strip_accents": request.param}
    return from_vocab(cased_vocabulary, switches), reference(cased_vocabulary, **switches)


@TEXTS
def test_cased_splits_as_transformers_does(text: str, cased_pair: tuple[Tokenizer, BertTokenizer]) -> None:
    mine, theirs = cased_pair
    assert_same(mine.encode(text), theirs, text)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("strip", [True, False, None])
@pytest.mark.parametrize("chinese", [True, False])
def test_every_switch_means_what_it_means_in_transformers(lower: bool, strip: bool | None, chinese: bool) -> None:
    switches = {"do_lower_case": lower, "strip_accents": strip, "tokenize_chinese_chars": chinese}
    for pieces in (UNCASED, CASED):
        mine, theirs = from_vocab(pieces, switches), reference(pieces, **switches)
        for text in ("The cats! Café CAFÉ É a中文b.", *NASTY):
            assert_same(mine.encode(text), theirs, text)


def test_accents_by_hand() -> None:
    """strip_accents is a switch of its own; None follows lower-casing (facts/bert.md)."""
    vocabulary = [*UNCASED, "Café"]
    for config, expected in [
        ({"do_lower_case": True}, "cafe"),
        ({"do_lower_case": True, "strip_accents": False}, "café"),
        ({"do_lower_case": False}, "Café"),
        ({"do_lower_case": False, "strip_accents": True}, "[UNK]"),  # Cafe is no piece
    ]:
        assert from_vocab(vocabulary, config).encode("Café").pieces[1:-1] == (expected,)


def test_the_worked_example(bundled: Tokenizer) -> None:
    """bert-base-uncased: 101 [CLS], 7592 hello, 103 [MASK], 102 [SEP]."""
    assert bundled.encode("Hello [MASK]").ids == (101, 7592, 103, 102)
    assert len(bundled) == 30522
    assert (bundled.cls_id, bundled.sep_id, bundled.mask_id, bundled.unk_id) == (101, 102, 103, 100)
    assert (bundled.cls_token, bundled.sep_token, bundled.mask_token) == ("[CLS]", "[SEP]", "[MASK]")
    assert bundled.special_ids == {0, 100, 101, 102, 103}
    assert bundled.notes == ()


def test_ids_and_pieces_are_each_other_inverse(bundled: Tokenizer, vocabulary: list[str]) -> None:
    assert bundled.pieces == tuple(vocabulary)
    for i in (0, 103, 7592, 30521):
        assert bundled.piece(i) == vocabulary[i]
        assert bundled.id(vocabulary[i]) == i
    assert bundled.id("no such piece") is None


@pytest.mark.parametrize("i", [-1, 30522, 10**9])
def test_an_id_without_a_piece_is_told(bundled: Tokenizer, i: int) -> None:
    with pytest.raises(TokenizerError, match=f"no piece with id {i}; .* 0 to 30521"):
        bundled.piece(i)


def test_special_tokens_are_matched_before_lower_casing() -> None:
    tokenizer = from_vocab(UNCASED, {"do_lower_case": True})
    assert tokenizer.encode("The[MASK]CAT [SEP].").pieces == (
        *("[CLS]", "the", "[MASK]", "cat", "[SEP]", ".", "[SEP]"),
    )
    assert "[MASK]" not in tokenizer.encode("[mask]").pieces


def test_a_word_of_100_characters_is_the_longest() -> None:
    tokenizer = from_vocab(["[UNK]", "[CLS]", "[SEP]", "[MASK]", "x", "##x"])
    assert tokenizer.encode("x" * 100).ids == (1, 4, *[5] * 99, 2)
    assert tokenizer.encode("x" * 101).ids == (1, 0, 2)


def test_nothing_is_cut_off(bundled: Tokenizer, bundled_folder: Path, tmp_path: Path) -> None:
    assert len(bundled.encode("a " * 5000)) == 5002
    theirs = BertTokenizer.from_pretrained(bundled_folder)
    theirs.backend_tokenizer.enable_truncation(8)
    theirs.backend_tokenizer.enable_padding(length=16)
    with_files(tmp_path, {"tokenizer.json": theirs.backend_tokenizer.to_str()})
    assert len(Tokenizer.from_folder(tmp_path).encode("a " * 20)) == 22
    assert len(Tokenizer.from_folder(tmp_path).encode("a")) == 3


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("the [mask] sat", "the [MASK] sat"),
        ("the [ MASK ] sat", "the [MASK] sat"),
        ("the [ mask] sat", "the [MASK] sat"),
        ("the [Mask\t] sat", "the [MASK] sat"),
        ("the <mask> sat", "the [MASK] sat"),
        ("the < Mask > sat", "the [MASK] sat"),
        ("the ___ sat", "the [MASK] sat"),
        ("the __ sat on the ______.", "the [MASK] sat on the [MASK]."),
        ("<mask>[mask]", "[MASK][MASK]"),
        ("the [MASK] sat", "the [MASK] sat"),
        ("snake_case, mask, (mask), [masks], [unmask], _", "snake_case, mask, (mask), [masks], [unmask], _"),
        ("", ""),
    ],
)
def test_what_is_meant_as_a_mask_is_offered_as_one(bundled: Tokenizer, typed: str, offered: str) -> None:
    assert bundled.with_mask_token(typed) == offered
    assert bundled.with_mask_token(offered) == offered


def test_another_mask_token_is_offered_where_the_vocabulary_has_one() -> None:
    vocabulary = ["[UNK]", "[CLS]", "[SEP]", r"<\1mask>", "a"]
    tokenizer = from_vocab(vocabulary, {"mask_token": r"<\1mask>"})
    assert tokenizer.with_mask_token("a [MASK] ___") == r"a <\1mask> <\1mask>"
    assert tokenizer.encode(r"a <\1mask>").ids == (1, 4, 3, 2)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("\ud800", "\ufffd"),
        ("a\udc00b", "a\ufffdb"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("a\ud83d", "a\ufffd"),
        ("\ufeffa", "\ufeffa"),
    ],
)
def test_lone_surrogates_become_the_replacement_character(bundled: Tokenizer, typed: str, read: str) -> None:
    assert bundled.encode(typed).text == read
    assert bundled.encode("a", typed).pair == read
    assert bundled.encode(typed) == bundled.encode(read)


@pytest.mark.parametrize("wrong", [None, 3, b"bytes", ["a"]])
def test_anything_but_text_is_refused(bundled: Tokenizer, wrong: object) -> None:
    with pytest.raises(TextError, match=type(wrong).__name__):
        bundled.encode(wrong)  # type: ignore[arg-type]
    if wrong is not None:
        with pytest.raises(TextError, match=type(wrong).__name__):
            bundled.encode("a", wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("piece", ["[UNK]", "[CLS]", "[SEP]", "[MASK]"])
def test_a_vocabulary_without_a_special_token_is_refused(piece: str) -> None:
    with pytest.raises(TokenizerError) as caught:
        from_vocab([p for p in UNCASED if p != piece])
    assert piece in str(caught.value)


def test_all_absent_special_tokens_are_named() -> None:
    with pytest.raises(TokenizerError, match=r"\[CLS\] and no \[SEP\] and no \[MASK\]"):
        Tokenizer.from_files({"vocab.txt": vocab_file(["[UNK]", "a", "b"])})


def test_many_texts_at_once_have_the_ids_of_each_alone(bundled: Tokenizer) -> None:
    assert bundled.ids_of(NASTY) == [list(bundled.encode(text).ids[1:-1]) for text in NASTY]
    assert bundled.ids_of([]) == []
    assert bundled.ids_of(["a\ud800b"]) == bundled.ids_of(["a\ufffdb"])
