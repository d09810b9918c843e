"""An `Encoding` on a vocabulary of eighteen pieces, worked out by hand; then its promises for arbitrary text."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pieces import CASED, NASTY, SPECIAL, UNCASED, from_vocab

from bertviz_lite import Encoding, Tokenizer

SMALL = from_vocab(UNCASED, {"do_lower_case": True})
KEEPING = from_vocab(CASED, {"do_lower_case": False, "strip_accents": False})


@pytest.fixture(scope="module")
def bundled(bundled_folder: Path) -> Tokenizer:
    return Tokenizer.from_folder(bundled_folder)


def test_one_text_by_hand() -> None:
    encoding = SMALL.encode("The cats [MASK].")
    assert encoding.text == "The cats [MASK]."
    assert encoding.pair is None
    assert encoding.ids == (2, 5, 6, 8, 4, 14, 3)
    assert encoding.pieces == ("[CLS]", "the", "cat", "##s", "[MASK]", ".", "[SEP]")
    assert encoding.word_ids == (None, 0, 1, 1, 2, 3, None)
    assert encoding.offsets == ((0, 0), (0, 3), (4, 7), (7, 8), (9, 15), (15, 16), (0, 0))
    assert encoding.segment_ids == (0,) * 7
    assert encoding.special_mask == (True, False, False, False, False, False, True)
    assert encoding.mask_id == 4
    assert encoding.typed_ids == encoding.ids
    assert encoding.typed_pieces == encoding.pieces
    assert encoding.mask_positions == (4,)
    assert encoding.n_words == 4
    assert encoding.word_positions(1) == (2, 3)
    assert len(encoding) == 7


def test_a_pair_by_hand() -> None:
    encoding = SMALL.encode("The cats", "A cat sat!")
    assert encoding.pieces == ("[CLS]", "the", "cat", "##s", "[SEP]", "a", "cat", "sat", "!", "[SEP]")
    assert encoding.word_ids == (None, 0, 1, 1, None, 2, 3, 4, 5, None)
    assert encoding.segment_ids == (0, 0, 0, 0, 0, 1, 1, 1, 1, 1)
    assert encoding.offsets[5:9] == ((0, 1), (2, 5), (6, 9), (9, 10))
    assert [encoding.word_text(word) for word in range(encoding.n_words)] == ["The", "cats", "A", "cat", "sat", "!"]


@pytest.mark.parametrize(
    ("text", "pair", "words"),
    [
        ("Cafe\u0301s, 中a", None, ["Cafe\u0301s", ",", "中", "a"]),
        ("THE  😀 cat[MASK]!", None, ["THE", "😀", "cat", "[MASK]", "!"]),
        ("", "the cats", ["the", "cats"]),
        ("the", "", ["the"]),
        ("😀 a", "😀😀 b", ["😀", "a", "😀😀", "b"]),
    ],
)
def test_words_are_given_back_as_typed(text: str, pair: str | None, words: list[str]) -> None:
    encoding = SMALL.encode(text, pair)
    assert [encoding.word_text(word) for word in range(encoding.n_words)] == words


def test_special_tokens_that_were_typed_are_words_and_not_special() -> None:
    encoding = SMALL.encode("[CLS] a [SEP]", "[MASK]")
    assert encoding.special_mask == (True, False, False, False, True, False, True)
    assert encoding.word_ids == (None, 0, 1, 2, None, 3, None)


def test_nothing_typed() -> None:
    encoding = SMALL.encode("")
    assert encoding.pieces == ("[CLS]", "[SEP]")
    assert (encoding.n_words, encoding.mask_positions) == (0, ())
    assert encoding.masked({0}) == encoding


def test_masking_hides_all_pieces_of_the_words_and_remembers_them() -> None:
    typed = SMALL.encode("The cats [MASK]", "a cat")
    hidden = typed.masked({1, 4})
    assert hidden.pieces == ("[CLS]", "the", "[MASK]", "[MASK]", "[MASK]", "[SEP]", "a", "[MASK]", "[SEP]")
    assert hidden.ids == (2, 5, 4, 4, 4, 3, 12, 4, 3)
    assert hidden.typed_ids == typed.ids == (2, 5, 6, 8, 4, 3, 12, 6, 3)
    assert hidden.mask_positions == (2, 3, 4, 7)
    assert hidden.word_text(1) == "cats"
    same = ("text", "pair", "word_ids", "offsets", "segment_ids", "special_mask", "mask_id")
    assert all(getattr(hidden, name) == getattr(typed, name) for name in same)
    assert typed.pieces[2:4] == ("cat", "##s"), "the first encoding is left as it was"


def test_special_tokens_cannot_be_hidden_and_none_hides_nothing() -> None:
    typed = SMALL.encode("the cat")
    assert typed.masked([]) == typed
    assert typed.masked({7}) == typed
    assert typed.masked(range(-9, 9)).ids == (2, 4, 4, 3)
    assert typed.masked({0}, mask_piece="<mask>").pieces == ("[CLS]", "<mask>", "cat", "[SEP]")


def test_ids_and_pieces_agree_after_masking_twice() -> None:
    twice = SMALL.encode("the cat sat").masked({0}).masked({1})
    assert [SMALL.piece(i) for i in twice.ids] == list(twice.pieces)
    assert twice == SMALL.encode("the cat sat").masked({1})
    assert twice.masked([]) == SMALL.encode("the cat sat")


def test_tensors_are_what_a_model_is_called_with() -> None:
    encoding = SMALL.encode("the cats", "a")
    tensors = encoding.tensors()
    assert list(tensors) == ["input_ids", "attention_mask", "token_type_ids"]
    assert all(t.shape == (1, 7) and t.dtype == torch.int64 for t in tensors.values())
    assert tensors["input_ids"].tolist() == [[2, 5, 6, 8, 3, 12, 3]]
    assert tensors["attention_mask"].tolist() == [[1] * 7]
    assert tensors["token_type_ids"].tolist() == [[0, 0, 0, 0, 0, 1, 1]]
    assert encoding.masked({1}).tensors()["input_ids"].tolist() == [[2, 5, 4, 4, 3, 12, 3]]


# Arbitrary text: any code point, lone surrogates too, and now and then what a person might type.
characters = st.text(st.characters(exclude_categories=()), max_size=20)
texts = st.lists(characters | st.sampled_from([*NASTY, *SPECIAL, *UNCASED, " "]), max_size=4).map("".join)


def check_promises(tokenizer: Tokenizer, encoding: Encoding) -> None:
    n = len(encoding)
    for name in ("ids", "pieces", "word_ids", "offsets", "segment_ids", "special_mask", "typed_ids", "typed_pieces"):
        assert len(getattr(encoding, name)) == n
    assert all(0 <= i < len(tokenizer) for i in encoding.ids)
    assert encoding.pieces == tuple(tokenizer.piece(i) for i in encoding.ids)

    middle = encoding.segment_ids.index(1) - 1 if encoding.pair is not None else n - 1
    added = {0: tokenizer.cls_id, middle: tokenizer.sep_id, n - 1: tokenizer.sep_id}
    assert {i for i, special in enumerate(encoding.special_mask) if special} == set(added)
    assert all(encoding.ids[i] == expected for i, expected in added.items())
    assert [word is None for word in encoding.word_ids] == list(encoding.special_mask)
    assert all(encoding.offsets[i] == (0, 0) for i in added)

    for source, tokens in ((encoding.text, range(1, middle)), (encoding.pair or "", range(middle + 1, n - 1))):
        starts = [encoding.offsets[i][0] for i in tokens]
        ends = [encoding.offsets[i][1] for i in tokens]
        assert all(0 <= start < end <= len(source) for start, end in zip(starts, ends, strict=True))
        assert starts == sorted(starts)
        assert ends == sorted(ends)
    check_words(encoding, middle)


def check_words(encoding: Encoding, middle: int) -> None:
    """Numbered 0, 1, 2, … in order, each a run of neighbours within one text, and found in it as typed."""
    words = [word for word in encoding.word_ids if word is not None]
    assert words == sorted(words)
    assert set(words) == set(range(encoding.n_words))
    for word in range(encoding.n_words):
        at = encoding.word_positions(word)
        assert at == tuple(range(at[0], at[-1] + 1))
        assert (at[0] < middle) == (at[-1] < middle)
        source = encoding.text if at[0] < middle else encoding.pair
        assert source is not None
        assert encoding.word_text(word) == source[encoding.offsets[at[0]][0] : encoding.offsets[at[-1]][1]] != ""


@settings(deadline=None, max_examples=250, database=None)
@example("\ud800", None)
@example("", "")
@example("[SEP]", "[CLS]")
@given(texts, st.none() | texts)
def test_promises_for_arbitrary_text(bundled: Tokenizer, text: str, pair: str | None) -> None:
    for tokenizer in (SMALL, KEEPING, bundled):
        encoding = tokenizer.encode(text, pair)
        check_promises(tokenizer, encoding)
        assert (encoding.pair is None) == (pair is None)
        if not any("\ud800" <= c <= "\udfff" for c in text):
            assert encoding.text == text


@pytest.mark.parametrize("text", NASTY, ids=[f"text-{i}" for i in range(len(NASTY))])
def test_promises_with_texts_that_tokenizers_stumble_over(bundled: Tokenizer, text: str) -> None:
    for tokenizer in (SMALL, KEEPING, bundled):
        check_promises(tokenizer, tokenizer.encode(text))
        check_promises(tokenizer, tokenizer.encode(text, text))


@settings(deadline=None, max_examples=100, database=None)
@given(texts, st.sets(st.integers(-1, 12)))
def test_masking_changes_the_chosen_words_and_nothing_else(text: str, words: set[int]) -> None:
    typed = SMALL.encode(text)
    hidden = typed.masked(words)
    for i, word in enumerate(typed.word_ids):
        is_hidden = word is not None and word in words
        assert hidden.ids[i] == (SMALL.mask_id if is_hidden else typed.ids[i])
        assert hidden.pieces[i] == ("[MASK]" if is_hidden else typed.pieces[i])
    assert hidden.typed_ids == typed.ids


@settings(deadline=None, max_examples=200, database=None)
@given(texts)
def test_an_offered_mask_is_offered_once(text: str) -> None:
    once = SMALL.with_mask_token(text)
    assert SMALL.with_mask_token(once) == once
