"""The checkpoint in use: what was read, its configuration, its parameters, its tie; and opening another."""

import pandas as pd
import streamlit as st

from bertviz_lite.checkpoints import Checkpoint, Report, tie_sentence
from bertviz_lite.figures import checkpoint as figures
from bertviz_lite.ui import charts, numbers, shelf, shell, upload

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


def main() -> None:
    """Offer to open files, then show the model in use."""
    with shell.page("pages/checkpoint.py", "Checkpoint", LEAD, MORE):
        upload.opener()
        checkpoint = shelf.current()
        report = checkpoint.report
        st.subheader(report.name, anchor=False)
        facts(report)
        parts, files = st.columns(2, gap="large")
        with parts:
            parameters(checkpoint)
        with files:
            findings(report)
        tensors, configuration = st.columns([3, 2], gap="large")
        with tensors:
            st.markdown(f"**{len(report.tensors)} tensors**")
            st.dataframe(tensor_table(report), hide_index=True, height=420)
        with configuration:
            st.markdown("**config.json**")
            st.dataframe(config_table(report), hide_index=True, height=420)


def facts(report: Report) -> None:
    """The network in five numbers, and the tie."""
    config = report.config
    with st.container(horizontal=True, gap="large", key="facts"):
        st.metric(
            "Parameters", numbers.short(report.parameters.total), help=f"{report.parameters.total:,}", width="content"
        )
        st.metric("Layers × heads", f"{config.num_hidden_layers} × {config.num_attention_heads}", width="content")
        st.metric("Width", f"{config.hidden_size:,}", width="content")
        st.metric("Vocabulary", f"{config.vocab_size:,}", width="content")
        st.metric("Longest text", f"{config.max_position_embeddings:,} tokens", width="content")
        st.metric("Decoder", "tied" if report.tied else "untied", width="content")


def parameters(checkpoint: Checkpoint) -> None:
    """Where the parameters are, and what the tie means in this network."""
    counts = checkpoint.report.parameters
    named = counts.named()
    st.markdown("**Where the parameters are**")
    charts.chart(figures.parameter_bar(named, dark=charts.is_dark()), "parts")
    frame = pd.DataFrame({"part": named.keys(), "parameters": named.values()})
    frame["share"] = frame["parameters"] / counts.total
    number = st.column_config.NumberColumn
    columns = {"parameters": number(format="localized"), "share": number(format="percent")}
    st.dataframe(frame, hide_index=True, column_config=columns)
    st.markdown(tie_sentence(checkpoint.model))


def findings(report: Report) -> None:
    """What was read and what was done to it."""
    st.markdown("**What was read**")
    st.markdown(f"{report.format}: {', '.join(f'`{name}`' for name in report.files)}")
    for line in (*report.inferred, *report.notes):
        st.markdown(f"- {line}")
    if report.renamed:
        st.markdown(f"- {len(report.renamed)} tensors were renamed:")
        st.dataframe(pd.DataFrame([{"in the file": r.old, "name": r.new, "reason": r.reason} for r in report.renamed]))
    if report.unused:
        st.markdown(f"- {len(report.unused)} tensors are not used:")
        st.dataframe(pd.DataFrame([{"tensor": u.name, "reason": u.reason} for u in report.unused]), hide_index=True)
    if not (report.renamed or report.unused or report.inferred or report.notes):
        st.markdown(
            "- Every tensor of the file has its place in the network; nothing is missing, renamed or left over."
        )


def tensor_table(report: Report) -> pd.DataFrame:
    """Every tensor of the file that the network uses."""
    return pd.DataFrame(
        {
            "tensor": [t.name for t in report.tensors],
            "shape": [" × ".join(f"{n:,}" for n in t.shape) for t in report.tensors],
            "values": [t.n_values for t in report.tensors],
            "type": [t.dtype for t in report.tensors],
        }
    )


def config_table(report: Report) -> pd.DataFrame:
    """The configuration, unused keys included."""
    values = report.config.to_dict()
    return pd.DataFrame({"field": values.keys(), "value": [str(value) for value in values.values()]})


main()
