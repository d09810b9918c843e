"""The front door and its first page: what the model expects where a word is masked."""

import pandas as pd
import streamlit as st

from bertviz_lite.analysis import MaskPredictions
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.figures import predictions as figures
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui import charts, compute, numbers, sentence, shell, state

MOST_PICTURES = 6  # more masks than this are chosen from, not all drawn

LEAD = (
    "The model never sees a masked word: it reads the rest and spreads its belief over its whole vocabulary. "
    "**Click a word** to mask it, click it again to show it."
)
MORE = (
    "Each bar is the probability the model gives to one piece of its vocabulary at the mask; all pieces together sum "
    "to 1. Several masks are filled independently: the words need not fit each other. A word of several pieces needs "
    "as many masks. Where you masked a word yourself, its own rank and probability are shown; rank 1 is the model's "
    "first choice."
)


def main() -> None:
    """Read the inputs, predict, draw."""
    with shell.page("app.py", "Fill the mask", LEAD, MORE) as checkpoint:
        encoding = sentence.box(checkpoint)
        sentence.row(encoding, clickable=True)
        if not encoding.mask_positions:
            st.info("Nothing is masked yet: click a word above, or write `[MASK]` where a word should be guessed.")
            return
        pictures, controls = st.columns([3, 2], gap="large")
        with controls, st.container(horizontal=True, vertical_alignment="bottom"):
            st.slider("Predictions per mask", 1, 100, **state.keyed("k"))
            st.toggle("Special tokens", help="Let [UNK], [CLS] and their like compete too", **state.keyed("special"))
        found = compute.predictions(checkpoint, encoding, state.get("k"), state.get("special"))
        with pictures:
            draw(checkpoint, encoding, found)
        with controls:
            st.dataframe(table(checkpoint, found), hide_index=True, height=min(38 + 35 * found.ids.size, 640))


def draw(checkpoint: Checkpoint, encoding: Encoding, found: MaskPredictions) -> None:
    """A picture per mask, two abreast."""
    masks = list(range(len(found.positions)))
    if len(masks) > MOST_PICTURES:
        chosen = st.selectbox(
            f"{len(masks)} masks: show", masks, format_func=lambda m: f"mask {m + 1}, {name(encoding, found, m)}"
        )
        masks = [chosen]
    columns = st.columns(min(len(masks), 2))
    for place, mask in enumerate(masks):
        with columns[place % len(columns)]:
            st.markdown(summary(checkpoint, encoding, found, mask))
            pieces = [checkpoint.tokenizer.piece(int(i)) for i in found.ids[mask]]
            original = int(found.original_ids[mask])
            figure = figures.bars(
                pieces,
                found.probs[mask].tolist(),
                original=checkpoint.tokenizer.piece(original) if original >= 0 else None,
                dark=charts.is_dark(),
            )
            charts.chart(figure, f"bars_{mask}")


def name(encoding: Encoding, found: MaskPredictions, mask: int) -> str:
    """What to call a mask among others."""
    word = encoding.word_ids[int(found.positions[mask])]
    return f"token {found.positions[mask]}" if word is None else f"“{encoding.word_text(word)}”"


def summary(checkpoint: Checkpoint, encoding: Encoding, found: MaskPredictions, mask: int) -> str:
    """How the masked word itself fared, and how much of the belief is on show."""
    k, share = found.ids.shape[1], float(found.covered_probs[mask])
    covered = f"The {k} shown have" if k > 1 else "The one shown has"
    covered += (
        f" {numbers.probability(share)} of the probability together."
        if k > 1
        else " " + numbers.probability(share) + "."
    )
    if found.original_ids[mask] < 0:
        return f"**Mask {mask + 1}.** {covered}"
    piece = checkpoint.tokenizer.piece(int(found.original_ids[mask]))
    prob = numbers.probability(float(found.original_probs[mask]))
    return f"**{piece}** stood here: **rank {found.original_ranks[mask]:,}**, probability **{prob}**. {covered}"


def table(checkpoint: Checkpoint, found: MaskPredictions) -> pd.DataFrame:
    """All predictions, one row each."""
    rows = [
        {
            "mask": mask + 1,
            "rank": rank,
            "token": checkpoint.tokenizer.piece(int(i)),
            "probability": float(p),
            "id": int(i),
        }
        for mask in range(len(found.positions))
        for rank, (i, p) in enumerate(zip(found.ids[mask], found.probs[mask], strict=True), start=1)
    ]
    frame = pd.DataFrame(rows)
    return frame if len(found.positions) > 1 else frame.drop(columns="mask")


main()
