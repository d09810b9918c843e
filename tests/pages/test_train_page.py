"""The Train page: what stands there before, a run from its beginning to its end, and what is told when it cannot be."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from more_models import encoder, members, model_in_use, opened, press, said
from page_tools import Open, chart
from streamlit.testing.v1 import AppTest
from train_tools import ended, text, wait_until
from train_tools import job as small_job

import bertviz_lite
from bertviz_lite.bundled import TRAINING_TEXTS
from bertviz_lite.training import mean_nats
from bertviz_lite.training.corpus import find_sources, learn_tokenizer
from bertviz_lite.ui.training import job as training_job
from bertviz_lite.ui.training.job import Job, jobs

PAGE = "pages/training.py"
SAMPLE = TRAINING_TEXTS["everyday"]
SESSION = "test session id"  # of every AppTest


@pytest.fixture(autouse=True)
def _no_run_is_left() -> Iterator[None]:
    yield
    jobs().end_all()


def give(at: AppTest, *files: tuple[str, bytes]) -> AppTest:
    return at.file_uploader[0].set_value([(name, content, "text/plain") for name, content in files]).run()


def run_of(at: AppTest) -> Job:
    found = jobs().of(SESSION)
    assert found is not None
    assert at.query_params["run"] == found.run
    return found


def test_before_anything_is_pressed_the_text_is_shown(open_page: Open, tmp_path: Path) -> None:
    at = open_page(PAGE)
    assert not at.exception
    assert SAMPLE.name in said(at)
    assert f"{len(SAMPLE.read().split()):,} words" in said(at)
    (tmp_path / "everyday.txt").write_text(SAMPLE.read(), encoding="utf-8")
    n = len(learn_tokenizer(find_sources([tmp_path]), 2_000))
    assert f"**{math.log(n):.2f}** nats" in said(at)
    bars = chart(at, "common_pieces")["data"][0]
    counted = Counter(re.findall(r"[a-z]+|[^\w\s]", SAMPLE.read().lower()))
    assert set(bars["customdata"][:5]) == {word for word, _ in counted.most_common(5)}
    assert bars["x"] == sorted(bars["x"], reverse=True)
    assert any("[MASK]" in html.proto.body for html in at.get("html"))


def test_start_stop_go_on_and_another(open_page: Open) -> None:
    at = open_page(PAGE, size="tiny", minutes="10")
    press(at, "Start")
    assert not at.exception
    assert not at.error
    job = run_of(at)
    assert job.running
    assert job.name == "Everyday sentences, 2 × 128, 10 min"
    assert job.recipe.probes[0] == SAMPLE.probes[0]
    assert job.recipe.probes[-1] == "The cat drank a bowl of [MASK]."
    assert wait_until(lambda: job.progress().step > 0)
    at.run()
    assert chart(at, "training_curve")["data"][1]["name"] == "held-out text"
    press(at, "Stop")
    assert ended(job).progress().phase == "stopped"
    at.run()
    assert [b.label for b in at.button if b.key in ("resume_run", "finish_run")] == ["Go on", "Take the model as it is"]
    press(at, "Go on")
    assert job.running
    job.stop()
    ended(job)
    at.run()
    press(at, "Train another")
    assert jobs().of(SESSION) is None
    assert not job.folder.exists()
    assert "run" not in at.query_params
    assert any(b.key == "start_run" for b in at.button)


def test_a_trained_model_is_in_use_on_all_pages_and_after_a_reload(open_page: Open, tmp_path: Path) -> None:
    job = ended(jobs().start(small_job(tmp_path / "run", SESSION)))
    at = open_page(PAGE)
    assert not at.exception
    assert model_in_use(at) == "a small model"
    first, last = (mean_nats(row["held_out"]) for row in (job.rows()[0], job.rows()[-1]))
    assert f"from {first:.2f} to **{last:.2f}** nats" in at.success[0].value
    assert last < first
    assert not (job.out / "run" / "store").exists(), "what is not needed any more makes room"
    query = {name: at.query_params[name] for name in ("run", "model")}
    elsewhere = open_page("pages/token_loss.py", **query)  # a reload is a new session
    assert not elsewhere.exception
    assert model_in_use(elsewhere) == "a small model"
    assert not elsewhere.info


def test_a_model_that_was_continued_stands_beside_what_it_was(open_page: Open, tmp_path: Path, tiny_zip: bytes) -> None:
    for name, content in members(tiny_zip).items():
        (tmp_path / name).write_bytes(content)
    job = small_job(tmp_path / "run", SESSION, init=str(tmp_path), network={}, tokens=2_000)
    job.begun_with = ("", bertviz_lite.load().report.name)
    ended(jobs().start(job))
    at = open_page(PAGE)
    assert not at.exception
    tables = [html.proto.body for html in at.get("html")]
    assert any("before" in body and "milk" in body for body in tables), "the bundled model says milk"
    press(at, "Compare with english-mini")
    assert not at.exception
    assert at.header[0].value == "Compare"
    assert model_in_use(at) == "a small model"
    assert at.selectbox(key="widget_other").value == ""


def test_continuing_gives_the_process_the_model_in_use(open_page: Open, tiny_zip: bytes) -> None:
    at = open_page("pages/checkpoint.py")
    at.file_uploader[0].set_value([("mine.zip", tiny_zip, "application/zip")]).run()
    at.switch_page(PAGE).run()
    at.segmented_control(key="widget_start").set_value("model").run()
    press(at, "Start")
    job = run_of(at)
    assert job.recipe.init is not None
    sent = bertviz_lite.load(job.recipe.init)
    assert sent.config.hidden_size == 32
    assert job.recipe.max_length == sent.config.max_position_embeddings == 40
    assert job.begun_with is not None
    assert job.begun_with[1] == "mine"


def test_an_encoder_alone_can_be_given_a_head(open_page: Open, tiny_zip: bytes) -> None:
    at = opened(open_page, encoder(tiny_zip)).switch_page(PAGE).run()
    at.segmented_control(key="widget_start").set_value("model").run()
    assert not at.exception
    press(at, "Start")
    job = run_of(at)
    assert wait_until(lambda: job.progress().step > 0), job.progress()


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("empty.txt", b"", "is empty"),
        ("blank.txt", b"\n \n", "too few"),
        ("short.txt", b"A few words.", "too few"),
        ("binary.txt", b"\xff\x00\x81" * 99, "not UTF-8"),
        ("two.csv", b"a,b\n1,2\n", "Choose the column"),
    ],
)
def test_a_text_that_cannot_be_used_is_told(open_page: Open, name: str, content: bytes, told: str) -> None:
    at = give(open_page(PAGE), (name, content))
    assert not at.exception
    assert told in at.error[0].value.replace("\\", "")
    assert SAMPLE.name in said(at), "the text that was there is still there"


def test_own_text_in_one_line_is_cut_so_that_a_part_is_held_out(open_page: Open) -> None:
    at = give(open_page(PAGE), ("line.txt", text(3000).replace("\n", " ").encode()))
    assert not at.exception
    assert not at.error
    assert f"{3000 * 5:,} words" in said(at)
    press(at, "Start")
    job = run_of(at)
    assert wait_until(lambda: job.progress().step > 0), job.progress()
    assert list(job.progress().held_out) == ["line"]
    assert job.recipe.probes == ()
    assert job.progress().probes


def test_a_sentence_to_follow_without_a_mask_is_told_before_it_starts(open_page: Open) -> None:
    at = open_page(PAGE, probes="The fox ate the grapes.")
    assert "has no" in at.error[0].value
    press(at, "Start")
    assert not at.exception
    assert "has no" in at.error[0].value
    assert jobs().of(SESSION) is None


def test_files_of_one_name_are_told_apart(open_page: Open) -> None:
    at = give(open_page(PAGE), *(("a" * 200 + ".txt", text(30).encode()) for _ in range(40)))
    press(at, "Start")
    assert not at.error
    assert len(list((run_of(at).folder / "text").iterdir())) == 40


def test_closing_a_text_that_is_closed_already_does_nothing(open_page: Open) -> None:
    at = give(open_page(PAGE), ("a.txt", text().encode()))
    button = at.button(key="close_training_text")
    del at.session_state["training_text"]  # the first of two quick clicks
    assert not button.click().run().exception


def test_two_files_of_one_name_are_two_sources(open_page: Open) -> None:
    at = give(open_page(PAGE), ("a.txt", text().encode()), ("a.csv", b"text\n" + text(300).encode()))
    assert not at.error
    press(at, "Start")
    assert len(list((run_of(at).folder / "text").iterdir())) == 2


def test_a_full_server_is_told(open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_job, "MOST_RUNNING", 1)
    jobs().start(small_job(tmp_path / "run", "somebody else", tokens=None, minutes=5.0))
    at = open_page(PAGE)
    press(at, "Start")
    assert "as many as may be at once" in at.error[0].value
    assert "Start" in [b.label for b in at.button]
    at = open_page(PAGE, run=next(iter(jobs()._jobs)))
    assert "open in another tab" in at.info[0].value, "nobody sees another visitor's run"
