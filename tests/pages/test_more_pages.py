"""The pages on the decoder and on two models, the views of a checkpoint, and every way to open and close one.

Expected numbers come from the core, which has its own tests against transformers, and from facts/bert.md.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import more_models
import numpy as np
import pytest
from more_models import WEIGHTS, encoder, members, model_in_use, opened, press, said, server_folder, untied, with_nan
from page_tools import Open, chart, upload, view_data

import bertviz_lite
from bertviz_lite.analysis import attention_maps, neighbours, pseudo_loss, stages
from bertviz_lite.bundled import EXAMPLES
from bertviz_lite.checkpoints import hub
from bertviz_lite.errors import CheckpointError
from bertviz_lite.ui.shell import PAGES

CHECKPOINT = bertviz_lite.load()
FIRST = CHECKPOINT.tokenizer.encode(EXAMPLES[0].text).masked(EXAMPLES[0].masked)


def test_the_decoder_page_shows_what_the_core_says(open_page: Open) -> None:
    followed = stages(CHECKPOINT.model, FIRST, FIRST.mask_positions[0])
    at = open_page("pages/decoder.py")
    assert at.selectbox(key="widget_at").value == followed.position
    for i, values in enumerate((followed.embedded, followed.encoded, followed.transformed)):
        assert np.allclose(chart(at, f"stage_{i}")["data"][0]["z"], values, atol=6e-4)
    assert sum(chart(at, "logits")["data"][0]["y"]) == 30522
    best = followed.probs.argsort()[::-1][:7].tolist()
    assert chart(at, "probs")["data"][0]["customdata"] == [CHECKPOINT.tokenizer.piece(i) for i in best]
    (typed,) = CHECKPOINT.tokenizer.ids_of(["milk"])[0]
    assert f"The model's own logit: **{followed.logits[typed]:.4f}**" in said(at).replace("-0.0000", "0.0000")


def test_another_token_and_word_can_be_followed(open_page: Open) -> None:
    at = open_page("pages/decoder.py", at="2", piece="milk")
    milk = CHECKPOINT.tokenizer.id("milk")
    followed = stages(CHECKPOINT.model, FIRST, 2)
    assert f"**{followed.logits[milk]:.4f}**" in said(at)
    at.selectbox(key="widget_at").set_value(3).run()
    assert at.query_params["at"] == "3"
    assert f"**{stages(CHECKPOINT.model, FIRST, 3).logits[milk]:.4f}**" in said(at)
    assert open_page("pages/decoder.py", at="9999").selectbox(key="widget_at").value == FIRST.mask_positions[0]
    assert "no piece “qqq”" in open_page("pages/decoder.py", piece="qqq").warning[0].value


def test_a_long_text_is_drawn_around_the_token_that_is_followed(open_page: Open) -> None:
    at = open_page("pages/decoder.py", text="a " * 60, at="59")
    assert "24 of 62" in at.caption[-1].value
    assert len(chart(at, "stage_0")["data"][0]["z"]) == 24


@pytest.mark.parametrize(("preset", "counts"), more_models.PRESETS.items())
def test_the_calculator_knows_the_published_sizes(preset: str, counts: tuple[str, str], open_page: Open) -> None:
    at = open_page("pages/decoder.py")
    at.button(key=f"preset_{preset}").click().run()
    assert f"**Tied: {counts[0]}**" in said(at)
    assert f"**Untied: {counts[1]}**" in said(at)


def test_the_calculator_takes_any_sizes(open_page: Open) -> None:
    at = open_page("pages/decoder.py", sizes="28996,768,12,12,3072")
    assert "**Tied: 108,340,804**" in said(at)
    assert "28,996 × 768 = **22,268,928**" in said(at)
    at.number_input(key="size_3").set_value(7).run()
    assert at.query_params["sizes"] == "28996,768,12,7,3072"
    assert "must be a multiple" in at.error[0].value


def test_compare_sets_the_untrained_twin_beside(open_page: Open) -> None:
    at = open_page("pages/compare.py")
    assert at.selectbox(key="widget_other").value == "untrained"
    expected = pseudo_loss(CHECKPOINT.model, FIRST, exclude=CHECKPOINT.tokenizer.special_ids)
    mine, twin = chart(at, "losses")["data"]
    assert np.allclose(mine["y"], expected.loss_nats, atol=1e-4)
    assert np.mean(twin["y"]) == pytest.approx(np.log(30522), rel=0.1), "random weights know nothing"
    frame = at.dataframe[0].value
    assert set(frame["tensor"]) == {name for name, _ in CHECKPOINT.model.named_parameters()}


def test_compare_two_models_of_the_visitor(open_page: Open, tiny_zip: bytes) -> None:
    at = opened(open_page, {"my-bert.zip": tiny_zip}).switch_page("pages/compare.py").run()
    assert (model_in_use(at), at.selectbox(key="widget_other").value) == ("my-bert", "")
    tiny = bertviz_lite.load({"my-bert.zip": io.BytesIO(tiny_zip)})
    ours, tinys = (attention_maps(c.model, FIRST).weights.mean((0, 1)) for c in (CHECKPOINT, tiny))
    assert np.allclose(chart(at, "maps")["data"][0]["z"], ours - tinys, atol=2e-5)
    assert any("num_hidden_layers: 2" in text.value for text in at.text)
    assert not at.error


def test_a_copy_of_the_bundled_model_beside_it(
    open_page: Open, tmp_path: Path, bundled_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(bundled_folder, tmp_path / "copy")
    monkeypatch.setenv("BERTVIZ_MODELS_DIR", str(tmp_path))
    at = open_page("pages/compare.py", other="@copy")
    assert not at.exception
    assert "bit for bit" in at.success[0].value


def test_the_vocabulary_view(open_page: Open) -> None:
    at = open_page("pages/checkpoint.py", view="vocabulary", near="milk", search="milk")
    assert all("milk" in piece for piece in at.dataframe[0].value["piece"])
    found = neighbours(CHECKPOINT.model, CHECKPOINT.tokenizer.id("milk"), 15)
    assert chart(at, "near")["data"][0]["customdata"] == [CHECKPOINT.tokenizer.piece(i) for i in found.ids.tolist()]
    assert (
        "no piece “unbelievably slow”"
        in open_page("pages/checkpoint.py", view="vocabulary", near="unbelievably slow").info[0].value
    )


def test_the_save_view_names_the_folder_of_its_zip(open_page: Open, tiny_zip: bytes) -> None:
    at = opened(open_page, {"my bert.zip": tiny_zip})
    at.segmented_control[0].set_value("save").run()
    assert "from_pretrained('my-bert')" in at.code[0].value


@pytest.mark.parametrize("to", ["embedding", "decoder"])
def test_an_untied_model_can_be_tied(to: str, open_page: Open, tiny_zip: bytes) -> None:
    at = opened(open_page, untied(tiny_zip))
    assert at.metric[5].value == "untied"
    at.button(key=f"tie_{to}").click().run()
    assert not at.exception
    assert at.metric[5].value == "tied"
    assert model_in_use(at).endswith(f", tied to its {to}")
    assert len(at.radio[0].options) == 3, "the untied one is still there"
    assert not [button for button in at.button if str(button.key).startswith("tie_")]


def test_an_encoder_alone_shows_attention_and_no_predictions(open_page: Open, tiny_zip: bytes) -> None:
    at = opened(open_page, encoder(tiny_zip))
    assert "encoder without a head" in at.success[0].value
    at = at.switch_page("pages/attention.py").run()
    assert not at.exception
    assert view_data(at, "all_heads")[0]["shape"][:2] == [2, 4]
    for page in ("app.py", "pages/token_loss.py", "pages/decoder.py", "pages/compare.py"):
        at = at.switch_page(page).run()
        assert not at.exception
        assert "without a masked-language-model head" in at.info[0].value
        assert not at.get("plotly_chart")


@pytest.mark.parametrize("page", [link.file for link in PAGES])
def test_a_model_of_nan_ends_in_no_traceback(page: str, open_page: Open, tiny_zip: bytes) -> None:
    at = opened(open_page, with_nan(tiny_zip)).switch_page(page).run()
    assert not at.exception


def test_a_model_can_be_closed(open_page: Open, tiny_zip: bytes) -> None:
    at = opened(open_page, {"my-bert.zip": tiny_zip})
    assert len(at.radio[0].options) == 2
    at.button(key="close_model").click().run()
    assert (model_in_use(at), len(at.radio[0].options)) == ("english-mini", 1)
    assert "model" not in at.query_params
    assert not at.info
    assert not [button for button in at.button if button.key == "close_model"], "the bundled model stays"


ARCHIVES = ("a.zip", "a.tar", "a.tar.gz", "A.TGZ", "a.tar.bz2", "a.tar.xz")


@pytest.mark.parametrize("name", ARCHIVES)
def test_every_archive_the_core_opens_can_be_uploaded(name: str, open_page: Open) -> None:
    at = upload(open_page("pages/checkpoint.py"), (name, b"damaged"))
    assert "cannot be unpacked" in at.error[0].value


def test_the_hub_is_asked_only_at_the_press_of_a_button(
    open_page: Open, tiny_zip: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def find(name: str) -> hub.HubCheckpoint:
        asked.append(name)
        if name == "nobody/none":
            raise CheckpointError("The hub has no model nobody/none.")
        return hub.HubCheckpoint("owner/tiny", "0123456789abcdef", {"config.json": 500, WEIGHTS: 2_000_000})

    def fetch(found: hub.HubCheckpoint, progress: hub.Progress) -> Path:
        asked.append(f"fetch {found.repo}")
        progress(1_000_000, found.n_bytes)
        for name, content in members(tiny_zip).items():
            (tmp_path / name).write_bytes(content)
        return tmp_path

    monkeypatch.setattr(hub, "find", find)
    monkeypatch.setattr(hub, "fetch", fetch)
    at = open_page("pages/checkpoint.py")
    at.text_input(key="hub_name").set_value("nobody/none").run()
    assert asked == []
    press(at, "Look it up")
    assert "no model nobody/none" in at.error[0].value
    at.text_input(key="hub_name").set_value("owner/tiny").run()
    press(at, "Look it up")
    assert "**owner/tiny** at `0123456789ab`: 2 files, **2 MB**" in said(at)
    assert asked == ["nobody/none", "owner/tiny"]
    press(at, "Download and open")
    assert asked[-1] == "fetch owner/tiny"
    assert not at.exception
    assert model_in_use(at) == "owner/tiny"


@pytest.fixture
def models_dir(tmp_path: Path, tiny_zip: bytes, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BERTVIZ_MODELS_DIR", str(root := server_folder(tmp_path, tiny_zip)))
    return root


def test_the_models_of_the_server(models_dir: Path, open_page: Open) -> None:
    at = open_page("pages/checkpoint.py")
    assert {b.key for b in at.button if str(b.key).startswith("server_")} == {"server_@again", "server_@packed.zip",
                                                                             "server_@tiny"}  # fmt: skip
    at.button(key="server_@tiny").click().run()
    assert (model_in_use(at), at.query_params["model"]) == ("tiny", "@tiny")
    assert model_in_use(open_page("app.py", model="@packed.zip")) == "packed.zip"
    assert not [button for button in at.button if button.key == "close_model"], "it is not the visitor's"


@pytest.mark.parametrize("key", more_models.OUT)
def test_no_address_leads_out_of_the_servers_folder(key: str, models_dir: Path, open_page: Open) -> None:
    at = open_page("app.py", model=key)
    assert not at.exception
    assert model_in_use(at) == "english-mini"
    assert "english-mini" in at.info[0].value, "it says what is shown in its place"


@pytest.mark.parametrize("name", ["loop", "tiny/dangling"])
def test_a_broken_link_in_the_servers_folder_breaks_no_page(name: str, models_dir: Path, open_page: Open) -> None:
    (models_dir / name).symlink_to(models_dir / name if name == "loop" else "gone")
    at = open_page("app.py", model="@tiny")
    assert not at.exception
    assert model_in_use(at) == "tiny"


def test_an_option_without_its_folder_is_a_sentence(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["app.py", "--models-dir"])
    assert not open_page("app.py").exception


def test_rows_without_a_piece_are_unused(open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vocabulary padded with rows: pandas turns a missing piece into a number."""
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    padded = bertviz_lite.BERTForMaskedLM(bertviz_lite.BERTConfig(vocab_size=30_528, **sizes))
    padded.save_pretrained(tmp_path / "padded")
    for name, content in CHECKPOINT.tokenizer.to_files().items():
        (tmp_path / "padded" / name).write_text(content, encoding="utf-8")
    monkeypatch.setenv("BERTVIZ_MODELS_DIR", str(tmp_path))
    at = open_page("pages/checkpoint.py", model="@padded", view="vocabulary", search="unused")
    assert not at.exception
    assert at.dataframe[0].value["kind"].unique().tolist() == ["unused"]
    assert any(
        "1,000 are unused" in caption.value for caption in at.caption
    )  # 994 of bert-base-uncased and 6 rows of padding


def test_a_name_from_the_address_is_no_markdown(open_page: Open) -> None:
    """Unescaped, a link would make the reader's browser fetch a picture from anywhere."""
    at = open_page(model="@![x](http://127.0.0.1:9/leak.png)")
    assert "\\!\\[x\\]\\(http" in at.info[0].value


def test_a_models_name_is_its_visitors_own(open_page: Open, tiny_zip: bytes) -> None:
    """Two visitors may give equal files different names, and neither reads the other's."""
    for name in ("my-secret", "harmless"):
        at = upload(open_page("pages/checkpoint.py"), (f"{name}.zip", tiny_zip))
        at = at.switch_page("pages/compare.py").run()
        at.selectbox(key="widget_other").set_value("untrained").run()
        assert f"{name} (untrained)" in said(at).replace("\\", "")
        assert ("my-secret" in said(at).replace("\\", "")) == (name == "my-secret")


def test_an_encoder_is_described_without_a_head(open_page: Open, tiny_zip: bytes) -> None:
    at = opened(open_page, encoder(tiny_zip))
    told = said(at).replace("\\", "")
    assert "head is not in the file" in told
    assert next(metric.value for metric in at.metric if metric.label == "Decoder") == "none"
    assert "Tied" not in told
    assert "(cls)" not in "".join(html.proto.body for html in at.get("html"))


def test_what_was_borrowed_is_said(open_page: Open, bundled_folder: Path) -> None:
    at = upload(open_page("pages/checkpoint.py"), (WEIGHTS, (bundled_folder / WEIGHTS).read_bytes()))
    assert "Still needed" in at.info[0].value
    press(at, "Take what is missing")
    assert "Not uploaded but taken from english-mini: config.json, tokenizer.json" in said(at).replace("\\", "")
