"""The end of a run: the trained model on the shelf, to explore, compare and download; before beside after."""

from __future__ import annotations

import streamlit as st

from bertviz_lite.bundled import EXAMPLES
from bertviz_lite.checkpoints import Checkpoint, load
from bertviz_lite.errors import BertvizError
from bertviz_lite.figures import training as figures
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.training import mean_nats
from bertviz_lite.ui import charts, checkpoint_views, compute, sentence, shelf, state
from bertviz_lite.ui.training.job import Job, jobs, visitor
from bertviz_lite.ui.training.plan import INIT
from bertviz_lite.ui.wording import plain

_SAID = 3  # pieces of an answer
_OPENED = "opened_run"  # in the session: the run whose model was put on the shelf


def mine() -> Job | None:
    """The visitor's run: of this tab, or the one that the address names, after a reload; its model put on the shelf."""
    asked = state.get("run")
    job = jobs().of(visitor()) or (jobs().find(asked, visitor()) if asked else None)
    if job is None:
        return None
    if job.run != asked:
        state.put(run=job.run)
    if _is_to_be_opened(job) and not job.running and job.progress().phase == "done":
        _open(job)
    return job


def put_back() -> None:
    """After a reload the trained model is not on the shelf any more: open it again, whichever page is shown."""
    if state.get("run") and state.get("model") not in shelf.choices():
        job = jobs().find(state.get("run"), visitor())
        if job is not None and job.key == state.get("model") and _is_to_be_opened(job):
            _open(job)


def tell_strange_run() -> None:
    """Say that the address names a run that is not to be had."""
    if state.get("run"):
        st.info("The run that this address names has ended, or it is open in another tab, which alone can steer it.")


def done(job: Job) -> None:
    """Say what was gained and where to go with it."""
    trained = shelf.opened().get(job.key or "")
    if trained is None:
        st.info("The trained model has been closed.")
        st.button("Open it again", key="reopen_run", on_click=st.session_state.pop, args=(_OPENED, None))
        discard_button(job)
        return
    where = "in use on all pages" if state.get("model") == job.key else "in the list of models at the top"
    st.success(f"**{plain(trained.report.name)}** is trained, and {where}.{_gain(job)}")
    with st.container(horizontal=True):
        if st.button("Explore it", key="explore_run", type="primary"):
            state.put(model=job.key, **_first_look(job))
            state.go_to("app.py")
        if job.begun_with is not None and st.button(f"Compare with {plain(job.begun_with[1])}", key="compare_run"):
            state.put(model=job.key, other=_key_before(job))
            state.go_to("pages/compare.py")
        checkpoint_views.zip_button(trained)
        discard_button(job)
    if job.begun_with is not None:
        _beside(job, trained)


def discard_button(job: Job) -> None:
    """Back to the choice of a text; what is on the shelf stays."""
    st.button("Train another", key="discard_run", on_click=_discard, args=(job,))


def _discard(job: Job) -> None:
    jobs().discard(job)
    state.put(run="")


def _is_to_be_opened(job: Job) -> bool:
    """Whether this visit has not had the run's model yet; a model that was closed on purpose stays closed."""
    return bool(st.session_state.get(_OPENED) != job.run)


def _open(job: Job) -> None:
    """Open the trained model as an upload is opened."""
    st.session_state[_OPENED] = job.run
    try:
        with st.spinner("Opening the trained model …"):
            shelf.open_source(job.out, name=job.name, note=f"Trained here: {job.about.replace('*', '')}.")
    except BertvizError as error:
        st.session_state["training_refused"] = str(error)
        return
    job.key = state.get("model")
    job.keep_result()
    st.rerun()


def _gain(job: Job) -> str:
    judged = [row for row in job.rows() if row.get("held_out")]
    if len(judged) < 2:
        return ""
    first, last = (mean_nats(row["held_out"]) for row in (judged[0], judged[-1]))
    verb = "fell" if last < first else "went"
    return f" Loss on held-out text {verb} from {first:.2f} to **{last:.2f}** nats."


def _first_look(job: Job) -> dict[str, object]:
    """A sentence of the text that was learnt from, in place of an example that no visitor chose."""
    asked = [row for row in job.rows() if row.get("probes")]
    if not asked or state.get("text") not in {example.text for example in EXAMPLES}:
        return {}
    return {"text": asked[-1]["probes"][0]["text"], "mask": ()}


def _key_before(job: Job) -> str:
    """The key of the model that was continued, opened again where it was closed."""
    key, name = job.begun_with or ("", "")
    if key in shelf.choices():
        return key
    in_use = state.get("model")
    shelf.open_source(job.folder / INIT, name=name)
    key = state.get("model")
    state.put(model=in_use)
    return str(key)


def _beside(job: Job, after: Checkpoint) -> None:
    """The visitor's sentence under both models."""
    st.markdown("**Your sentence, before and after**")
    encoding = sentence.box(after)
    sentence.row(encoding, clickable=True)
    before = _before(job)
    models = [model for model in (before, after) if model.predicts]
    if not encoding.mask_positions:
        st.info("Nothing is masked: click a word above.")
        return
    said = [_said(model, encoding) for model in models]
    around = _around(encoding)
    asked = [figures.Asked(*around[i], [answers[i] for answers in said]) for i in range(len(around))]
    names = ["before", "after"][-len(models) :]
    st.html(figures.answers(names, asked, dark=charts.is_dark()))


def _before(job: Job) -> Checkpoint:
    """The model that was continued; where it was closed, read from the run's folder once for the visit."""
    key, name = job.begun_with or ("", "")
    if key in shelf.choices():
        return shelf.get(key)
    read: dict[str, Checkpoint] = st.session_state.setdefault("begun_with", {})
    if job.run not in read:
        read.clear()
        read[job.run] = load(job.folder / INIT, name=name, headless=True)
    return read[job.run]


def _said(model: Checkpoint, encoding: Encoding) -> list[list[tuple[str, float]]]:
    found = compute.predictions(model, encoding, _SAID, compute.Choice())
    return [
        [(model.tokenizer.piece(int(i)), float(p)) for i, p in zip(ids, probs, strict=True)]
        for ids, probs in zip(found.ids, found.probs, strict=True)
    ]


def _around(encoding: Encoding) -> list[tuple[str, str]]:
    inside = range(1, len(encoding) - 1)
    return [
        (
            " ".join(encoding.pieces[i] for i in inside if i < at) + " ",
            " " + " ".join(encoding.pieces[i] for i in inside if i > at),
        )
        for at in encoding.mask_positions
    ]


__all__ = ["discard_button", "done", "mine", "put_back", "tell_strange_run"]
