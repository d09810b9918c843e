"""Files that a tokenizer writes are read by itself and by transformers, and split every text as before."""

from __future__ import annotations

from pathlib import Path

import pytest
from pieces import CASED, NASTY, UNCASED, assert_same, from_vocab, lines_of, with_files
from transformers import BertTokenizer

from bertviz_lite import Tokenizer
from bertviz_lite.tokenizer import TOKENIZER_FILES


def tokenizers_to_write(bundled_folder: Path) -> dict[str, Tokenizer]:
    return {
        "bundled": Tokenizer.from_folder(bundled_folder),
        "uncased": from_vocab([*UNCASED, "", "\u2028"]),
        "cased, accents off": from_vocab(CASED, {"do_lower_case": False, "strip_accents": True}),
        "uncased, accents kept": from_vocab(UNCASED, {"do_lower_case": True, "strip_accents": False}),
        "no Chinese": from_vocab(UNCASED, {"do_lower_case": True, "tokenize_chinese_chars": False}),
        "other names": from_vocab([*UNCASED, "<s>", "<m>"], {"cls_token": "<s>", "mask_token": "<m>"}),
    }


NAMES = ["bundled", "uncased", "cased, accents off", "uncased, accents kept", "no Chinese", "other names"]


@pytest.mark.parametrize("name", NAMES)
def test_written_and_read_again_it_splits_the_same(name: str, bundled_folder: Path, tmp_path: Path) -> None:
    tokenizer = tokenizers_to_write(bundled_folder)[name]
    files = tokenizer.to_files()
    assert set(files) == {"tokenizer.json", "tokenizer_config.json", "vocab.txt"} <= set(TOKENIZER_FILES)
    again = Tokenizer.from_folder(with_files(tmp_path, files))
    without_json = {k: v.encode() for k, v in files.items() if k != "tokenizer.json"}
    from_text = Tokenizer.from_files(without_json)
    for text in (*NASTY, "The CAFÉ中文 cats <m>"):
        assert again.encode(text) == tokenizer.encode(text)
        assert again.encode("a", text) == tokenizer.encode("a", text)
        assert from_text.encode(text) == tokenizer.encode(text)
    for other in (again, from_text):
        assert other.pieces == tokenizer.pieces
        assert other.special_ids == tokenizer.special_ids
        assert other.notes == ()


@pytest.mark.parametrize("name", NAMES)
def test_transformers_reads_what_we_write(name: str, bundled_folder: Path, tmp_path: Path) -> None:
    tokenizer = tokenizers_to_write(bundled_folder)[name]
    theirs = BertTokenizer.from_pretrained(with_files(tmp_path, tokenizer.to_files()))
    for text in (*NASTY, "The CAFÉ中文 cats <m>"):
        assert_same(tokenizer.encode(text), theirs, text)
        assert_same(tokenizer.encode(text, text), theirs, text, text)
    assert theirs.mask_token_id == tokenizer.mask_id
    assert theirs.cls_token_id == tokenizer.cls_id


def test_added_tokens_survive_writing(tmp_path: Path) -> None:
    decoder = {"18": {"content": "<ent>", "special": True}, "19": {"content": "zorp", "special": False}}
    tokenizer = from_vocab(UNCASED, {"do_lower_case": True, "added_tokens_decoder": decoder})
    again = Tokenizer.from_folder(with_files(tmp_path, tokenizer.to_files()))
    for text in ("the<ent> zorp", "zorps"):
        assert again.encode(text) == tokenizer.encode(text)
    assert again.special_ids == tokenizer.special_ids
    assert lines_of(tmp_path) == [*UNCASED, "<ent>", "zorp"]
