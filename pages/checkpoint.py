"""The checkpoint in use: what was read, its tensors, its vocabulary, saving it; and opening another."""

import streamlit as st

from bertviz_lite.checkpoints import Report
from bertviz_lite.ui import checkpoint_views, numbers, shelf, shell, upload
from bertviz_lite.ui.switch import switch

LEAD = (
    "What lies in the files of the model in use, and how they were read. Open your own BERT masked language model "
    "below: it then serves all pages, for you alone."
)
MORE = (
    "A checkpoint is a folder in the Hugging Face layout: config.json, model.safetensors (or pytorch_model.bin) and "
    "tokenizer.json (or vocab.txt with tokenizer_config.json). Give it as one zip, or choose its files together. "
    "Pickles are read with weights_only, so no code in them runs. Your files stay on this server, in memory, and go "
    "when you close the page."
)
VIEWS = {
    "overview": checkpoint_views.overview,
    "tensors": checkpoint_views.tensors,
    "vocabulary": checkpoint_views.vocabulary,
    "save": checkpoint_views.save,
}


def main() -> None:
    """Offer to open files, then show the model in use."""
    with shell.page("pages/checkpoint.py", "Checkpoint", LEAD, MORE, needs_head=False):
        upload.opener()
        checkpoint = shelf.current()
        facts(checkpoint.report)
        view = switch("View", {name: name.capitalize() for name in VIEWS}, "view")
        if view == "overview":
            upload.tie_choice()
        VIEWS[view](checkpoint)


def facts(report: Report) -> None:
    """The network in six numbers."""
    config, total = report.config, report.parameters.total
    st.subheader(report.name, anchor=False)
    with st.container(horizontal=True, gap="large", key="facts"):
        st.metric("Parameters", numbers.short(total), help=f"{total:,}", width="content")
        st.metric("Layers × heads", f"{config.num_hidden_layers} × {config.num_attention_heads}", width="content")
        st.metric("Width", f"{config.hidden_size:,}", width="content")
        st.metric("Vocabulary", f"{config.vocab_size:,}", width="content")
        st.metric("Longest text", f"{config.max_position_embeddings:,} tokens", width="content")
        decoder = "none" if report.lacks_head else "tied" if report.tied else "untied"
        st.metric("Decoder", decoder, width="content")


main()
