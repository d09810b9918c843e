"""Two models on one sentence, and tensor by tensor."""

import streamlit as st

from bertviz_lite.analysis import every_head
from bertviz_lite.checkpoints import Checkpoint, Comparison
from bertviz_lite.errors import CheckpointError
from bertviz_lite.figures import checkpoint as checkpoint_figures
from bertviz_lite.figures import compare as figures
from bertviz_lite.figures import predictions
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui import charts, checkpoint_views, compute, sentence, shelf, shell, state
from bertviz_lite.ui.attention import answers
from bertviz_lite.ui.wording import plain

LEAD = (
    "The same sentence through the model in use and through another one, then their weights tensor by tensor. The "
    "**untrained twin** of a model is the same network before its first training step."
)
MORE = (
    "Losses compare token by token only where both models split the sentence alike; compare models with different "
    "vocabularies by their loss per word. Cosine 1 and change 0 mean the same tensor. The relative change is the norm "
    "of the difference over the norm in the first model. Attention is compared head by head where both have the head."
)
K = 8


def main() -> None:
    """Pick two models, ask both, draw."""
    with shell.page("pages/compare.py", "Compare", LEAD, MORE) as a:
        encoding_a = sentence.box(a)
        sentence.row(encoding_a, clickable=True)
        b = pick_other(a)
        encoding_b = b.tokenizer.encode(state.get("text")).masked(state.get("mask"), b.tokenizer.mask_token)
        if encoding_a.mask_positions and encoding_b.mask_positions:
            left, right = st.columns(2, gap="large")
            for column, checkpoint, encoding, key in (
                (left, a, encoding_a, "bars_a"),
                (right, b, encoding_b, "bars_b"),
            ):
                with column:
                    first_mask(checkpoint, encoding, key)
        token_by_token(a, b, encoding_a, encoding_b)
        weights(compute.comparison(a, b))


def pick_other(a: Checkpoint) -> Checkpoint:
    """The second model: any other on the shelf, or the untrained twin of the first."""
    others = {key: label for key, label in shelf.choices().items() if key != shelf.current_key()}
    others[shelf.TWIN] = f"{a.report.name}, untrained twin"
    asked = state.get("other") if state.get("other") in others else list(others)[-2 if len(others) > 1 else -1]
    st.selectbox(
        f"Compare {a.report.name} with", list(others), format_func=others.get, **state.keyed("other", showing=asked)
    )
    b = shelf.untrained(a, a.report.digest, a.report.name) if asked == shelf.TWIN else shelf.get(asked)
    if not b.predicts:
        raise CheckpointError(f"{b.report.name} is an encoder without a head; compare with a model that predicts.")
    return b


def first_mask(checkpoint: Checkpoint, encoding: Encoding, key: str) -> None:
    """What one model expects at the first mask."""
    found = compute.predictions(checkpoint, encoding, K, compute.Choice())
    st.markdown(f"**{plain(checkpoint.report.name)}** at the first mask")
    pieces = [checkpoint.tokenizer.piece(i) for i in found.ids[0].tolist()]
    figure = predictions.bars(pieces, found.probs[0].tolist(), dark=charts.is_dark())
    charts.chart(figure, key)


def token_by_token(a: Checkpoint, b: Checkpoint, encoding_a: Encoding, encoding_b: Encoding) -> None:
    """Losses and attention, where both models read the same tokens."""
    scores_a, scores_b = compute.scores(a, encoding_a, "pll"), compute.scores(b, encoding_b, "pll")
    st.markdown(
        f"Pseudo-loss of the sentence: **{scores_a.sum_nats:.2f}** nats under {plain(a.report.name)}, "
        f"**{scores_b.sum_nats:.2f}** nats under {plain(b.report.name)}."
    )
    if encoding_a.typed_pieces != encoding_b.typed_pieces:
        st.info("The two models split this sentence differently, so tokens cannot be set side by side.")
        return
    pieces = [encoding_a.typed_pieces[i] for i in scores_a.positions.tolist()]
    names = (a.report.name, b.report.name)
    left, right = st.columns([3, 2], gap="large")
    with left:
        figure = figures.losses(
            pieces, scores_a.loss_nats.tolist(), scores_b.loss_nats.tolist(), names, dark=charts.is_dark()
        )
        charts.chart(figure, "losses")
    with right:
        mean_a, mean_b = (answers.mean(c, text, every_head(c.config)) for c, text in ((a, encoding_a), (b, encoding_b)))
        st.markdown(f"Mean attention: **{plain(names[1])}** minus **{plain(names[0])}**")
        charts.chart(figures.map_difference(mean_b - mean_a, encoding_a.pieces, dark=charts.is_dark()), "maps")


def weights(comparison: Comparison) -> None:
    """The weights: by layer as a chart, one by one as a table; what only one has; the vocabularies."""
    st.subheader("Weights", anchor=False)
    if comparison.same:
        st.success("The two are the same, bit for bit: configuration, weights and vocabulary.")
    by_layer = checkpoint_views.by_layer({c.name: c.relative_change for c in comparison.changes})
    if by_layer:
        st.markdown("Relative change of each weight, layer by layer")
        charts.chart(checkpoint_figures.by_layer(by_layer, "change", dark=charts.is_dark()), "changes")
    st.markdown(f"**{comparison.summary()}** The most changed come first.")
    frame = checkpoint_views.change_table(comparison)
    st.dataframe(frame, hide_index=True, height=300)
    st.download_button("Download as CSV", frame.to_csv(index=False), "comparison.csv", "text/csv")
    for line in comparison.differences():
        st.text(line)


main()
