"""A small model at ten moments of its training, on the visitor's sentence."""

import streamlit as st

from bertviz_lite.bundled import LEARNING_EXAMPLES
from bertviz_lite.ui import sentence, shell
from bertviz_lite.ui.learning import strips as learning_strips
from bertviz_lite.ui.learning import view as learning_view
from bertviz_lite.ui.learning.moments import bundled_training

LEAD = (
    "A small model, not the one in use, trained from nothing by `pretrain`. **Move the slider** to see your sentence "
    "as it read it then, darker where its loss was higher; click a word to mask it."
)
MORE = (
    "4 layers of 4 heads, width 96, 2,700 pieces, 0.6 M parameters: not the model that is chosen above. Chips are "
    "coloured by loss, each token masked in turn. Held-out loss is that of training: the selected tokens of text that "
    "was kept apart. Dashed lines are what counting in the same training text reaches on the same tokens: all pieces "
    "alike; the frequency of each piece; that after the piece on the left; both neighbours, as if each told on its own."
    " It began with all pieces equally likely (`--flat-start`), so that frequencies had to be learnt too."
)


def main() -> None:
    """Choose the moment, then draw it, then all of them."""
    with shell.page("pages/learning.py", "Watch it learn", LEAD, MORE, needs_head=False):
        training = bundled_training()
        sentence.begin_with(LEARNING_EXAMPLES[0])  # in words that so small a vocabulary has whole
        encoding = sentence.box(training.moments[-1].checkpoint, examples=LEARNING_EXAMPLES)
        at = learning_view.pick_moment(training)
        if encoding.n_words:
            learning_view.row(training, at, encoding)
            learning_view.moment(training, at, encoding)
        st.subheader("All moments side by side", anchor=False)
        own, measured = st.columns(2, gap="large")
        with own:
            learning_strips.of_sentence(training, at, encoding)
        with measured:
            learning_strips.measured(training, at)


main()
