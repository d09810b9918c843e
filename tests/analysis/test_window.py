"""Expected values: counted by hand on small texts, and what must hold of every window (hypothesis)."""

from __future__ import annotations

import pytest
from guesser import tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st

from bertviz_lite.analysis import slots, window
from bertviz_lite.errors import TextError

TOKENIZER = tokenizer()


def test_a_text_that_fits_is_read_whole() -> None:
    encoding = TOKENIZER.encode("a [MASK] b")
    seen = window(encoding, 5)
    assert seen.is_whole
    assert seen.encoding is encoding
    assert seen.left_out == frozenset()
    assert seen.slot_at(2) == 0


def test_a_window_lies_around_the_mask() -> None:
    encoding = TOKENIZER.encode("a b c a b [MASK] c a b c a")  # the mask is token 6 of 13
    seen = window(encoding, 7)
    assert seen.kept == (0, 4, 5, 6, 7, 8, 12)
    assert seen.encoding.pieces == ("[CLS]", "a", "b", "[MASK]", "c", "a", "[SEP]")
    assert seen.left_out == {1, 2, 3, 9, 10, 11}
    assert not seen.is_whole
    assert seen.n_tokens == 13
    assert seen.encoding.word_text(5) == "[MASK]", "words keep their numbers"


def test_at_the_ends_of_the_text_the_window_is_as_full_as_elsewhere() -> None:
    assert window(TOKENIZER.encode("[MASK] a b c a b"), 5).kept == (0, 1, 2, 3, 7)
    assert window(TOKENIZER.encode("a b c a b [MASK]"), 5).kept == (0, 4, 5, 6, 7)


def test_masks_that_fit_together_are_read_together() -> None:
    encoding = TOKENIZER.encode("a b [MASK] c [MASK] a b c [MASK]")  # tokens 3, 5 and 9 of 11
    assert window(encoding, 7).kept == (0, 2, 3, 4, 5, 6, 10)
    assert window(encoding, 7, at=9).kept == (0, 5, 6, 7, 8, 9, 10)
    assert window(encoding, 9, at=3).kept == (0, 3, 4, 5, 6, 7, 8, 9, 10)
    assert window(encoding, 7, at=9).slot_at(9) == 1


def test_room_is_kept_free() -> None:
    encoding = TOKENIZER.encode("a b c [MASK] a b c")
    assert len(window(encoding, 9, room=0).kept) == 9
    assert len(window(encoding, 9, room=2).kept) == 7


def test_words_are_not_cut() -> None:
    encoding = TOKENIZER.encode("as as [MASK] as as")  # a ##s a ##s [MASK] a ##s a ##s
    assert window(encoding, 6).kept == (0, 3, 4, 5, 10), "half a word stays out"
    assert window(encoding, 7).kept == (0, 3, 4, 5, 6, 7, 10)


def test_of_a_pair_both_ends_stay() -> None:
    encoding = TOKENIZER.encode("a b c", "a [MASK] c")  # [CLS] a b c [SEP] a [MASK] c [SEP]
    seen = window(encoding, 6)
    assert seen.encoding.pieces == ("[CLS]", "[SEP]", "a", "[MASK]", "c", "[SEP]")
    assert seen.encoding.segment_ids == (0, 0, 1, 1, 1, 1)


def test_a_text_without_a_mask_is_read_from_its_beginning() -> None:
    assert window(TOKENIZER.encode("a b c a b c"), 5).kept == (0, 1, 2, 3, 7)


@pytest.mark.parametrize(("limit", "room"), [(3, 1), (5, 3), (2, 0), (1, 0)])
def test_a_word_that_does_not_fit_is_told(limit: int, room: int) -> None:
    with pytest.raises(TextError, match="too few for the word"):
        window(TOKENIZER.encode("a [MASK] b c"), limit, room=room)


@settings(max_examples=150, deadline=None)
@given(
    words=st.lists(st.sampled_from(["a", "as", "b", ".", "[MASK]"]), min_size=1, max_size=40),
    limit=st.integers(6, 20),
    room=st.integers(0, 2),
    data=st.data(),
)
def test_what_holds_of_every_window(words: list[str], limit: int, room: int, data: st.DataObject) -> None:
    encoding = TOKENIZER.encode(" ".join(words))
    places = slots(encoding)
    at = data.draw(st.sampled_from(places))[0] if places else None
    seen = window(encoding, limit, at=at, room=room)
    inner = seen.kept[1:-1]
    assert len(seen.kept) + room <= limit or seen.is_whole
    assert (seen.kept[0], seen.kept[-1]) == (0, len(encoding) - 1), "[CLS] and [SEP] stay"
    assert list(inner) == list(range(inner[0], inner[-1] + 1)), "no hole"
    assert at is None or at in inner
    assert seen.encoding.ids == tuple(encoding.ids[i] for i in seen.kept)
    inside = {encoding.word_ids[i] for i in inner}
    outside = {encoding.word_ids[i] for i in seen.left_out}
    assert not inside & outside, "no word is cut"
    assert seen.is_whole or len(seen.kept) + room >= limit - 2, "as much as fits, but for a word at either end"
