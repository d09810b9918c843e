"""The view of a training: one moment of it in full, and all moments side by side.

It takes any list of moments with their checkpoints, so a run of one's own can be watched as the bundled one is.
"""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_lite.analysis import leaders, require_numbers, token_units
from bertviz_lite.figures import learning as figures
from bertviz_lite.figures import predictions as bars
from bertviz_lite.figures.scoring import top
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui import charts, compute, numbers, sentence, sight, state
from bertviz_lite.ui.attention import answers
from bertviz_lite.ui.learning.moments import Training

_BARS = 9
_EQUAL = 0.05  # nats
_KNOWN = 0.8  # share of probes from which on a kind counts as learnt


def pick_moment(training: Training) -> int:
    """The slider; returns the number of the moment on show, the last one until the visitor moves it."""
    moments = training.moments
    at = state.number("moment", len(moments), len(moments) - 1)
    with st.container(key="moment"):
        slider, told = st.columns([2, 3], gap="large", vertical_alignment="center")
    slider.select_slider(
        "Tokens read so far",
        list(range(len(moments))),
        format_func=lambda i: moments[i].name,
        **state.keyed("moment", showing=at),
    )
    told.markdown(" ".join(filter(None, (standing(training, at), order_learnt(training)))))
    return at


def standing(training: Training, at: int) -> str:
    """How far the model is at a moment, in words: its loss beside what counting reaches, and its probes."""
    loss = training.moments[at].held_out_nats
    beside = [f"as good as *{name}*" for name, nats in training.levels.items() if abs(nats - loss) <= _EQUAL]
    if not beside:
        beaten = [
            f"past the dashed line *{name}* ({nats:.2f})" for name, nats in training.levels.items() if loss < nats
        ]
        ahead = [f"*{name}* ({nats:.2f}) still ahead" for name, nats in training.levels.items() if loss > nats]
        beside = beaten[-1:] + ahead[:1]
    told = (
        f"Held-out loss **{loss:.2f} nats**: {', '.join(beside)}." if beside else f"Held-out loss **{loss:.2f} nats**."
    )
    right = ", ".join(f"{kind} **{shares[at]:.0%}**" for kind, shares in training.right_share.items())
    return f"{told} Probes right (chance: 50%): {right}." if right else told


def order_learnt(training: Training) -> str:
    """From when on each kind of probe is known, in words; the order is that of the moments, not of the list."""
    since: dict[str, int] = {}
    for kind, shares in training.right_share.items():
        known = [share >= _KNOWN for share in shares]
        if known[-1]:
            since[kind] = len(known) - known[::-1].index(False) if False in known else 0
    learnt = [
        f"**{kind}** from {training.moments[at].name}{' tokens on' if i == 0 else ''}"
        for i, (kind, at) in enumerate(sorted(since.items(), key=lambda entry: entry[1]))
    ]
    missing = [f"**{kind}** ({shares[-1]:.0%})" for kind, shares in training.right_share.items() if kind not in since]
    parts = [f"at least {_KNOWN:.0%} right: {', '.join(learnt)}"] if learnt else []
    parts += [f"below that to the end: {', '.join(missing)}"] if missing else []
    told = "; ".join(parts)
    return f"{told[:1].upper()}{told[1:]}." if told else ""


def row(training: Training, at: int, encoding: Encoding) -> None:
    """The sentence, coloured by the loss of each token at this moment; a click masks a word."""
    checkpoint = training.moments[at].checkpoint
    scores = compute.scores(checkpoint, encoding, "pll")
    require_numbers(scores.loss_nats)
    most = _most_nats(training, encoding)
    found = list(zip(scores.positions.tolist(), scores.loss_nats.tolist(), scores.best_ids.tolist(), strict=True))
    sentence.row(
        encoding,
        scale="loss",
        strengths={place: loss / most for place, loss, _ in found},
        tips={
            place: f"loss {loss:.2f} nats; the model says “{checkpoint.tokenizer.piece(best)}”"
            for place, loss, best in found
        },
        clickable=True,
    )


def moment(training: Training, at: int, encoding: Encoding) -> None:
    """One moment: predictions at the mask, one head's map, and where on the curve it lies."""
    guesses, reads, curve = st.columns([3, 4, 4], gap="large")
    with guesses:
        st.markdown("**At the mask**")
        _predictions(training, at, encoding)
    with reads:
        _head(training, at, encoding)
    with curve:
        st.markdown("**Loss on held-out text**", help="Strong line: held-out text. Thin line: the text it learns from.")
        _curve(training, at)


def _curve(training: Training, at: int) -> None:
    moments, found = training.moments, training.curve
    looked = sorted(
        {
            *zip(found.held_out_tokens.tolist(), found.held_out_nats.tolist(), strict=True),
            *((float(m.tokens), m.held_out_nats) for m in moments),
        }
    )
    figure = figures.curve(
        (found.tokens, found.loss_nats),
        (np.array([tokens for tokens, _ in looked]), np.array([nats for _, nats in looked])),
        {m.name: (float(m.tokens), m.held_out_nats) for m in moments},
        moments[at].name,
        training.levels,
        dark=charts.is_dark(),
    )
    places = np.array([figures.place(m.tokens) for m in moments])
    charts.chart(figure, "curve", on_point=lambda x, _: state.put(moment=int(np.abs(places - x).argmin())))


def _predictions(training: Training, at: int, encoding: Encoding) -> None:
    if not encoding.mask_positions:
        st.info("Nothing is masked: click a word above.")
        return
    checkpoint, i = training.moments[at].checkpoint, sight.mask_number(encoding)
    sight.pick_slot(encoding, "Which mask")
    found = compute.predictions(checkpoint, encoding, len(checkpoint.tokenizer), compute.Choice())
    require_numbers(found.probs)
    pieces = [checkpoint.tokenizer.piece(int(token)) for token in found.ids[i, :_BARS]]
    original = int(found.original_ids[i])
    typed = checkpoint.tokenizer.piece(original) if original >= 0 else None
    figure = bars.bars(pieces, found.probs[i, :_BARS].tolist(), original=typed, dark=charts.is_dark())
    charts.chart(figure, "guesses")
    if typed is not None:
        prob, rank = float(found.original_probs[i]), found.original_ranks[i]
        st.caption(f"“{typed}” stood here: probability {numbers.probability(prob)}, rank {rank:,}.")


def _head(training: Training, at: int, encoding: Encoding) -> None:
    last = training.moments[-1].checkpoint
    # The head that ends up looking at the previous token most: watch it find its work.
    first = leaders(answers.survey(last, encoding).statistics.previous_prob, 1)[0]
    sizes = (last.config.num_hidden_layers, last.config.num_attention_heads)
    picked = [state.number(name, n, own) for name, n, own in zip(("layer", "head"), sizes, first, strict=True)]
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown("**Where one head looks**", width="content")
        for name, n, on_show in zip(("layer", "head"), sizes, picked, strict=True):
            st.selectbox(
                name.capitalize(),
                list(range(n)),
                format_func=f"{name} {{}}".format,
                label_visibility="collapsed",
                width=120,
                **state.keyed(name, showing=on_show),
            )
    layer, head = picked
    maps = answers.layer(training.moments[at].checkpoint, encoding, layer).weights
    charts.chart(figures.head_map(maps[head], token_units(encoding).labels, dark=charts.is_dark()), "map")
    then, now = (_previous_share(training, moment, encoding, picked) for moment in (0, at))
    st.caption(f"The previous token gets {now:.0%} of its attention at this moment, {then:.0%} before the first step.")


def _previous_share(training: Training, at: int, encoding: Encoding, head: list[int]) -> float:
    survey = answers.survey(training.moments[at].checkpoint, encoding)
    return float(survey.statistics.previous_prob[head[0], head[1]])


def _most_nats(training: Training, encoding: Encoding) -> float:
    """The loss that gets the strongest colour, the same at every moment."""
    return top(
        [
            loss
            for moment in training.moments
            for loss in compute.scores(moment.checkpoint, encoding, "pll").loss_nats.tolist()
        ]
    )


__all__ = ["moment", "order_learnt", "pick_moment", "row", "standing"]
