"""The tokens on disk are those of the text, each block in one of two parts; built once for a corpus and a tokenizer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from small_texts import text

from bertviz_lite.errors import TrainingError
from bertviz_lite.tokenizer import Tokenizer
from bertviz_lite.training.corpus import Source, find_sources, learn_tokenizer
from bertviz_lite.training.store import Part, TokenStore, open_store


@pytest.fixture(scope="module")
def sources(corpus: Path) -> tuple[Source, ...]:
    return find_sources([corpus])


@pytest.fixture(scope="module")
def tokenizer(sources: tuple[Source, ...]) -> Tokenizer:
    return learn_tokenizer(sources, 100)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, sources: tuple[Source, ...], tokenizer: Tokenizer) -> TokenStore:
    return open_store(tmp_path_factory.mktemp("stores"), sources, tokenizer)


def sentences(part: Part, source: str) -> list[tuple[int, ...]]:
    found = next(r for r in part.sources if r.name == source)
    return [tuple(map(int, part.tokens[part.starts[i] : part.starts[i + 1]])) for i in range(found.first, found.end)]


def test_every_sentence_is_in_one_part_and_tokenised_as_alone(
    sources: tuple[Source, ...], tokenizer: Tokenizer, store: TokenStore
) -> None:
    for source in sources:
        parts: tuple[list[tuple[int, ...]], list[tuple[int, ...]]] = ([], [])
        for i, block in enumerate(source.blocks()):
            parts[i % 100 == 10].extend(tokenizer.encode(sentence).ids[1:-1] for sentence in block)
        assert sentences(store.train, source.name) == parts[0]
        assert sentences(store.held_out, source.name) == parts[1]
        assert parts[1]


def test_counts_are_of_the_training_text(store: TokenStore) -> None:
    for row, source in enumerate(store.train.sources):
        counted = Counter(token for sentence in sentences(store.train, source.name) for token in sentence)
        assert {i: n for i, n in enumerate(store.counts[row].tolist()) if n} == counted


def test_the_tokens_stay_on_disk(store: TokenStore) -> None:
    assert isinstance(store.train.tokens, np.memmap)
    assert store.train.tokens.dtype == np.uint16


def test_it_is_built_once(tmp_path: Path, sources: tuple[Source, ...], tokenizer: Tokenizer) -> None:
    told: list[str] = []
    for _ in range(2):
        open_store(tmp_path, sources, tokenizer, told.append)
        assert len(told) == len(sources)
    open_store(tmp_path, sources, learn_tokenizer(sources, 99), told.append)
    open_store(tmp_path, sources[:1], tokenizer, told.append)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_changed_text_gets_a_store_of_its_own(tmp_path: Path, tokenizer: Tokenizer) -> None:
    file = tmp_path / "a.txt"
    file.write_text(text(60), encoding="utf-8")
    before = open_store(tmp_path / "stores", find_sources([file]), tokenizer)
    file.write_text(text(90), encoding="utf-8")
    after = open_store(tmp_path / "stores", find_sources([file]), tokenizer)
    assert len(after.train.tokens) > len(before.train.tokens)


def test_a_build_that_was_interrupted_leaves_nothing(
    tmp_path: Path, sources: tuple[Source, ...], tokenizer: Tokenizer
) -> None:
    def killed(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_store(tmp_path, sources, tokenizer, killed)
    assert list(tmp_path.iterdir()) == []
    assert len(open_store(tmp_path, sources, tokenizer).train.tokens)


def test_no_words(tmp_path: Path, tokenizer: Tokenizer) -> None:
    (tmp_path / "a.txt").write_text("\n \n", encoding="utf-8")
    with pytest.raises(TrainingError, match="no words"):
        open_store(tmp_path / "stores", find_sources([tmp_path]), tokenizer)
