"""How a masked language model is trained: one training example of the visitor's sentence, and its loss."""

import streamlit as st

from bertviz_lite.ui import sentence, shell
from bertviz_lite.ui.training import masking as masking_view

LEAD = (
    "Training is this game, millions of times: select a few tokens, hide most of them, **ask for what stood there**. "
    "The loss is −ln of the probability of the right token, averaged over the tokens asked for and no others."
)
MORE = (
    "15 % of the tokens are selected. Of these, 80 % become [MASK], 10 % a random token, 10 % stay as they are: if "
    "every selected token were masked, the model could learn to do nothing where there is no mask. Their labels are "
    "their ids; all other labels are −100, which the loss leaves out. Devlin et al. 2019, “BERT”. Google's code draws "
    "a fixed number in each sequence, at least one; transformers draws each token by itself, so it may draw none, and "
    "with whole words it masks all that it selects. Pre-training in this project draws with the same code."
)


def main() -> None:
    """Read the inputs, draw an example, ask the model."""
    with shell.page("pages/masking.py", "How it was trained", LEAD, MORE) as checkpoint:
        encoding = sentence.box(checkpoint).masked(())
        picture, controls = st.columns([3, 1], gap="large")
        with controls:
            rule = masking_view.pick_rule()
        with picture:
            masking_view.example(checkpoint, encoding, rule)
            masking_view.many(checkpoint, encoding, rule)


main()
