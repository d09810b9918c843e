"""Train a small model on a text, or continue the model in use, and watch it learn."""

import streamlit as st

from bertviz_lite.ui import shell
from bertviz_lite.ui.training import end as training_end
from bertviz_lite.ui.training import plan as training_plan
from bertviz_lite.ui.training import view as training_view
from bertviz_lite.ui.wording import plain

LEAD = (
    "A model learns from nothing but text: hide words, guess them, move every weight a little towards the right "
    "answer. **Start one and watch**; the trained model is then in use on all pages."
)
MORE = (
    "The loss is −ln of the probability of the hidden token, averaged over those asked for. Held-out text is never "
    "learnt from: when its loss rises while the other falls, the model learns by heart. The learning rate warms up, "
    "then goes to zero at the end of the time. Training runs in a process of its own and goes on while you look at "
    "other pages or reload this one; it ends some minutes after you have left. The same code trains for hours from "
    "the shell: `python -m bertviz_lite pretrain`."
)


def main() -> None:
    """A run, where there is one; else what is to be trained."""
    with shell.page("pages/training.py", "Train", LEAD, MORE, needs_head=False) as checkpoint:
        if told := st.session_state.pop("training_refused", None):
            st.error(plain(told))
        job = training_end.mine()
        if job is not None:
            training_view.run(job)
            return
        training_end.tell_strange_run()
        with st.container(key="plan"):
            picture, controls = st.columns([3, 1], gap="large")
        with controls:
            plan = training_plan.controls(checkpoint)
        with picture:
            training_view.before(plan)


main()
