"""The Train page's pictures: the text before training, the run while it goes, the model before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from bertviz_lite.errors import BertvizError
from bertviz_lite.figures import predictions
from bertviz_lite.figures import training as figures
from bertviz_lite.training import KINDS, NOT_SELECTED, MaskingRule, Progress, mean_nats
from bertviz_lite.ui import charts
from bertviz_lite.ui.training import end as training_end
from bertviz_lite.ui.training.job import Job, jobs
from bertviz_lite.ui.training.plan import Plan
from bertviz_lite.ui.wording import plain

_POLL_SECONDS = 1.0
_MOMENTS = (0.0, 0.08, 0.2, 0.5)  # of the time: columns of answers, which stay where they are; then the latest
_SAID = 3  # pieces of an answer
_MOST_ASKED = 6  # rows of answers

Row = Mapping[str, Any]


def before(plan: Plan) -> None:
    """What the text gives before anything is pressed."""
    seen = plan.seen()
    whose = "a new model" if plan.size is not None else "this model"
    st.markdown(f"**{plain(plan.text.name)}**, {plan.text.n_words:,} words. {plain(plan.text.about)}")
    rule = plan.recipe(()).masking
    st.markdown(
        f"One training example of it, as {whose} reads it. Tokens in a box are asked for ({rule.rate:.0%} of them"
        f"{', twice the usual share, since the time is short' if rule.rate == 2 * MaskingRule().rate else ''}), "
        f"with the right answer below: {rule.masked_share:.0%} of these are hidden, {rule.random_share:.0%} are "
        "exchanged, the rest stand as they are."
    )
    _example(seen.example)
    picture, words = st.columns(2, gap="large")
    with picture:
        st.markdown("**The text's commonest pieces**, by their share of it")
        charts.chart(predictions.bars(seen.pieces, seen.probs, what="share", dark=charts.is_dark()), "common_pieces")
    with words:
        st.markdown("**What guessing costs**")
        st.markdown(
            f"Blindly among {seen.vocab_size:,} pieces: ln {seen.vocab_size:,} = **{seen.uniform_nats:.2f}** nats a "
            f"token. With the share p of every piece known, as in the bars: −Σ p ln p = **{seen.unigram_nats:.2f}**."
        )
        st.markdown(
            "A new model is given these shares as its first biases, so it begins near the second line. Whatever it "
            "gains below that it has learnt from the words around the mask."
            if plan.size is not None
            else "This model has read text before and begins below both; what it gains it has learnt from this one."
        )


def run(job: Job) -> None:
    """A run: live while it goes, its end when it has ended."""
    if job.running:
        st.fragment(_live, run_every=_POLL_SECONDS)(job)
        return
    progress = job.progress()
    if progress.phase == "done":
        training_end.done(job)
    else:
        _ended(job, progress)
    _pictures(job, progress)


def moments(rows: Sequence[Row], minutes: float) -> list[Row]:
    """The rows with answers, at most a few: the first after each share of the time, and the latest."""
    asked = [row for row in rows if row.get("probes")]
    due = [[i for i, row in enumerate(asked) if row["minutes"] >= share * minutes] for share in _MOMENTS]
    return [asked[i] for i in sorted({*(late[0] for late in due if late), len(asked) - 1})] if asked else []


def _live(job: Job) -> None:
    if not job.running:
        st.rerun()  # the whole page: the model is to be opened
    progress = job.progress()
    with st.container(key="live"):
        told, button = st.columns([5, 1], vertical_alignment="center")
        with told:
            st.progress(progress.share, _sentence(job, progress))
        with button:
            stop = "Stopping …" if job.stopping else "Stop"
            st.button(stop, key="stop_run", on_click=job.stop, disabled=job.stopping, width="stretch")
        _pictures(job, progress)


def _sentence(job: Job, progress: Progress) -> str:
    if progress.phase == "preparing" or progress.loss_nats is None:
        return f"{job.about}. {plain(progress.message or 'The first step is on its way.')}"
    if progress.share >= 1:
        return f"{job.about}. The time is used: judged once more, then written."
    return (
        f"{job.about}: {progress.seconds:.0f} of {60 * (job.recipe.minutes or 0):.0f} s, step {progress.step:,}, "
        f"{progress.tokens_per_second or 0:,.0f} tokens/s, loss on the training text **{progress.loss_nats:.2f}** nats"
    )


def _ended(job: Job, progress: Progress) -> None:
    """A run that is not at its end: say why, and what can be done."""
    show = st.error if progress.phase == "failed" else st.info
    saved = job.saved_steps
    show(plain(progress.message) + (f" {saved:,} steps are saved." if saved else ""))
    with st.container(horizontal=True):
        st.button("Go on", key="resume_run", type="primary", on_click=_resume, args=(job, True))
        if saved:
            st.button("Take the model as it is", key="finish_run", on_click=_resume, args=(job, False))
        training_end.discard_button(job)


def _resume(job: Job, to_the_end: bool) -> None:
    try:
        jobs().resume(job, to_the_end=to_the_end)
    except BertvizError as error:
        st.session_state["training_refused"] = str(error)


def _pictures(job: Job, progress: Progress) -> None:
    rows = job.rows()
    charts.chart(figures.curve(_curve(job, progress, rows), dark=charts.is_dark()), "training_curve")
    if rows and not progress.held_out and progress.phase != "preparing":
        st.caption("This text is too short for a held-out part: the loss is that of the text it learns from.")
    if found := moments(rows, job.recipe.minutes or 0):
        st.markdown("**What it says to sentences that it is asked again and again**")
        names = [_moment(row) for row in found]
        st.html(figures.answers(names, _asked(found), n_columns=len(_MOMENTS) + 1, dark=charts.is_dark()))
    if progress.example:
        st.markdown("**A training example of the last batch**: what it reads, and below what is asked for the answer")
        _example(progress.example)


def _curve(job: Job, progress: Progress, rows: Sequence[Row]) -> figures.Curve:
    learnt = [row for row in rows if row.get("loss_nats") is not None]
    judged = [row for row in rows if row.get("held_out")]
    from_scratch = job.begun_with is None
    return figures.Curve(
        seconds=[60 * row["minutes"] for row in learnt],
        loss_nats=[row["loss_nats"] for row in learnt],
        lr=[row["lr"] for row in learnt],
        held_seconds=[60 * row["minutes"] for row in judged],
        held_out_nats=[mean_nats(row["held_out"]) for row in judged],
        budget_seconds=60 * (job.recipe.minutes or 0),
        peak_lr=job.recipe.peak_lr,
        uniform_nats=progress.uniform_nats if from_scratch else None,  # far above a model that has learnt
        unigram_nats=progress.unigram_nats if from_scratch else None,
    )


def _moment(row: Row) -> str:
    return "before" if row["step"] == 0 else f"after {60 * row['minutes']:.0f} s"


def _asked(rows: Sequence[Row]) -> list[figures.Asked]:
    """Every masked place of the probes with its answers by moment."""
    found = []
    for i, probe in enumerate(rows[-1]["probes"]):
        answers = [row["probes"][i]["masks"] for row in rows]
        parts = split_at_masks(probe["text"], len(probe["masks"]))
        for place in range(len(probe["masks"])):
            said = [list(zip(a[place]["pieces"], a[place]["probs"], strict=True))[:_SAID] for a in answers]
            found.append(figures.Asked(*parts[place], said))
    return found[:_MOST_ASKED]


def split_at_masks(text: str, n_masks: int) -> list[tuple[str, str]]:
    """The text before and after each of its masks; other tokens than [MASK] are left as they are."""
    around = text.split("[MASK]")
    if len(around) != n_masks + 1:
        return [(f"{text} ", "")] * n_masks
    return [("[MASK]".join(around[: i + 1]), "[MASK]".join(around[i + 1 :])) for i in range(n_masks)]


def _example(example: Mapping[str, Any]) -> None:
    st.html(figures.example(example["pieces"], example["input_pieces"], example["kinds"], asked_of=KINDS[NOT_SELECTED]))


__all__ = ["before", "moments", "run", "split_at_masks"]
