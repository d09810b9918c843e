"""Why a model of width D ends in a layer of V: ids to a prediction, stage by stage, on the visitor's sentence."""

import streamlit as st

from bertviz_lite.analysis import Stages, worked_logit
from bertviz_lite.checkpoints import Checkpoint, tie_sentence
from bertviz_lite.figures import decoder as figures
from bertviz_lite.figures import predictions
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui import calculator, charts, compute, follow, sentence, shell
from bertviz_lite.ui.wording import plain

LEAD = (
    "Inside, every token is a vector. To name a word the model must give **each word of its vocabulary a number**: the "
    "decoder multiplies the vector with one row per word, and in a tied model those rows are the word embeddings again."
)
MORE = (
    "The decoder is not a second network after BERT: it is the last matrix of the masked-language-model head. Its V "
    "rows are as wide as the model, so its output, one logit a word, is V wide. Softmax turns logits into "
    "probabilities. Pictures show real values of your sentence: blue is below zero, amber above. See Press & Wolf "
    "2017, “Using the Output Embedding to Improve Language Models”, on tying."
)
MOST_ROWS = 24


def main() -> None:
    """Read the inputs, follow one token, draw."""
    with shell.page("pages/decoder.py", "Why a decoder?", LEAD, MORE) as checkpoint:
        encoding = sentence.box(checkpoint)
        sentence.row(encoding, clickable=True)
        if not encoding.n_words:
            st.info("Type a sentence above, or press an example, to follow one of its tokens.")
            return
        left, right = st.columns(2, gap="large")
        with left:
            position = follow.pick_position(encoding)
        followed = compute.stages(checkpoint, encoding, position)
        with right:
            word = follow.pick_word(checkpoint, encoding, position, followed.logits)
        draw_stages(checkpoint, encoding, followed)
        draw_ends(checkpoint, followed, word)
        one_logit(checkpoint, followed, word)
        calculator.draw(checkpoint)


def draw_stages(checkpoint: Checkpoint, encoding: Encoding, followed: Stages) -> None:
    """Three strips of real values with their shapes."""
    n, width = followed.embedded.shape
    low = max(0, min(followed.position - MOST_ROWS // 2, n - MOST_ROWS))
    rows = slice(low, min(n, low + MOST_ROWS))
    pieces, marked = list(encoding.pieces[rows]), followed.position - low
    layers = checkpoint.config.num_hidden_layers
    titles = (f"ids ({n}) → **embeddings** ({n} × {width})", f"→ **{layers} layers** ({n} × {width})",
              f"→ **transform** ({n} × {width})")  # fmt: skip
    values = (followed.embedded, followed.encoded, followed.transformed)
    for column, title, stage in zip(st.columns(3), titles, values, strict=True):
        with column:
            st.markdown(title)
            figure = figures.strip(stage[rows], pieces, marked=marked, dark=charts.is_dark())
            charts.chart(figure, f"stage_{titles.index(title)}")
    if n > MOST_ROWS:
        st.caption(f"{MOST_ROWS} of {n} tokens are drawn, those around the one that is followed.")


def draw_ends(checkpoint: Checkpoint, followed: Stages, word: int) -> None:
    """The decoder's logits and their softmax."""
    size = f"{len(followed.logits):,}"
    left, right = st.columns(2, gap="large")
    piece = checkpoint.tokenizer.piece(word)
    with left:
        st.markdown(f"→ **decoder** (1 × {size}): one logit for every piece")
        logit = float(followed.logits[word])
        charts.chart(figures.logit_histogram(followed.logits, logit, piece, dark=charts.is_dark()), "logits")
    with right:
        st.markdown(f"→ **softmax** (1 × {size}): they become probabilities")
        best = [i for i in followed.probs.argsort()[::-1].tolist() if i not in checkpoint.excluded_ids][:7]
        pieces = [checkpoint.tokenizer.piece(i) for i in best]
        figure = predictions.bars(pieces, followed.probs[best].tolist(), original=piece, dark=charts.is_dark())
        charts.chart(figure, "probs")


def one_logit(checkpoint: Checkpoint, followed: Stages, word: int) -> None:
    """The sum that the decoder does for one word."""
    worked = worked_logit(checkpoint.model, followed, word)
    piece = checkpoint.tokenizer.piece(word)
    st.subheader("One logit by hand", anchor=False)
    st.markdown(
        f"Multiply the {len(worked.vector)} numbers of the transformed vector with those of the row of "
        f"**{plain(piece)}**, add them up: **{worked.dot:.4f}**. Add the word's bias, {worked.bias:.4f}: "
        f"**{worked.dot + worked.bias:.4f}**. The model's own logit: **{worked.logit:.4f}**."
    )
    left, right = st.columns(2, gap="large")
    with left:
        figure = figures.terms(worked.vector, worked.row, worked.products, piece, dark=charts.is_dark())
        charts.chart(figure, "terms")
        st.markdown(tie_sentence(checkpoint.model))
    with right:
        charts.chart(figures.running_sum(worked.products, worked.bias, dark=charts.is_dark()), "sum")


main()
