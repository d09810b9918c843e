"""Whole runs: what they learn and leave, and that an interrupted one is the uninterrupted one."""

from __future__ import annotations

import itertools
import json
import math
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from small_texts import curve, recipe, sentence

import bertviz_lite
from bertviz_lite.errors import ConfigError, TextError, TrainingError
from bertviz_lite.training import Hooks, Progress, pretrain, read_log, read_status, resume, run
from bertviz_lite.training.corpus import find_sources

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    out = tmp_path_factory.mktemp("runs") / "finished"
    assert pretrain(recipe(corpus, checkpoint_steps=(0, 10)), out).phase == "done"
    return out


def weights(out: Path) -> dict[str, torch.Tensor]:
    return load_file(out / "model.safetensors")


def assert_same_run(a: Path, b: Path) -> None:
    assert curve(a) == curve(b)
    ours, others = weights(a), weights(b)
    assert all(torch.equal(ours[name], others[name]) for name in ours)


def stop_after(n: int) -> Hooks:
    """Asked before every step (and while preparing): yes from the n-th time on."""
    asked = iter(range(10_000))
    return Hooks(stop=lambda: next(asked) >= n)


def test_the_log_is_the_curve(finished: Path) -> None:
    rows = curve(finished)
    first, last = rows[0], rows[-1]
    assert [row["step"] for row in rows] == list(range(len(rows)))
    assert last["tokens"] >= 6000
    rates = [row["lr"] for row in rows]
    assert set(first["held_out"]) == set(last["held_out"]) == {"meadow", "village"}
    assert sum("held_out" in row for row in rows) == 21
    assert last["probes"]
    assert max(rates) == pytest.approx(3e-3, rel=0.05)
    assert rates[-1] < 1.5e-4


def test_a_run_learns_what_can_be_learnt(tmp_path: Path) -> None:
    """A text in which every word follows from its neighbours: nearly all of the loss can go."""
    words = ["red", "green", "blue", "black", "white", "brown", "grey", "pink"]
    lines = [" ".join((words * 2)[i : i + 8]) + "." for i in range(8)]
    (tmp_path / "ring.txt").write_text("\n".join(lines * 50), encoding="utf-8")
    sizes = {"num_hidden_layers": 1, "hidden_size": 32, "num_attention_heads": 4, "initializer_range": 0.1}
    probe = "red green [MASK] black white brown grey pink."
    short = recipe(
        tmp_path / "ring.txt", tokens=150_000, lr=1e-2, sentence_share=1.0, network=sizes, probes=(probe,), log_steps=50
    )
    done = pretrain(short, tmp_path / "out")
    assert done.held_out["ring"]["loss_nats"] < 0.05
    assert done.held_out["ring"]["accuracy"] == 1
    assert done.probes[0]["masks"][0]["pieces"][0] == "blue"


def test_the_output_bias_starts_at_the_log_frequencies_of_the_training_text(finished: Path, corpus: Path) -> None:
    start = bertviz_lite.load(finished / "run" / "start")
    counts: Counter[int] = Counter(range(len(start.tokenizer)))  # one more of each, so that none is 0
    for source in find_sources([corpus]):
        for i, block in enumerate(source.blocks()):
            if i % 100 != 10:  # else held out
                counts.update(token for line in block for token in start.tokenizer.encode(line).ids[1:-1])
    expected = torch.tensor([math.log(counts[i] / counts.total()) for i in range(len(start.tokenizer))])
    torch.testing.assert_close(start.model.cls.predictions.bias.detach(), expected)


def test_a_flat_start_knows_no_frequencies(corpus: Path, tmp_path: Path) -> None:
    pretrain(recipe(corpus, tokens=300, flat_start=True, checkpoint_steps=(0,)), tmp_path / "flat")
    start = bertviz_lite.load(tmp_path / "flat" / "checkpoints" / "step-000000")
    assert not start.model.cls.predictions.bias.any()
    first = next(row for row in curve(tmp_path / "flat") if "held_out" in row)["held_out"]
    assert first["meadow"]["loss_nats"] == pytest.approx(math.log(len(start.tokenizer)), abs=0.2)  # a blind guess


def test_the_trained_model_opens_in_transformers(finished: Path) -> None:
    ours = bertviz_lite.load(finished)
    theirs = transformers.BertForMaskedLM.from_pretrained(finished).eval()
    text = "The cat sees the [MASK] in the garden."
    ids = torch.tensor([ours.tokenizer.encode(text).ids])
    assert transformers.AutoTokenizer.from_pretrained(finished)(text)["input_ids"] == ids[0].tolist()
    with torch.no_grad():
        torch.testing.assert_close(ours.model(ids).logits, theirs(ids).logits, atol=1e-5, rtol=0)


def test_checkpoints_are_kept_at_the_steps_asked_for(finished: Path) -> None:
    kept = sorted(path.name for path in (finished / "checkpoints").iterdir())
    assert kept == ["step-000000", "step-000010"]
    start, tenth = (weights(finished / "checkpoints" / name) for name in kept)
    assert all(torch.equal(start[name], tensor) for name, tensor in weights(finished / "run" / "start").items())
    assert any(not torch.equal(start[name], tenth[name]) for name in start)
    assert bertviz_lite.load(finished / "checkpoints" / "step-000010").predicts


def test_half_is_the_same_model_in_half_the_space(finished: Path, corpus: Path, tmp_path: Path) -> None:
    pretrain(recipe(corpus, checkpoint_steps=(10,), half=True), tmp_path / "a")
    for whole in (finished, finished / "checkpoints" / "step-000010"):
        halved = tmp_path / "a" / whole.relative_to(finished)
        assert all(tensor.dtype == torch.float16 for tensor in weights(halved).values())
        for name, tensor in weights(whole).items():
            assert torch.equal(tensor.half(), weights(halved)[name]), name
    assert bertviz_lite.load(tmp_path / "a").config.tie_word_embeddings


def test_the_status_tells_a_page_what_to_show(finished: Path) -> None:
    status = read_status(finished / "run")
    assert isinstance(status, Progress)
    assert (status.phase, status.share, status.seconds_left) == ("done", 1.0, 0.0)
    assert set(status.held_out) == {"meadow", "village"}
    shown = status.example
    assert len(shown["pieces"]) == len(shown["input_pieces"]) == len(shown["kinds"])
    for piece, read, kind in zip(shown["pieces"], shown["input_pieces"], shown["kinds"], strict=True):
        assert kind != "masked" or read == "[MASK]"
        assert kind not in ("kept", "not selected") or read == piece
    assert "masked" in shown["kinds"]
    for probe in status.probes:
        assert "[MASK]" in probe["text"]
        assert all(len(m["pieces"]) == len(m["probs"]) == 5 for m in probe["masks"])


def test_the_seed_decides_everything(finished: Path, corpus: Path, tmp_path: Path) -> None:
    again = recipe(corpus, checkpoint_steps=(0, 10))
    pretrain(again, tmp_path / "same")
    assert_same_run(finished, tmp_path / "same")
    pretrain(replace(again, seed=4), tmp_path / "other")
    assert curve(finished)[1]["loss_nats"] != curve(tmp_path / "other")[1]["loss_nats"]


def test_stopped_and_resumed_is_the_same_run(finished: Path, corpus: Path, tmp_path: Path) -> None:
    stopped = pretrain(recipe(corpus, checkpoint_steps=(0, 10)), tmp_path / "a", hooks=stop_after(15))
    assert stopped.phase == "stopped"
    assert 0 < stopped.step < curve(finished)[-1]["step"]
    assert resume(tmp_path / "a", hooks=stop_after(0)).phase == "stopped"
    assert resume(tmp_path / "a").phase == "done"
    assert_same_run(finished, tmp_path / "a")


def test_resuming_with_dropout_and_several_batches_a_step(corpus: Path, tmp_path: Path) -> None:
    harder = recipe(corpus, dropout=0.1, accumulate=2, log_steps=3, schedule="wsd", evaluate_tokens=2500)
    pretrain(harder, tmp_path / "whole")
    pretrain(harder, tmp_path / "halves", hooks=stop_after(8))
    resume(tmp_path / "halves")
    assert_same_run(tmp_path / "whole", tmp_path / "halves")


def test_a_stop_file_ends_a_run_with_its_state_saved(corpus: Path, tmp_path: Path) -> None:
    def listen(progress: Progress) -> None:
        if progress.step == 3:
            (tmp_path / "a" / "run" / "stop").touch()

    assert pretrain(recipe(corpus), tmp_path / "a", hooks=Hooks(listen=listen)).step == 3
    assert resume(tmp_path / "a").phase == "done"


@pytest.mark.parametrize("moment", [0.0, 0.3, 0.7])
def test_killed_at_any_moment_and_resumed_is_the_same_run(
    finished: Path, corpus: Path, tmp_path: Path, moment: float
) -> None:
    """A process of its own, which saves all the time, is killed with SIGKILL at three moments of its run."""
    out = tmp_path / "killed"
    (tmp_path / "recipe.json").write_text(
        recipe(corpus, checkpoint_steps=(0, 10), save_minutes=0).to_json(), encoding="utf-8"
    )
    code = (
        "import sys, torch; from pathlib import Path; from bertviz_lite.training import Recipe, pretrain\n"
        "torch.set_num_threads(1)\n"
        "pretrain(Recipe.from_json(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "recipe.json"), str(out)], cwd=ROOT)
    n_steps = curve(finished)[-1]["step"]
    while process.poll() is None and not (out / "run" / "recipe.json").is_file():
        time.sleep(0.001)
    while process.poll() is None and moment and len(read_log(out / "run")) < moment * n_steps:
        time.sleep(0.001)
    time.sleep(random.random() * 0.02)  # noqa: S311 - somewhere within a step
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    resume(out)
    assert_same_run(finished, out)


def test_continuing_a_checkpoint_starts_from_its_weights(finished: Path, corpus: Path, tmp_path: Path) -> None:
    pretrain(recipe(corpus, init=str(finished), network={}, tokens=1500), tmp_path / "on")
    start = weights(tmp_path / "on" / "run" / "start")
    assert all(torch.equal(start[name], tensor) for name, tensor in weights(finished).items())
    rows = curve(tmp_path / "on")
    assert rows[0]["held_out"] == curve(finished)[-1]["held_out"]


def test_an_encoder_without_a_head_gets_a_fresh_tied_one(finished: Path, corpus: Path, tmp_path: Path) -> None:
    encoder = tmp_path / "encoder"
    bertviz_lite.load(finished).save_pretrained(encoder)
    tensors = {n: t for n, t in weights(finished).items() if n.startswith("bert.")}
    save_file(tensors, encoder / "model.safetensors", metadata={"format": "pt"})
    pretrain(recipe(corpus, init=str(encoder), network={}, tokens=1500), tmp_path / "on")
    start = bertviz_lite.load(tmp_path / "on" / "run" / "start")
    assert start.config.tie_word_embeddings
    assert all(torch.equal(start.model.state_dict()[name], tensor) for name, tensor in tensors.items())
    bias = start.model.cls.predictions.bias.exp()
    assert bias.sum().item() == pytest.approx(1, abs=1e-4)  # frequencies
    assert bias[start.tokenizer.id("the")] > 10 * bias[start.tokenizer.id("sailor") or 0]
    assert bertviz_lite.load(tmp_path / "on").predicts


def test_a_loss_that_is_no_number_stops_and_keeps_the_state(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"no finite number at step \d+.*is kept.*lower learning rate"):
        pretrain(recipe(corpus, lr=1e30, warmup=0.0, clip=1e30, save_minutes=1000), tmp_path / "a")
    assert read_status(tmp_path / "a" / "run").phase == "failed"  # type: ignore[union-attr]
    state = load_file(tmp_path / "a" / "run" / "state.safetensors")
    assert all(tensor.isfinite().all() for tensor in state.values())


def test_a_full_disk_stops_and_keeps_the_last_state(corpus: Path, tmp_path: Path) -> None:
    """A process that may write no file above 100 KB, once its state of step 0 is there."""
    code = (
        "import resource, sys; from pathlib import Path; from bertviz_lite.training import *\n"
        "from bertviz_lite.errors import TrainingError\n"
        "def listen(p):\n"
        "    if p.step == 5: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n"
        "    pretrain(Recipe.from_json(Path(sys.argv[1]).read_text()), Path(sys.argv[2]), hooks=Hooks(listen=listen,\n"
        "             stop=lambda: False))\n"
        "except TrainingError as error: print(error)"
    )
    (tmp_path / "recipe.json").write_text(recipe(corpus, save_minutes=0).to_json(), encoding="utf-8")
    command = [sys.executable, "-c", code, str(tmp_path / "recipe.json"), str(tmp_path / "a")]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "state.safetensors cannot be written" in told
    assert "what was saved before is kept" in told
    assert read_status(tmp_path / "a" / "run").phase == "failed"  # type: ignore[union-attr]
    assert not list((tmp_path / "a" / "run").glob(".*.new"))
    assert resume(tmp_path / "a").phase == "done"


def test_folders_in_use_are_left_alone(finished: Path, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    for out, told in ((finished, "holds a run already"), (tmp_path, "not an empty folder")):
        with pytest.raises(TrainingError, match=told):
            pretrain(recipe(corpus), out)
    with pytest.raises(TrainingError, match="has ended"):
        resume(finished)
    with pytest.raises(TrainingError, match="holds no run"):
        resume(tmp_path)


def test_two_processes_do_not_train_in_one_folder(corpus: Path, tmp_path: Path) -> None:
    def meanwhile(progress: Progress) -> None:
        if progress.step == 2:
            with pytest.raises(TrainingError, match="Another process is training"):
                resume(tmp_path / "a")

    assert pretrain(recipe(corpus), tmp_path / "a", hooks=Hooks(listen=meanwhile)).phase == "done"


def test_too_little_memory_is_told(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTVIZ_MAX_GB", "1e6")
    wide = {"hidden_size": 2**20, "num_attention_heads": 2, "num_hidden_layers": 1, "vocab_size": 90}
    with pytest.raises(TrainingError, match="not enough memory"):
        pretrain(recipe(corpus, network=wide), tmp_path / "a")  # a matrix of 2**40 numbers


def test_what_cannot_be_trained_is_told_before_it_starts(finished: Path, corpus: Path, tmp_path: Path) -> None:
    cases = (
        (recipe(corpus, weights={"moor": 2.0}), TrainingError, "no source called moor.*meadow, village"),
        (recipe(corpus, probes=("No mask here.",)), TextError, "has no"),
        (recipe(corpus, probes=("[MASK] " * 40,)), TextError, "42 tokens"),
        (recipe(corpus, init=str(finished), max_length=40), ConfigError, "at most 32"),
        (recipe(corpus, network={"hidden_size": 10, "num_attention_heads": 3}), ConfigError, "num_attention_heads"),
        (recipe(corpus, network={"num_hidden_layers": 10**6}), ConfigError, "at most 512"),
        (recipe(corpus, network={"hidden_size": 2**16}), ConfigError, "GB in float32; at most 8.0 GB"),
        (recipe(tmp_path / "nowhere"), TrainingError, "no file or folder"),
    )
    for i, (wrong, error, told) in enumerate(cases):
        with pytest.raises(error, match=told):
            pretrain(wrong, tmp_path / str(i))


def test_a_text_without_held_out_part_trains_all_the_same(tmp_path: Path) -> None:
    rng = random.Random(0)  # noqa: S311
    (tmp_path / "short.txt").write_text(" ".join(sentence(rng) for _ in range(40)), encoding="utf-8")
    done = pretrain(recipe(tmp_path / "short.txt", tokens=500, network={"vocab_size": 90}), tmp_path / "out")
    assert done.phase == "done"
    assert done.held_out == {}


def test_minutes_count_over_all_sittings(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on 10 ms whenever it is read; between the sittings lies an hour."""
    clock = itertools.count()
    monkeypatch.setattr(run, "time", SimpleNamespace(monotonic=lambda: 0.01 * next(clock)))
    short = recipe(corpus, tokens=None, minutes=0.05)
    first = pretrain(short, tmp_path / "a", hooks=stop_after(15))
    assert 0 < first.seconds < 1
    clock = itertools.count(360_000)
    done = resume(tmp_path / "a")
    assert done.phase == "done"
    assert 3 <= done.seconds < 3.1
    rates = [row["lr"] for row in curve(tmp_path / "a")]
    assert rates[-1] < 0.05 * max(rates)


def test_auto_precision_is_measured_and_told(corpus: Path, tmp_path: Path) -> None:
    pretrain(recipe(corpus, tokens=500, precision="auto"), tmp_path / "a")
    (note,) = [row["note"] for row in read_log(tmp_path / "a" / "run") if "note" in row]
    assert "float32" in note
    assert "bfloat16" in note
    chosen = json.loads((tmp_path / "a" / "run" / "recipe.json").read_text(encoding="utf-8"))["precision"]
    assert note.endswith(f"training in {chosen}.")
