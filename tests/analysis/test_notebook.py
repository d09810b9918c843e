"""Expected values: transformers' attentions, decoded out of the document that a notebook shows."""

from __future__ import annotations

import base64
import html
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from outside import Outside
from safetensors.torch import load_file, save_file
from unpacked import unpack

from bertviz_lite import Checkpoint, show_attention
from bertviz_lite.errors import BertvizError, InputError, TextError

TEXT, PAIR = "The cat sat on the mat.", "It was tired."


@dataclass(frozen=True)
class Sent:
    """One part of a document: what its header says, and its arrays."""

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]


def parts(document: str) -> list[Sent]:
    """The overview, then the maps, the one on show first."""
    found = re.search(r'mount\(document.getElementById\("view"\), (\{.*\})\);', document)
    assert found
    sent = json.loads(found.group(1))
    return [Sent(*unpack(base64.b64decode(one))) for one in (sent["overview"], *sent["maps"])]


def opened(document: str) -> tuple[int, int]:
    state = parts(document)[1].header["state"]
    return state["layer"], state["head"]


def test_every_map_is_that_of_transformers(bundled: Checkpoint, outside: Outside) -> None:
    overview, *maps = parts(show_attention(bundled, TEXT, PAIR).html)
    expected = outside.attentions(*outside.ids(TEXT, PAIR)).numpy()
    pieces = outside.tokenizer.convert_ids_to_tokens(outside.ids(TEXT, PAIR)[0])
    seen = set()
    for sent in maps:
        state = sent.header["state"]
        assert_allclose(sent.arrays["weights"], expected[state["layer"], state["head"]], atol=1e-5)
        assert sent.header["tokens"]["labels"] == pieces
        seen.add((state["layer"], state["head"]))
    assert seen == set(np.ndindex(6, 12))
    levels = overview.arrays["levels"] / 255 * overview.arrays["peaks"][..., None, None]
    assert_allclose(levels, expected, atol=1 / 510 + 1e-5)


def test_queries_and_keys_give_the_weights(bundled: Checkpoint) -> None:
    sent = parts(show_attention(bundled, TEXT, layer=3, head=4).html)[1]
    scores = sent.arrays["queries"] @ sent.arrays["keys"].T / np.sqrt(sent.arrays["keys"].shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    assert_allclose(weights / weights.sum(-1, keepdims=True), sent.arrays["weights"], atol=1e-5)


def test_512_tokens_hold_the_open_head_whole_and_the_others_small(bundled: Checkpoint, outside: Outside) -> None:
    text = "the cat sat on the mat " * 85
    overview, *maps = parts(show_attention(bundled, text, layer=1, head=8).html)
    assert len(maps) == 1
    expected = outside.attentions(*outside.ids(text))[1, 8].numpy()
    assert expected.shape == (512, 512)
    assert_allclose(maps[0].arrays["weights"], expected, atol=1e-5, rtol=1e-3)  # float16
    assert overview.header["shape"] == [6, 12, 128]


def test_masked_words_of_both_texts(bundled: Checkpoint, outside: Outside) -> None:
    sent = parts(show_attention(bundled, TEXT, PAIR, layer=0, head=0, mask=(1, 9)).html)[1]
    ids, segments = outside.ids("The [MASK] sat on the mat.", "It was [MASK].")
    assert_allclose(sent.arrays["weights"], outside.attentions(ids, segments)[0, 0].numpy(), atol=1e-5)
    assert sent.header["masked"] == [2, 11]


@pytest.mark.parametrize(("layer", "head"), [(None, None), (2, None), (None, 5), (2, 5)])
def test_what_is_asked_for_is_open_first(bundled: Checkpoint, layer: int | None, head: int | None) -> None:
    at = opened(show_attention(bundled, TEXT, layer=layer, head=head).html)
    assert layer in (None, at[0])
    assert head in (None, at[1])


def test_choices_are_those_of_the_view(bundled: Checkpoint) -> None:
    chosen = show_attention(bundled, TEXT, PAIR, by="words", without=["sep", "cls"], pairs="b_to_a", rescale=True)
    for sent in parts(chosen.html)[1:]:
        state = sent.header["state"]
        assert (state["by"], state["without"], state["pairs"]) == ("words", ["cls", "sep"], "b_to_a")
        assert state["rescale"] is True


@pytest.mark.parametrize(
    ("texts", "choice", "told"),
    [
        ((TEXT,), {"layer": 6}, "There is no layer 6: this model's go from 0 to 5"),
        ((TEXT,), {"layer": -1}, "There is no layer -1"),
        ((TEXT,), {"head": 12}, "There is no head 12: this model's go from 0 to 11"),
        ((TEXT,), {"mask": [7]}, "There is no word 7: the words go from 0 to 6"),
        ((TEXT,), {"mask": [-1]}, "There is no word -1"),
        ((TEXT,), {"pairs": "a_to_b"}, "only one sentence"),
        ((TEXT, PAIR), {"pairs": "b"}, "no pairing 'b'"),
        ((TEXT,), {"by": "letters"}, "not by 'letters'"),
        ((TEXT,), {"without": ["nouns"]}, "'nouns' cannot be left out"),
        (("",), {}, "no word"),
        (("the " * 511,), {}, "513 tokens"),
    ],
)
def test_what_cannot_be_shown_is_told(
    bundled: Checkpoint, texts: tuple[str, ...], choice: dict[str, Any], told: str
) -> None:
    with pytest.raises(BertvizError, match=told) as raised:
        show_attention(bundled, *texts, **choice)
    assert isinstance(raised.value, InputError | TextError)


def test_a_model_is_a_checkpoint_a_path_or_the_bundled_one(bundled: Checkpoint, bundled_folder: Path) -> None:
    shown = show_attention(bundled, "The cat.").html
    assert show_attention(str(bundled_folder), "The cat.").html == shown
    assert show_attention(bundled_folder, "The cat.").html == shown
    assert show_attention(None, "The cat.").html == shown


def test_an_encoder_without_a_head_is_shown(bundled: Checkpoint, bundled_folder: Path, tmp_path: Path) -> None:
    tensors = load_file(bundled_folder / "model.safetensors")
    save_file({n: t for n, t in tensors.items() if n.startswith("bert.")}, tmp_path / "model.safetensors")
    for name in ("config.json", "vocab.txt", "tokenizer_config.json"):
        shutil.copy(bundled_folder / name, tmp_path)
    shown, whole = (parts(show_attention(of, TEXT, layer=1, head=1).html) for of in (tmp_path, bundled))
    assert_array_equal(shown[1].arrays["weights"], whole[1].arrays["weights"])


def test_a_notebook_frames_the_whole_document(bundled: Checkpoint) -> None:
    """In a frame of its own: no script, style or name of one view can meet another's."""
    shown = show_attention(bundled, 'He said "<b>" & left.', layer=0, head=0)
    frame = shown._repr_html_()
    found = re.fullmatch(
        r'<iframe srcdoc="([^"<>]*)" style="([^"]*)" onload="[^"<>]*" title="attention"></iframe>', frame
    )
    assert found
    assert html.unescape(found.group(1)) == shown.html
    assert f"height:{shown.height}px" in found.group(2)
    assert "<title>english-mini: He said &quot;&lt;b&gt;&quot; &amp; left.</title>" in shown.html


def test_the_document_asks_for_nothing(bundled: Checkpoint) -> None:
    """Three papers are linked; nothing is loaded, and no address is made up by script."""
    document = show_attention(bundled, TEXT).html
    papers = {f"https://arxiv.org/abs/{number}" for number in ("1902.10186", "1906.03731", "1908.04626")}
    assert set(re.findall(r"\w+://[^\"'`\s)<]+", document)) - {"http://www.w3.org/2000/svg"} == papers  # a name
    assert not re.search(r"<(?:link|img|script[^>]* src)\b|@import|\burl\(|\bfetch\(|XMLHttpRequest|import\(", document)


def test_saved_it_is_the_same_document(bundled: Checkpoint, tmp_path: Path) -> None:
    shown = show_attention(bundled, "Café, 文字.", layer=0, head=0)
    shown.save(tmp_path / "view.html")
    assert (tmp_path / "view.html").read_text(encoding="utf-8") == shown.html
