"""The page on training: controls of the draw, one example with its loss worked out, many draws counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from bertviz_lite.analysis import TokenScores, TrainingExample, expected_n_selected, require_numbers
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.figures import masking as figures
from bertviz_lite.figures import scoring
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.training import KEPT, KINDS, MASKED, NOT_SELECTED, RANDOM, RULES, MaskingRule
from bertviz_lite.ui import charts, compute, numbers, state

_OF = {"google": "Google", "transformers": "transformers"}
_MOST_TERMS = 6  # of the formula; the others are summed up
_RARE = 0.0005  # what is rarer is not drawn


def pick_rule() -> MaskingRule:
    """The controls: whose rule, its shares, and the seed of the draw."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.number_input("Seed", 0, 9_999, width=110, **state.keyed("seed"))
        st.button("Draw again", on_click=_next_seed, type="primary")
    st.radio("Rule of", list(_OF), format_func=_OF.get, horizontal=True, **state.keyed("rule"))
    st.toggle("Whole words", help="Select words, not pieces", **state.keyed("by_word"))
    st.slider("Selected", 1, 60, format="%d %%", **state.keyed("rate"))
    named = RULES[state.get("rule") + (" whole words" if state.get("by_word") else "")]
    rate = state.get("rate") / 100
    if named.masked_share == 1:
        st.caption("With whole words, transformers masks every selected token.")
        return replace(named, rate=rate)
    st.slider("… of these masked", 0, 100, format="%d %%", **state.keyed("hidden"))
    most = 100 - state.get("hidden")
    random = min(state.get("random"), most)
    if most:
        st.slider("… made random", 0, most, format="%d %%", **state.keyed("random", showing=random))
    st.caption(f"{most - random} % stay as they are.")
    return replace(named, rate=rate, masked_share=state.get("hidden") / 100, random_share=random / 100)


def example(checkpoint: Checkpoint, encoding: Encoding, rule: MaskingRule) -> None:
    """One draw: every token with its label, and the loss as a sum."""
    drawn = compute.training_example(checkpoint, encoding, rule, state.get("seed"))
    if drawn.scores is not None:
        require_numbers(drawn.scores.loss_nats)
    st.html(figures.cards(_cards(checkpoint, encoding, drawn), charts.is_dark()))
    if drawn.scores is None:
        st.info("This draw selected nothing: its loss is 0, and the model learns nothing from it. Draw again.")
        return
    st.latex(formula(drawn.scores))
    st.markdown(f"The model's own `loss` for these inputs and labels: **{drawn.loss_nats:.4f}** nats.")


def many(checkpoint: Checkpoint, encoding: Encoding, rule: MaskingRule) -> None:
    """The loss by kind over many examples, and 1,000 draws beside what the rule makes one expect."""
    seed = state.get("seed")
    loss, selected, kinds = st.columns(3, gap="large")
    with loss:
        st.markdown("**Loss by kind**")
        found = compute.loss_by_kind(checkpoint, encoding, rule, seed)
        asked = [MASKED, RANDOM, KEPT]
        named = [KINDS[kind] for kind in asked]
        figure = figures.by_kind(
            named, found.mean_nats[asked].tolist(), found.counts[asked].tolist(), dark=charts.is_dark()
        )
        charts.chart(figure, "by_kind")
        st.caption(f"Means over {compute.N_EXAMPLES} examples of this sentence. A kept token is still there to read.")
    counted = compute.draws(checkpoint, encoding, rule, seed)
    with selected:
        st.markdown(f"**Tokens selected in {compute.N_DRAWS:,} draws**")
        expected = expected_n_selected(checkpoint.model, encoding, rule)
        observed = np.bincount(counted.n_selected, minlength=len(expected)) / compute.N_DRAWS
        at = list(_shown(observed, expected))
        figure = figures.beside_expected(
            [str(n) for n in at], observed[at].tolist(), expected[at].tolist(), what="tokens", dark=charts.is_dark()
        )
        charts.chart(figure, "n_selected")
        st.caption("Bars: drawn. Lines: expected, by arithmetic from the rule.")
    with kinds:
        st.markdown("**What became of them**")
        shares = [rule.masked_share, rule.random_share, 1 - rule.masked_share - rule.random_share]
        totals = counted.counts.sum(0)
        of = max(1, totals.sum() - totals[NOT_SELECTED])
        figure = figures.beside_expected(
            named, (totals[asked] / of).tolist(), [max(0.0, share) for share in shares], what="",
            dark=charts.is_dark(),
        )  # fmt: skip
        charts.chart(figure, "kinds")
        st.caption(f"{of:,} tokens were selected in all.")


def formula(scores: TokenScores) -> str:
    """The mean of −ln p with the numbers put in, as LaTeX."""
    n = len(scores.ids)
    if n == 1:
        return rf"\text{{loss}} = -\ln {_tex(float(scores.probs[0]))} = {scores.mean_nats:.4f}"
    probs = [_tex(float(p)) for p in scores.probs[:_MOST_TERMS]]
    losses = [f"{loss:.3f}" for loss in scores.loss_nats[:_MOST_TERMS].tolist()]
    if n > _MOST_TERMS:
        probs.append(r"\dots")
        losses.append(rf"\underbrace{{{scores.loss_nats[_MOST_TERMS:].sum():.3f}}}_{{{n - _MOST_TERMS}\text{{ more}}}}")
    logs = "".join(rf"+\ln {p}" if i else rf"\ln {p}" for i, p in enumerate(probs)).replace(r"\ln \dots", r"\dots")
    return (
        rf"\begin{{aligned}}\text{{loss}} &= -\tfrac{{1}}{{{n}}}\,({logs}) \\"
        rf" &= \tfrac{{1}}{{{n}}}\,({' + '.join(losses)}) = {scores.mean_nats:.4f}\end{{aligned}}"
    )


def _cards(checkpoint: Checkpoint, encoding: Encoding, drawn: TrainingExample) -> list[figures.Drawn]:
    pieces = checkpoint.tokenizer.pieces
    tokens = []

    def piece(i: int) -> str:  # a random id may be a row that no piece belongs to
        return (pieces[i] if i < len(pieces) else None) or f"row {i}"

    scores = drawn.scores
    row = {} if scores is None else {int(at): i for i, at in enumerate(scores.positions)}
    most = scoring.top([] if scores is None else scores.loss_nats.tolist())
    for at, typed in enumerate(encoding.typed_pieces):
        read, label = piece(int(drawn.input_ids[at])), int(drawn.labels[at])
        if scores is None or at not in row:
            tip = "not asked for: −100 leaves it out of the loss"
            tokens.append(figures.Drawn(typed, read, label, tip=tip))
            continue
        i = row[at]
        loss, prob = float(scores.loss_nats[i]), float(scores.probs[i])
        best = piece(int(scores.best_ids[i]))
        tip = f"loss {loss:.3f} nats, rank {scores.ranks[i]:,}; the model says {best}, " + numbers.probability(
            float(scores.best_probs[i])
        )
        kind = KINDS[int(drawn.kinds[at])]
        tokens.append(figures.Drawn(typed, read, label, kind, prob, loss / most, tip))
    return tokens


def _shown(observed: NDArray[np.float64], expected: NDArray[np.float64]) -> range:
    """The numbers of tokens that are drawn or expected at all."""
    at = np.flatnonzero((observed > 0) | (expected > _RARE))
    return range(int(at[0]), int(at[-1]) + 1)


def _tex(p: float) -> str:
    text = f"{p:.4g}"
    mantissa, _, power = text.partition("e")
    return rf"({mantissa}\cdot 10^{{{int(power)}}})" if power else text


def _next_seed() -> None:
    state.put(seed=(state.get("seed") + 1) % 10_000)


__all__ = ["example", "formula", "many", "pick_rule"]
