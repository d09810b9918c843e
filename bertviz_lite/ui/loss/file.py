"""The view of the Token loss page on a file: scored line by line, as a histogram, as a table, to download."""

from __future__ import annotations

import hashlib
import io
from typing import Any

import pandas as pd
import streamlit as st

from bertviz_lite.analysis import Metric, ScoredLine, Totals
from bertviz_lite.bundled import sample_file
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.figures import scoring as figures
from bertviz_lite.texts import KINDS, MOST_BYTES, MOST_LINES, Texts, read_texts
from bertviz_lite.ui import charts, compute, own_file, state
from bertviz_lite.ui.loss import job as file_job
from bertviz_lite.ui.loss import metrics
from bertviz_lite.ui.loss import sentence as loss_view
from bertviz_lite.ui.switch import switch
from bertviz_lite.ui.wording import plain

_MOST_ROWS = 1_000  # sent to the browser; the files to download hold all
_ORDERS = {"high": "Highest loss first", "low": "Lowest first", "file": "As in the file"}
_SAMPLE = "sentences.txt"


def draw(checkpoint: Checkpoint) -> None:
    """Choose a file and what to ask, score, draw."""
    picture, controls = st.columns([3, 1], gap="large")
    with controls:
        texts, digest = _texts()
        column = _column(texts)
        metric = metrics.pick()
        st.radio("Unit", ["nats", "bits"], horizontal=True, **state.keyed("unit"))
    if column is None:
        return
    key = (digest, column, metric, checkpoint.report.digest)
    with picture:
        job = file_job.job_for(key, texts.lines(column), metric)
        if digest == _SAMPLE and not job.done:
            job.start()
        offer = st.empty()  # takes the button away the moment it is pressed, not when the file is done
        if not (job.running or job.finished):
            with offer.container():
                _offer(texts, job)
        file_job.run(checkpoint, job)
        if not job.done:
            return
        scored = job.scored
        st.markdown(_told(texts, job))
        if scored:
            _histogram(scored)
            _chosen(checkpoint, _ordered(scored), metric)
        _errors(job)
    if scored:
        _downloads(texts, job)


def table(lines: list[ScoredLine], metric: Metric) -> pd.DataFrame:
    """All numbers, one row a line; a line without a score says why."""
    rows = []
    for line in lines:
        sums = line.totals
        rows.append(
            {
                "line": line.line.number,
                "text": line.line.text,
                "metric": metric,
                "sum_nats": None if sums is None else sums.sum_nats,
                "tokens": None if sums is None else sums.n_tokens,
                "words": None if sums is None else sums.n_words,
                "mean_nats": None if sums is None else sums.mean_nats,
                "pseudo_perplexity": None if sums is None else sums.perplexity,
                "word_perplexity": None if sums is None else sums.word_perplexity,
                "bits_per_character": None if sums is None else sums.bits_per_character,
                "error": line.error,
            }
        )
    return pd.DataFrame(rows).astype({"tokens": "Int64", "words": "Int64"})


def _texts() -> tuple[Texts, str]:
    """The visitor's file, or the sentences that ship; and its digest."""
    session = st.session_state
    given: Any = st.file_uploader(
        "A file: one sentence a line, or a table",
        type=[kind.removeprefix(".") for kind in KINDS],
        max_upload_size=MOST_BYTES >> 20,
        key=own_file.box_key("texts"),
        help=f"TXT, CSV, TSV or Parquet, up to {MOST_LINES:,} lines. It stays in this server's memory, for you alone.",
    )
    own_file.keep("texts", given, lambda: _read(given.name, given.getvalue()))
    if "texts" in session:
        own_file.close_button("texts", session["texts"][0].name)
        found: tuple[Texts, str] = session["texts"]
        return found
    return read_texts(_SAMPLE, sample_file()), _SAMPLE


def _read(name: str, content: bytes) -> tuple[Texts, str]:
    return read_texts(name, content), hashlib.sha256(content).hexdigest()


def _column(texts: Texts) -> str | None:
    """The column with the texts, chosen where a table has several."""
    if len(texts.columns) == 1:
        return texts.usual_column
    names = list(texts.columns)
    index = names.index(texts.usual_column) if texts.usual_column in names else None
    return st.selectbox("Column with the texts", names, index=index, key="texts_column")


def _offer(texts: Texts, job: file_job.Job) -> None:
    n, done = len(job.lines), len(job.done)
    label = f"Go on from line {done + 1:,}" if done else f"Score {n:,} line{'s' * (n > 1)}"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(label, type="primary", key="score_file", on_click=job.start)
        if not done:
            st.markdown(f"**{plain(texts.name)}** begins: {plain(job.lines[0].text[:80])}")


def _told(texts: Texts, job: file_job.Job) -> str:
    sums, unit = job.totals, state.get("unit")
    told = f"**{len(job.scored):,} of {len(job.lines):,}** lines of **{plain(texts.name)}** scored"
    if not sums.n_tokens:
        return f"{told}."
    return (
        f"{told}: {metrics.in_unit(sums.sum_nats):,.1f} {unit} over {sums.n_tokens:,} tokens. Perplexity of the whole: "
        f"**{sums.perplexity:,.2f}** a token, **{sums.word_perplexity:,.2f}** a word; "
        f"**{sums.bits_per_character:.3f}** bits a character."
    )


def _mean(line: ScoredLine) -> float:
    return (line.totals or Totals()).mean_nats


def _ordered(scored: list[ScoredLine]) -> list[ScoredLine]:
    order = state.get("order")
    return scored if order == "file" else sorted(scored, key=_mean, reverse=order == "high")


def _histogram(scored: list[ScoredLine]) -> None:
    means = [_mean(line) for line in scored]
    most = metrics.in_unit(figures.top(means))
    shown = [metrics.in_unit(mean) for mean in means]
    figure = figures.histogram(shown, unit=state.get("unit"), most=most, dark=charts.is_dark())
    charts.chart(figure, "file_histogram")


def _chosen(checkpoint: Checkpoint, lines: list[ScoredLine], metric: Metric) -> None:
    """The table, and the line that is pressed in it, coloured."""
    switch("Order", _ORDERS, "order")
    place = st.container()
    frame = table(lines[:_MOST_ROWS], metric)
    shown = pd.DataFrame(
        {
            "line": frame["line"],
            "text": frame["text"],
            f"mean ({state.get('unit')})": frame["mean_nats"].map(metrics.in_unit),
            f"sum ({state.get('unit')})": frame["sum_nats"].map(metrics.in_unit),
            "tokens": frame["tokens"],
            "perplexity": frame["pseudo_perplexity"],
        }
    )
    number = st.column_config.NumberColumn(format="%.2f")
    columns = {**dict.fromkeys(shown.columns[2:4], number), "perplexity": metrics.columns()["perplexity"]}
    picked = st.dataframe(
        shown,
        hide_index=True,
        height=320,
        key="file_table",
        on_select="rerun",
        selection_mode="single-row",
        column_config={**columns, "text": st.column_config.TextColumn(width="large")},
    )
    rows = [row for row in picked.selection.rows if row < len(shown)]
    line = lines[rows[0] if rows else 0].line
    if len(lines) > _MOST_ROWS:
        st.caption(f"The first {_MOST_ROWS:,} of {len(lines):,}; the files below hold all.")
    with place:
        st.markdown(f"**Line {line.number:,}**, token by token" + ("" if rows else "; press a row for another"))
        encoding = checkpoint.tokenizer.encode(line.text)
        scores = compute.scores(checkpoint, encoding, metric)
        loss_view.plain_row(checkpoint, encoding, scores, figures.top(scores.loss_nats.tolist()), "chips_line")


def _errors(job: file_job.Job) -> None:
    wrong = [line for line in job.done if line.error is not None]
    if wrong:
        with st.expander(f"{len(wrong):,} line{'s' * (len(wrong) > 1)} without a score", expanded=len(wrong) <= 5):
            rows = [{"line": line.line.number, "why": line.error} for line in wrong[:_MOST_ROWS]]
            st.dataframe(pd.DataFrame(rows), hide_index=True)


def _downloads(texts: Texts, job: file_job.Job) -> None:
    stem = f"{texts.name.rsplit('.', 1)[0]}-{job.metric}"

    def csv() -> bytes:
        return table(job.done, job.metric).to_csv(index=False).encode()

    def parquet() -> bytes:
        packed = io.BytesIO()
        table(job.done, job.metric).to_parquet(packed, index=False)
        return packed.getvalue()

    with st.container(horizontal=True):
        st.download_button("All lines as CSV", csv, f"{stem}.csv", "text/csv", on_click="ignore")
        st.download_button(
            "All lines as Parquet", parquet, f"{stem}.parquet", "application/vnd.apache.parquet", on_click="ignore"
        )


__all__ = ["draw", "table"]
