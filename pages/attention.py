"""Where every head attends."""

import streamlit as st

from bertviz_lite.ui import sentence, shell
from bertviz_lite.ui.attention import map as attention_map
from bertviz_lite.ui.attention import views as attention_views
from bertviz_lite.ui.switch import switch

LEAD = (
    "Every small map is a **head**: rows are the tokens that look, columns those they look at, and each row sums to 1. "
    "Press a head to open it; hover a token to follow its lines."
)
MORE = (
    "Layers and heads are numbered from 0. Maps are taken after the softmax. Words merge the pieces of a word: rows "
    "are averaged, columns summed. What is left out is told for every row; rows are rescaled only if you ask. A head "
    "bears a pattern's name with the score that earned it: half its attention on the previous or next token, on [SEP] "
    "or [CLS]; 0.4 on the same token elsewhere; entropy above 0.9 of the largest for broad ones (Clark et al. 2019, "
    "and two thresholds of our own). Many heads rest on [SEP], or in the bundled model, which was never trained on "
    "pairs, on [CLS], when they have nothing to say."
)
VIEWS = {
    "heads": attention_map.heads,
    "numbers": attention_views.numbers,
    "means": attention_views.means,
    "change": attention_views.changes,
}
NAMES = {"heads": "Heads", "numbers": "Every head's numbers", "means": "Means and rollout", "change": "What changes"}


def main() -> None:
    """Read the inputs, take the maps, draw."""
    with shell.page("pages/attention.py", "Attention", LEAD, MORE, needs_head=False) as checkpoint:
        encoding = sentence.box(checkpoint, pair=True)
        sentence.row(encoding, clickable=True)
        if not encoding.n_words:
            st.info("Type a sentence above, or press an example, to see where its tokens look.")
            return
        VIEWS[switch("View", NAMES, "maps")](checkpoint, encoding)


main()
