"""What every token of the sentence costs the model."""

import pandas as pd
import streamlit as st

from bertviz_lite.analysis import TokenScores
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.figures import scoring as figures
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui import charts, compute, numbers, sentence, shell, state

LEAD = (
    "Each token is coloured by its **loss**, −ln of the probability the model gave it: the stronger, the more "
    "surprised it was. Hover a token for its probability, its rank and what the model would say."
)
MORE = (
    "A loss of 0 nats means certainty, 0.69 nats (1 bit) a coin toss, 10.3 nats a blind guess among 30,522 pieces. "
    "The sum over a sentence, each position masked in turn, is the negative pseudo-log-likelihood (Salazar et al. "
    "2020); exp of the mean is the pseudo-perplexity. [CLS], [SEP] and masks that you typed are not scored; words "
    "that you masked on another page are scored as they were typed."
)
MEASURES = {
    "pseudo": "Each position masked in turn",
    "unmasked": "One unmasked pass",
}
EXPLAINED = {
    "pseudo": "One pass per token: that token alone is hidden, and the model is asked for it. This is the pseudo-loss, "
    "a score of the sentence.",
    "unmasked": "One pass over the whole sentence, nothing hidden: the model sees every answer and mostly copies "
    "it. Much lower than the pseudo-loss, and not a score of the sentence.",
}


def main() -> None:
    """Read the inputs, score, draw."""
    with shell.page("pages/token_loss.py", "Token loss", LEAD, MORE) as checkpoint:
        encoding = sentence.box(checkpoint).masked(())
        picture, controls = st.columns([3, 1], gap="large")
        with controls:
            st.radio("Measure", list(MEASURES), format_func=MEASURES.get, **state.keyed("measure"))
            st.caption(EXPLAINED[state.get("measure")])
            st.radio("Unit", ["nats", "bits"], horizontal=True, **state.keyed("unit"))
        with picture:
            scores = compute.scores(checkpoint, encoding, state.get("measure"))
            draw(checkpoint, encoding, scores)
        with controls:
            totals(scores)
        st.dataframe(table(checkpoint, encoding, scores), hide_index=True)


def draw(checkpoint: Checkpoint, encoding: Encoding, scores: TokenScores) -> None:
    """The sentence coloured by loss, and its bars."""
    places = scores.positions.tolist()
    losses = [in_unit(loss) for loss in scores.loss_nats.tolist()]
    told = [tip(checkpoint, scores, i) for i in range(len(losses))]
    most = figures.top(scores.loss_nats.tolist())
    strengths = {place: loss / most for place, loss in zip(places, scores.loss_nats.tolist(), strict=True)}
    sentence.row(encoding, scale="loss", strengths=strengths, tips=dict(zip(places, told, strict=True)))
    pieces = [encoding.pieces[place] for place in places]
    figure = figures.bars(pieces, losses, told, unit=state.get("unit"), most=in_unit(most), dark=charts.is_dark())
    charts.chart(figure, "loss_bars")


def in_unit(nats: float) -> float:
    """A loss in the unit that the visitor chose."""
    return nats / numbers.NATS_PER_BIT if state.get("unit") == "bits" else nats


def tip(checkpoint: Checkpoint, scores: TokenScores, i: int) -> str:
    """What hovering a token tells."""
    piece, best = (checkpoint.tokenizer.piece(int(ids[i])) for ids in (scores.ids, scores.best_ids))
    says = (
        "the model's first choice"
        if piece == best
        else f"the model says “{best}”, {numbers.probability(float(scores.best_probs[i]))}"
    )
    loss = f"loss {in_unit(float(scores.loss_nats[i])):.2f} {state.get('unit')}"
    return f"{loss}, probability {numbers.probability(float(scores.probs[i]))}, rank {scores.ranks[i]:,}; {says}"


def totals(scores: TokenScores) -> None:
    """Sum, mean and perplexity, each with its unit."""
    unit = state.get("unit")
    name = "Pseudo-perplexity" if state.get("measure") == "pseudo" else "exp of the mean in nats"
    with st.container(horizontal=True, gap="medium"):
        st.metric("Sum", f"{in_unit(scores.sum_nats):.2f} {unit}", width="content")
        st.metric(f"Mean of {len(scores.ids)} tokens", f"{in_unit(scores.mean_nats):.2f} {unit}", width="content")
        st.metric(name, f"{scores.perplexity:,.1f}", width="content")


def table(checkpoint: Checkpoint, encoding: Encoding, scores: TokenScores) -> pd.DataFrame:
    """All numbers, one row a token."""
    pieces = checkpoint.tokenizer.pieces
    return pd.DataFrame(
        {
            "position": scores.positions,
            "token": [encoding.pieces[place] for place in scores.positions.tolist()],
            f"loss ({state.get('unit')})": [in_unit(loss) for loss in scores.loss_nats.tolist()],
            "probability": scores.probs,
            "rank": scores.ranks,
            "first choice": [pieces[i] for i in scores.best_ids.tolist()],
            "its probability": scores.best_probs,
        }
    )


main()
