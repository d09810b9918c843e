"""Models from a hub on 127.0.0.1. Expected values: the files it serves, and transformers' logits of their tensors."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub.constants
import huggingface_hub.file_download
import pytest
from small_files import PICKLE, WEIGHTS, files, logits_of, packed, reference, tensors_of
from small_hub import COMMIT, SmallHub, serving
from torch.testing import assert_close

from bertviz_lite.checkpoints import hub, load
from bertviz_lite.errors import CheckpointError

FILES = files()
HALVES = [dict(list(tensors_of().items())[part::2]) for part in (0, 1)]


def sharded(ending: str, stem: str) -> dict[str, bytes]:
    names = [f"{stem}-0000{i + 1}-of-00002{ending}" for i in (0, 1)]
    index = {"weight_map": {tensor: name for name, half in zip(names, HALVES, strict=True) for tensor in half}}
    parts = {name: packed(half, name) for name, half in zip(names, HALVES, strict=True)}
    plain = {name: content for name, content in FILES.items() if name != WEIGHTS}
    return {**plain, **parts, f"{stem}{ending}.index.json": json.dumps(index).encode()}


BESIDE = {"README.md": b"# A card", "tf_model.h5": b"x" * 99, "onnx/model.onnx": b"x", "training_args.bin": b"x"}
REPOS = {
    "owner/tiny": FILES,
    "tiny": FILES,
    "owner/busy": {**FILES, **BESIDE, PICKLE: b"another form of the same"},
    "owner/pickle": {**files(weights=PICKLE), **BESIDE},
    "owner/shards": sharded(".safetensors", "model"),
    "owner/old-shards": sharded(".bin", "pytorch_model"),
    "owner/empty": {"README.md": b"# Nothing yet"},
    "owner/closed": FILES,
    "owner/hidden": FILES,
}


@pytest.fixture
def small_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallHub]:
    """The hub, with an empty cache; the network beyond it is never asked."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with serving(SmallHub(REPOS, gated={"owner/closed"}, private={"owner/hidden"})) as served:
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        yield served


@pytest.mark.parametrize(
    ("name", "repo"),
    [("owner/tiny", "owner/tiny"), ("hub:owner/tiny", "owner/tiny"), (" tiny ", "tiny"),
     ("owner/tiny@v1", "owner/tiny"), (f"owner/tiny@{COMMIT}", "owner/tiny")],
)  # fmt: skip
def test_find_tells_files_sizes_and_the_commit(name: str, repo: str, small_hub: SmallHub) -> None:
    found = hub.find(name)
    assert (found.repo, found.revision) == (repo, COMMIT)
    assert found.sizes == {name: len(content) for name, content in FILES.items()}
    assert found.n_bytes == sum(map(len, FILES.values()))
    assert small_hub.fetched() == [], "nothing is fetched before it is asked for"


@pytest.mark.parametrize(
    ("repo", "weights"),
    [("owner/busy", {WEIGHTS}), ("owner/pickle", {PICKLE}),
     ("owner/shards", {n for n in REPOS["owner/shards"] if n.startswith("model")}),
     ("owner/old-shards", {n for n in REPOS["owner/old-shards"] if n.startswith("pytorch_model")})],
)  # fmt: skip
def test_one_form_of_the_weights_is_fetched(repo: str, weights: set[str], small_hub: SmallHub) -> None:
    checkpoint = load(f"hub:{repo}")
    assert_close(logits_of(checkpoint.model), logits_of(reference()), atol=1e-5, rtol=1e-5)
    assert checkpoint.report.name == repo
    wanted = {"config.json", "vocab.txt", "tokenizer_config.json"} | weights
    assert sorted(small_hub.fetched()) == sorted(wanted), "each file once"


def test_what_was_fetched_is_not_fetched_again(small_hub: SmallHub) -> None:
    found = hub.find("owner/tiny")
    folder = hub.fetch(found)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == FILES
    before = small_hub.fetched()
    assert hub.fetch(found) == folder
    assert small_hub.fetched() == before


def test_progress_goes_up_to_the_whole(small_hub: SmallHub) -> None:
    for repo in ("owner/tiny", "owner/shards"):
        told: list[tuple[int, int]] = []
        found = hub.find(repo)
        hub.fetch(found, lambda done, n, told=told: told.append((done, n)))
        assert {n for _, n in told} == {found.n_bytes}
        done = [done for done, _ in told]
        assert done == sorted(done)
        assert done[-1] == found.n_bytes


class Cancelled(BaseException):
    """As Streamlit ends a run."""


def test_an_exception_of_progress_ends_the_download(small_hub: SmallHub) -> None:
    def progress(done: int, n: int) -> None:
        if done > n // 2:
            raise Cancelled

    found = hub.find("owner/shards")
    with pytest.raises(Cancelled):
        hub.fetch(found, progress)
    assert len(small_hub.fetched()) < len(found.sizes)
    assert {path.name for path in hub.fetch(found).iterdir()} == set(found.sizes)
    assert len(small_hub.fetched()) <= len(found.sizes) + 1, "what was complete is kept"


REFUSED = {
    "owner/absent": ("has no model owner/absent", "HF_TOKEN"),
    "owner/hidden": ("owner/hidden", "private", "HF_TOKEN"),
    "owner/closed": ("owner/closed", "terms", "HF_TOKEN"),
    "owner/tiny@v7": ("owner/tiny", "no such revision"),
    "owner/empty": ("owner/empty", "README.md", "model.safetensors"),
}


@pytest.mark.parametrize(("name", "words"), REFUSED.items(), ids=REFUSED)
def test_what_the_hub_does_not_give_is_told(name: str, words: tuple[str, ...], small_hub: SmallHub) -> None:
    with pytest.raises(CheckpointError) as caught:
        load(f"hub:{name}")
    assert all(word in str(caught.value) for word in words)
    assert str(caught.value).endswith(".")
    assert small_hub.fetched() == []


def test_an_id_that_only_the_package_refuses_is_told(small_hub: SmallHub) -> None:
    with pytest.raises(CheckpointError, match=r"owner/-x--y.*model id"):
        hub.find("owner/-x--y")


@pytest.mark.parametrize("name", ["", "hub:", "a/b/c", "a b", "https://huggingface.co/a/b", "owner/tiny@", "é\n/x"])
def test_no_model_id_asks_nothing(name: str, small_hub: SmallHub) -> None:
    with pytest.raises(CheckpointError, match="owner/model"):
        hub.find(name)
    assert small_hub.asked == []


def test_a_hub_that_cannot_be_reached_is_told(small_hub: SmallHub, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("HF_ENDPOINT", nowhere)
        with pytest.raises(CheckpointError, match=f"{nowhere} cannot be reached"):
            hub.find("owner/tiny")


def test_a_web_page_in_place_of_the_hub_is_told(small_hub: SmallHub) -> None:
    small_hub.page = b"<!DOCTYPE html><title>Sign in</title>"
    with pytest.raises(CheckpointError):
        hub.find("owner/tiny")


def test_a_hub_that_goes_away_between_find_and_fetch_is_told(
    small_hub: SmallHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)  # the package waits before each of its tries
    found = hub.find("owner/tiny")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(CheckpointError, match="cannot be reached"):
            hub.fetch(found)


def test_a_download_that_breaks_off_is_told(small_hub: SmallHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    small_hub.breaks = {WEIGHTS}
    with pytest.raises(CheckpointError, match="broke off"):
        hub.fetch(hub.find("owner/tiny"))


def test_offline_is_told_without_asking(small_hub: SmallHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(CheckpointError, match="HF_HUB_OFFLINE"):
        load("hub:owner/tiny")
    assert small_hub.asked == []


def test_offline_opens_what_is_in_the_cache(small_hub: SmallHub, monkeypatch: pytest.MonkeyPatch) -> None:
    load("hub:owner/tiny")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert_close(logits_of(load("hub:owner/tiny").model), logits_of(reference()), atol=1e-5, rtol=1e-5)
