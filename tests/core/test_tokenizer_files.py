"""What each file of a tokenizer means. Expected ids are line numbers of the vocabularies written here, or those of
transformers reading the same files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pieces import (
    CASED,
    NASTY,
    SPECIAL,
    UNCASED,
    assert_same,
    assert_same_ids,
    from_vocab,
    reference,
    vocab_file,
    with_files,
)
from tokenizers import Tokenizer as Backend
from tokenizers.models import Unigram, WordPiece
from transformers import AddedToken, BertTokenizer

from bertviz_lite import Tokenizer
from bertviz_lite.errors import BertvizError, TextError, TokenizerError


def tokens(tokenizer: Tokenizer, text: str) -> tuple[str, ...]:
    """Pieces without the [CLS] and [SEP] that encoding adds."""
    return tokenizer.encode(text).pieces[1:-1]


def test_a_piece_has_the_number_of_its_line() -> None:
    tokenizer = from_vocab(UNCASED)
    assert tokenizer.pieces == tuple(UNCASED)
    assert [tokenizer.id(piece) for piece in UNCASED] == list(range(len(UNCASED)))


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("{}\n\nthe\ncat\n", {"the": 6, "cat": 7}),  # a blank line takes an id
        ("{}\n\u2028\nthe\u2029\u0085\ncat\n", {"\u2028": 5, "the\u2029\u0085": 6, "cat": 7}),
        ("{}\nthe\x0b\x0c\x1c\ncat\n", {"the\x0b\x0c\x1c": 5, "cat": 6}),
        ("{}\nthe\ncat", {"the": 5, "cat": 6}),  # no newline at the end
        ("{}\nthe\n\n", {"the": 5, "": 6}),
        ("\ufeff{}\nthe\n", {"[PAD]": 0, "the": 5}),  # a byte order mark
        ("{}\nthe\ncat\nthe\n", {"cat": 6, "the": 7}),  # twice: the later id counts
        ("{}\n the\nthe \n", {" the": 5, "the ": 6}),
    ],
)
def test_lines_end_at_newlines_alone(file: str, expected: dict[str, int]) -> None:
    content = file.format("\n".join(SPECIAL)).encode()
    tokenizer = Tokenizer.from_files({"vocab.txt": content})
    assert {piece: tokenizer.id(piece) for piece in expected} == expected
    assert all(tokenizer.piece(i) == piece for piece, i in expected.items())


@pytest.mark.parametrize("end", ["\r\n", ""])
def test_windows_line_ends_are_no_part_of_the_pieces(end: str) -> None:
    content = "\r\n".join(UNCASED) + end
    assert Tokenizer.from_files({"vocab.txt": content.encode()}).pieces == tuple(UNCASED)


def test_one_piece_that_ends_in_a_carriage_return_keeps_it() -> None:
    assert from_vocab([*SPECIAL, "a\r", "b"]).id("a\r") == 5


def test_pieces_written_twice_are_told() -> None:
    tokenizer = from_vocab([*SPECIAL, "the", "the", "cat", "the"], {"do_lower_case": True})
    assert len(tokenizer.notes) == 1
    assert "2 pieces twice" in tokenizer.notes[0]
    assert tokenizer.encode("the cat").ids == (2, 8, 7, 3)
    with pytest.raises(TokenizerError, match="no piece with id 5"):
        tokenizer.piece(5)


def test_a_vocabulary_with_capitals_is_cased_and_says_so() -> None:
    tokenizer = from_vocab(CASED)
    assert tokens(tokenizer, "The the") == ("The", "the")
    assert len(tokenizer.notes) == 1
    assert "taken as cased" in tokenizer.notes[0]
    assert "'The'" in tokenizer.notes[0]


@pytest.mark.parametrize("opens", ["[CLS]", "<S>"])
def test_capitals_of_special_and_unused_pieces_do_not_make_it_cased(opens: str) -> None:
    pieces = [opens if piece == "[CLS]" else piece for piece in UNCASED]
    tokenizer = from_vocab([*pieces, "[unused0]", "[unused99]"], {"cls_token": opens})
    assert tokens(tokenizer, "THE") == ("the",)
    assert len(tokenizer.notes) == 1
    assert "taken as uncased" in tokenizer.notes[0]


def test_the_bundled_vocabulary_alone_is_uncased(bundled_folder: Path) -> None:
    tokenizer = Tokenizer.from_files({"vocab.txt": (bundled_folder / "vocab.txt").read_bytes()})
    assert "taken as uncased" in tokenizer.notes[0]
    for text in NASTY:
        assert_same(tokenizer.encode(text), BertTokenizer.from_pretrained(bundled_folder), text)


@pytest.mark.parametrize(("lower", "expected"), [(True, ("the",)), (False, ("The",))])
def test_a_setting_needs_no_guess(lower: bool, expected: tuple[str, ...]) -> None:
    tokenizer = from_vocab(CASED, {"do_lower_case": lower})
    assert tokenizer.notes == ()
    assert tokens(tokenizer, "The") == expected


@pytest.mark.parametrize("place", ["tokenizer_config", "special_tokens_map"])
@pytest.mark.parametrize("as_object", [False, True])
def test_special_tokens_by_other_names(place: str, as_object: bool) -> None:
    names = {"cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>", "unk_token": "<unk>", "pad_token": "<p>"}
    roles: dict[str, Any] = {k: {"content": v, "lstrip": False} if as_object else v for k, v in names.items()}
    tokenizer = from_vocab(["<p>", "<unk>", "<s>", "</s>", "<mask>", "a"], {}, **{place: roles})
    assert tokenizer.encode("a <mask> x").pieces == ("<s>", "a", "<mask>", "<unk>", "</s>")
    assert tokenizer.special_ids == {0, 1, 2, 3, 4}
    assert (tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id, tokenizer.unk_id) == (2, 3, 4, 1)


ADDED = {"<ent>": 18, "zorp": 19}  # after the 18 pieces of UNCASED
DECODER = {"18": {"content": "<ent>", "special": True}, "19": {"content": "zorp", "special": False}}


@pytest.mark.parametrize(
    "files",
    [{"added_tokens": ADDED}, {"tokenizer_config": {"do_lower_case": True, "added_tokens_decoder": DECODER}}],
    ids=["added_tokens.json", "added_tokens_decoder"],
)
def test_added_tokens_follow_the_vocabulary(files: dict[str, Any]) -> None:
    tokenizer = from_vocab(UNCASED, None, **files)
    assert tokenizer.encode("the<ent> zorp cat").ids == (2, 5, 18, 19, 6, 3)
    assert len(tokenizer) == 20
    assert tokenizer.piece(19) == "zorp"
    assert (18 in tokenizer.special_ids) == ("tokenizer_config" in files)
    assert 19 not in tokenizer.special_ids


def test_added_tokens_may_be_listed_in_any_order() -> None:
    backwards = dict(sorted(ADDED.items(), key=lambda entry: -entry[1]))
    assert from_vocab(UNCASED, None, added_tokens=backwards).pieces == (*UNCASED, "<ent>", "zorp")


@pytest.mark.parametrize("flag", ["single_word", "lstrip", "rstrip", "normalized", "special"])
def test_flags_of_added_tokens_mean_what_they_mean_in_transformers(flag: str, tmp_path: Path) -> None:
    flags = {name: name == flag for name in ("single_word", "lstrip", "rstrip", "normalized", "special")}
    config = {"tokenizer_class": "BertTokenizer", "added_tokens_decoder": {"18": {"content": "Zorp", **flags}}}
    files = {"vocab.txt": vocab_file(UNCASED).decode(), "tokenizer_config.json": json.dumps(config)}
    theirs = BertTokenizer.from_pretrained(with_files(tmp_path, files))
    for text in ("a  Zorp  the", "aZorp", "Zorpa", "ZORP zorp", "Zorp.Zorp"):
        assert_same_ids(Tokenizer.from_folder(tmp_path).encode(text), theirs, text)


def test_special_tokens_may_be_listed_as_added_too() -> None:
    decoder = {str(i): {"content": piece, "special": True} for i, piece in enumerate(SPECIAL)}
    tokenizer = from_vocab(UNCASED, {"do_lower_case": True, "added_tokens_decoder": decoder})
    assert tokenizer.pieces == tuple(UNCASED)
    assert tokenizer.encode("[MASK] the").ids == (2, 4, 5, 3)


@pytest.mark.parametrize("added", [{"zorp": 40}, {"zorp": 3}, {"the": 18}])
def test_added_tokens_of_another_vocabulary_are_refused(added: dict[str, int]) -> None:
    with pytest.raises(TokenizerError) as caught:
        from_vocab(UNCASED, None, added_tokens=added)
    token, i = next(iter(added.items()))
    assert repr(token) in str(caught.value)
    assert f"id {i}" in str(caught.value)


def test_added_tokens_are_matched_as_in_transformers(tmp_path: Path) -> None:
    with_files(tmp_path, {"added_tokens.json": '{"Zorp": 18}', "vocab.txt": vocab_file(UNCASED).decode()})
    theirs = BertTokenizer.from_pretrained(tmp_path)
    for text in ("zorp", "Zorp", "ZORP the", "xzorpx"):
        assert_same_ids(Tokenizer.from_folder(tmp_path).encode(text), theirs, text)


def test_a_folder_that_transformers_saved_with_added_tokens(tmp_path: Path) -> None:
    theirs = reference(UNCASED, do_lower_case=True)
    theirs.add_tokens(["Zorp", AddedToken("naïve", single_word=True, lstrip=True)])
    theirs.add_special_tokens({"additional_special_tokens": ["<ent>"]})
    theirs.save_pretrained(tmp_path)
    mine = Tokenizer.from_folder(tmp_path)
    for text in ("ZORP the  naïve naïvely <ENT><ent>", *NASTY):
        assert_same_ids(mine.encode(text), theirs, text)
    assert mine.special_ids == {0, 1, 2, 3, 4, 20}
    assert len(mine) == 21


def test_pieces_are_spelled_as_in_the_vocabulary() -> None:
    decoder = {"4": {"content": "[MASK]", "special": True, "lstrip": True}}  # as in many checkpoints
    tokenizer = from_vocab(UNCASED, {"do_lower_case": True, "added_tokens_decoder": decoder})
    assert tokenizer.encode("the [MASK]").ids == (2, 5, 4, 3)
    assert tokenizer.encode("the [MASK]").pieces == ("[CLS]", "the", "[MASK]", "[SEP]")


def test_tokenizer_json_is_read_before_vocab_txt(bundled_folder: Path) -> None:
    json_file = (bundled_folder / "tokenizer.json").read_bytes()
    tokenizer = Tokenizer.from_files({"tokenizer.json": json_file, "vocab.txt": vocab_file(UNCASED)})
    assert len(tokenizer) == 30522


def test_a_tokenizer_json_without_a_template_still_frames_the_text() -> None:
    backend = Backend(WordPiece({piece: i for i, piece in enumerate(UNCASED)}, unk_token="[UNK]"))  # noqa: S106
    tokenizer = Tokenizer.from_files({"tokenizer.json": backend.to_str().encode()})
    assert tokenizer.encode("the", "cat").ids == (2, 5, 3, 6, 3)
    assert tokenizer.encode("the", "cat").segment_ids == (0, 0, 0, 1, 1)


def test_a_pattern_that_gives_up_is_told() -> None:
    """The package panics then, which is no Exception: uncaught, it would end the thread of a page."""
    backend = Backend(WordPiece({piece: i for i, piece in enumerate(UNCASED)}, unk_token="[UNK]"))  # noqa: S106
    values = json.loads(backend.to_str())
    pattern = {"Regex": "(a+)+$"}
    values["pre_tokenizer"] = {"type": "Split", "pattern": pattern, "behavior": "Removed", "invert": False}
    tokenizer = Tokenizer.from_files({"tokenizer.json": json.dumps(values).encode()})
    with pytest.raises(TextError, match="cannot encode this text"):
        tokenizer.encode("a" * 28 + "b")


def test_a_word_that_is_left_out_has_no_spelling() -> None:
    scores = [("[CLS]", 0.0), ("[SEP]", 0.0), ("[MASK]", 0.0), ("a", -1.0)]
    encoding = Tokenizer(Backend(Unigram(scores, unk_id=None))).encode("a")
    assert encoding.word_text(7) == ""


def test_a_vocabulary_that_is_no_wordpiece_needs_no_unknown_token() -> None:
    scores = [("[CLS]", 0.0), ("[SEP]", 0.0), ("[MASK]", 0.0), ("a", -1.0)]
    tokenizer = Tokenizer(Backend(Unigram(scores, unk_id=None)))
    assert tokenizer.unk_id is None
    assert tokenizer.encode("a[MASK]").ids == (0, 3, 2, 1)
    assert "vocab.txt" not in tokenizer.to_files()


BAD: dict[str, dict[str, bytes]] = {
    "nothing": {},
    "settings alone": {"tokenizer_config.json": b"{}"},
    "tokenizer.json": {"tokenizer.json": b"{"},
    "tokenizer.json of another kind": {"tokenizer.json": b'{"version": "1.0"}'},
    "tokenizer.json in Latin-1": {"tokenizer.json": b'"\xe9"'},
    "tokenizer_config.json": {"vocab.txt": vocab_file(UNCASED), "tokenizer_config.json": b"{'do_lower_case': 1}"},
    "tokenizer_config.json in Latin-1": {"vocab.txt": vocab_file(UNCASED), "tokenizer_config.json": b'{"a": "\xe9"}'},
    "tokenizer_config.json of a list": {"vocab.txt": vocab_file(UNCASED), "tokenizer_config.json": b"[1]"},
    "special_tokens_map.json": {"vocab.txt": vocab_file(UNCASED), "special_tokens_map.json": b""},
    "added_tokens.json": {"vocab.txt": vocab_file(UNCASED), "added_tokens.json": b"null"},
    "vocab.txt": {"vocab.txt": b""},
    "vocab.txt in Latin-1": {"vocab.txt": vocab_file(UNCASED) + b"caf\xe9\n"},
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_cannot_be_read_is_named(case: str) -> None:
    with pytest.raises(TokenizerError) as caught:
        Tokenizer.from_files(BAD[case])
    name = case.split(" ", maxsplit=1)[0]
    assert (name if "." in name else "vocab.txt") in str(caught.value)
    assert isinstance(caught.value, BertvizError)


@pytest.mark.parametrize(
    "settings",
    [
        {"added_tokens_decoder": [1]},
        {"added_tokens_decoder": {"²": {"content": "zorp"}}},
        {"added_tokens_decoder": {"18": {"content": "\ud800"}}},
        {"mask_token": "\ud800"},
        {"strip_accents": "yes"},
    ],
    ids=["decoder is a list", "id is no number", "added surrogate", "role surrogate", "switch is text"],
)
def test_settings_of_another_type_are_a_tokenizer_error(settings: dict[str, Any]) -> None:
    try:
        from_vocab(UNCASED, settings)
    except BertvizError:
        return


def test_json_nested_too_deeply_is_a_tokenizer_error() -> None:
    with pytest.raises(TokenizerError, match=r"tokenizer_config\.json"):
        Tokenizer.from_files({"vocab.txt": vocab_file(UNCASED), "tokenizer_config.json": b"[" * 100_000})


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match=r"neither a tokenizer\.json nor a vocab\.txt"):
        Tokenizer.from_folder(tmp_path)
    with pytest.raises(TokenizerError, match=r"neither a tokenizer\.json nor a vocab\.txt"):
        Tokenizer.from_folder(tmp_path / "absent")
