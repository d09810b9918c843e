"""Expected values: written by hand for a small cased vocabulary."""

from __future__ import annotations

import pytest
from guesser import ID, NOT_LANGUAGE, guesser, tokenizer

from bertviz_lite import Checkpoint, Tokenizer
from bertviz_lite.analysis import Case, continuing_ids, top_k, wrong_case_ids

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "The", "NASA", "##S", "##s", "iPad", "7", ".", "Émile"]


@pytest.fixture(scope="module")
def cased() -> Tokenizer:
    return Tokenizer.from_files(
        {
            "vocab.txt": "".join(f"{piece}\n" for piece in PIECES).encode(),
            "tokenizer_config.json": b'{"do_lower_case": false}',
        }
    )


@pytest.mark.parametrize(
    ("case", "left_out"),
    [
        ("any", set()),
        ("lower", {"The", "NASA", "##S", "iPad", "Émile"}),
        ("capital", {"the", "##s", "iPad"}),
    ],
)
def test_case_leaves_out_the_other_and_keeps_what_has_none(cased: Tokenizer, case: Case, left_out: set[str]) -> None:
    assert {PIECES[i] for i in wrong_case_ids(cased, case)} == left_out


def test_pieces_that_continue_a_word(cased: Tokenizer) -> None:
    assert {PIECES[i] for i in continuing_ids(cased)} == {"##S", "##s"}


def test_a_cased_vocabulary_is_known_by_its_pieces(cased: Tokenizer, bundled: Checkpoint) -> None:
    assert cased.is_cased
    assert not bundled.tokenizer.is_cased, "[MASK] and its like are no words"


def test_where_a_mask_begins_a_word_no_piece_that_continues_one_comes_back() -> None:
    hidden = tokenizer().encode("as b").masked({0, 1})  # [MASK][MASK] of one word, [MASK] of another
    found = top_k(guesser(), hidden, 5, exclude=NOT_LANGUAGE, exclude_at_start={ID["##s"]})
    assert [ID["##s"] in row for row in found.ids.tolist()] == [False, False, False]
    found = top_k(guesser(), hidden, 4, exclude={*NOT_LANGUAGE, ID["."]}, exclude_at_start={ID["b"]})
    assert found.ids.tolist() == [
        [ID["a"], ID["c"], ID["##s"]],
        [ID["b"], ID["a"], ID["c"]],
        [ID["a"], ID["c"], ID["##s"]],
    ]
    assert found.original_ranks.tolist() == [1, 4, 1], "b itself is left out at the start: the rank it would have"
