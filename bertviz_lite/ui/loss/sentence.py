"""The view of the Token loss page on one sentence: coloured, as bars, in numbers, and by all metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from bertviz_lite.analysis import METRICS, TokenScores, Totals, require_numbers, totals
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.figures import scoring as figures
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui import charts, compute, numbers, sentence, state
from bertviz_lite.ui.loss import metrics

_QUICK = 64  # tokens up to which all metrics are shown unasked


@dataclass(frozen=True)
class Unit:
    """A piece or a word as it is drawn.

    Attributes:
        label: its spelling.
        positions: its tokens.
        loss_nats: what they cost together.
        tip: what hovering tells.
    """

    label: str
    positions: tuple[int, ...]
    loss_nats: float
    tip: str


def draw(checkpoint: Checkpoint) -> None:
    """Read the inputs, score, draw."""
    encoding = sentence.box(checkpoint)
    picture, controls = st.columns([3, 1], gap="large")
    with controls:
        metric = metrics.pick(labelled=True)
        with st.container(horizontal=True, gap="medium"):
            st.radio("Unit", ["nats", "bits"], horizontal=True, width="content", **state.keyed("unit"))
            st.radio("By", ["pieces", "words"], horizontal=True, width="content", **state.keyed("by"))
    labelled = metric == metrics.LABELLED
    with picture:
        if labelled and encoding.ids == encoding.typed_ids:
            sentence.row(encoding, clickable=True)
            st.info("Nothing is masked yet: click the words to be asked for.")
            return
        scores = compute.labelled(checkpoint, encoding) if labelled else compute.scores(checkpoint, encoding, metric)
        require_numbers(scores.loss_nats)
        shown = encoding if labelled else encoding.masked(())
        coloured(checkpoint, shown, scores, clickable=labelled)
        side_by_side(checkpoint, encoding)
    sums = totals(encoding, scores.positions.tolist(), scores.sum_nats)
    with controls:
        _totals(sums, labelled)
    st.dataframe(token_table(checkpoint, encoding, scores), hide_index=True)


def coloured(checkpoint: Checkpoint, encoding: Encoding, scores: TokenScores, *, clickable: bool = False) -> None:
    """The sentence coloured by loss, and its bars."""
    found = units(checkpoint, encoding, scores)
    most = figures.top([unit.loss_nats for unit in found])
    at = {place: unit for unit in found for place in unit.positions}
    sentence.row(
        encoding,
        scale="loss",
        strengths={place: unit.loss_nats / most for place, unit in at.items()},
        tips={place: unit.tip for place, unit in at.items()},
        clickable=clickable,
    )
    losses = [metrics.in_unit(unit.loss_nats) for unit in found]
    figure = figures.bars(
        [unit.label for unit in found],
        losses,
        [unit.tip for unit in found],
        unit=state.get("unit"),
        most=metrics.in_unit(most),
        dark=charts.is_dark(),
    )
    charts.chart(figure, "loss_bars")


def plain_row(checkpoint: Checkpoint, encoding: Encoding, scores: TokenScores, most: float, key: str) -> None:
    """A sentence coloured by loss, piece by piece; `most` nats get the strongest colour."""
    places = scores.positions.tolist()
    sentence.row(
        encoding,
        scale="loss",
        strengths={place: loss / most for place, loss in zip(places, scores.loss_nats.tolist(), strict=True)},
        tips={place: _tip(checkpoint, scores, i) for i, place in enumerate(places)},
        key=key,
    )


def units(checkpoint: Checkpoint, encoding: Encoding, scores: TokenScores) -> list[Unit]:
    """What is drawn one by one: the pieces, or the words with the loss of their pieces together."""
    places, losses = scores.positions.tolist(), scores.loss_nats.tolist()
    pieces = [
        Unit(encoding.typed_pieces[place], (place,), loss, _tip(checkpoint, scores, i))
        for i, (place, loss) in enumerate(zip(places, losses, strict=True))
    ]
    if state.get("by") == "pieces":
        return pieces
    words: dict[int | None, list[Unit]] = {}
    for piece in pieces:
        words.setdefault(encoding.word_ids[piece.positions[0]], []).append(piece)
    return [_joined(encoding, parts) for parts in words.values()]


def _joined(encoding: Encoding, parts: Sequence[Unit]) -> Unit:
    if len(parts) == 1:
        return parts[0]
    word = encoding.word_ids[parts[0].positions[0]]
    loss = sum(part.loss_nats for part in parts)
    each = " + ".join(f"{part.label} {metrics.in_unit(part.loss_nats):.2f}" for part in parts)
    return Unit(
        label="" if word is None else encoding.word_text(word),
        positions=tuple(place for part in parts for place in part.positions),
        loss_nats=loss,
        tip=f"loss {metrics.in_unit(loss):.2f} {state.get('unit')}; {each}",
    )


def _tip(checkpoint: Checkpoint, scores: TokenScores, i: int) -> str:
    """What hovering a token tells."""
    piece, best = (checkpoint.tokenizer.piece(int(ids[i])) for ids in (scores.ids, scores.best_ids))
    says = (
        "the model's first choice"
        if piece == best
        else f"the model says “{best}”, {numbers.probability(float(scores.best_probs[i]))}"
    )
    loss = f"loss {metrics.in_unit(float(scores.loss_nats[i])):.2f} {state.get('unit')}"
    return f"{loss}, probability {numbers.probability(float(scores.probs[i]))}, rank {scores.ranks[i]:,}; {says}"


def _totals(sums: Totals, labelled: bool) -> None:
    """Sum, means and perplexity, each with its unit."""
    unit = state.get("unit")
    mean = "Mean: the labelled loss" if labelled else f"Mean of {sums.n_tokens} tokens"
    with st.container(horizontal=True, gap="medium"):
        st.metric("Sum", f"{metrics.in_unit(sums.sum_nats):.2f} {unit}", width="content")
        st.metric(mean, f"{metrics.in_unit(sums.mean_nats):.2f} {unit}", width="content")
        name = "Pseudo-perplexity" if state.get("measure") == "pll" else "exp of the mean in nats"
        st.metric(name, f"{sums.perplexity:,.1f}", width="content")
        st.metric(f"Per word, of {sums.n_words}", f"{metrics.in_unit(sums.nats_per_word):.2f} {unit}", width="content")
        if not labelled:
            st.metric("Bits per character", f"{sums.bits_per_character:.2f}", width="content")


def token_table(checkpoint: Checkpoint, encoding: Encoding, scores: TokenScores) -> pd.DataFrame:
    """All numbers, one row a token."""
    pieces = checkpoint.tokenizer.pieces
    return pd.DataFrame(
        {
            "position": scores.positions,
            "token": [encoding.typed_pieces[place] for place in scores.positions.tolist()],
            f"loss ({state.get('unit')})": [metrics.in_unit(loss) for loss in scores.loss_nats.tolist()],
            "probability": scores.probs,
            "rank": scores.ranks,
            "first choice": [pieces[i] for i in scores.best_ids.tolist()],
            "its probability": scores.best_probs,
        }
    )


def side_by_side(checkpoint: Checkpoint, encoding: Encoding) -> None:
    """The sentence by every metric."""
    st.markdown("**The sentence by every metric**")
    if len(encoding) > _QUICK and not st.button(
        f"Score {len(encoding)} tokens by all {len(METRICS)} metrics", help="Takes as long as the score above, thrice"
    ):
        return
    rows: list[dict[str, object]] = []
    for metric in METRICS:
        scores = compute.scores(checkpoint, encoding, metric)
        sums = totals(encoding, scores.positions.tolist(), scores.sum_nats)
        rows.append({"hidden": metrics.NAMES[metric], "metric": metric, **metrics.row(sums)})
    columns = {
        name: st.column_config.NumberColumn(format="%.2f") for name in rows[0] if name not in ("hidden", "metric")
    }
    st.dataframe(pd.DataFrame(rows), hide_index=True, column_config=columns)


__all__ = ["Unit", "coloured", "draw", "plain_row", "side_by_side", "token_table", "units"]
