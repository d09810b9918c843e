"""The front door and its first page: what the model expects where a word is masked."""

import streamlit as st

from bertviz_lite.ui import sentence, shell, sight
from bertviz_lite.ui.fill import contrast as contrast_view
from bertviz_lite.ui.fill import views as fill_views
from bertviz_lite.ui.fill import words as words_view
from bertviz_lite.ui.switch import switch

LEAD = (
    "The model never sees a masked word: it reads the rest and spreads its belief over its whole vocabulary. "
    "**Click a word** to mask it, click it again to show it."
)
MORE = (
    "Each bar is the probability the model gives to one piece of its vocabulary at the mask; all pieces together sum "
    "to 1, and rank 1 is the first choice. Entropy is −Σ p ln p; perplexity, its exp, is the number of equally likely "
    "pieces that would leave the model as unsure. Alone, masks are filled independently: the words need not fit each "
    "other. A word of several pieces needs as many masks. Where you masked a word yourself, its own rank and "
    "probability are shown."
)
VIEWS = {"each": fill_views.each, "together": fill_views.together, "words": words_view.draw}
LABELS = {
    "each": "Each mask alone",
    "together": "All masks together",
    "words": "Your own words",
    "contrast": "Two sentences",
}


def main() -> None:
    """Read the inputs, ask, draw."""
    with shell.page("app.py", "Fill the mask", LEAD, MORE) as checkpoint:
        asked = switch("Ask", LABELS, "ask")
        if asked == "contrast":
            contrast_view.draw(checkpoint)
            return
        whole = sentence.box(checkpoint, may_be_longer=True)
        seen = sight.in_sight(checkpoint, whole)
        sentence.row(whole, clickable=True, unseen=seen.left_out)
        sight.tell_window(whole, seen)
        if not whole.mask_positions:
            st.info("Nothing is masked yet: click a word above, or write `[MASK]` where a word should be guessed.")
            return
        VIEWS[asked](checkpoint, whole, seen)


main()
