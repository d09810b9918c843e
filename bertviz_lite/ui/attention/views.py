"""The other views of the Attention page: every head's numbers, means and rollout, and what changes between two."""

from __future__ import annotations

import re
from operator import itemgetter

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_lite.analysis import LONGEST_FLOW, HeadStatistics, every_head, head_records, leaders, named_heads
from bertviz_lite.analysis.units import Floats
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.errors import InputError, TextError
from bertviz_lite.figures import attention as figures
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui import charts, shelf, state
from bertviz_lite.ui.attention import answers
from bertviz_lite.ui.attention import files as attention_files
from bertviz_lite.ui.attention import map as attention_map
from bertviz_lite.ui.switch import switch
from bertviz_lite.ui.wording import plain

NUMBERS = {
    "previous_prob": "on the previous token",
    "next_prob": "on the next token",
    "self_prob": "on itself",
    "special_prob": "on [CLS] and [SEP]",
    "cls_prob": "on [CLS]",
    "sep_prob": "on [SEP]",
    "punctuation_prob": "on punctuation",
    "same_prob": "on the same token elsewhere",
    "entropy_nats": "entropy (nats)",
    "evenness": "evenness (share of the largest entropy)",
    "distance_tokens": "mean distance (tokens)",
}
_MEANS = {
    "rollout": "Rollout",
    "flow": "Flow",
    "all": "All heads",
    "layer": "A layer",
    "heads": "Chosen heads",
}
_CHANGES = {"mask": "The masks", "head": "Two heads", "text": "Two sentences", "model": "Two models"}


def numbers(checkpoint: Checkpoint, encoding: Encoding) -> None:
    """Every head's numbers as a chart and as a table; pressing one opens the head."""
    statistics = answers.survey(checkpoint, encoding).statistics
    grid = None
    left, right = st.columns([2, 3], gap="large")
    with left:
        shows = state.get("shows")
        st.selectbox("Every head's …", list(NUMBERS), format_func=lambda name: NUMBERS[name], **state.keyed("shows"))
        values = getattr(statistics, shows)
        if np.isnan(values).any():
            st.info("No token of this text stands there twice: type a sentence with a word that comes again.")
        else:
            picked = attention_map.opened(checkpoint, statistics)
            grid = figures.head_grid(values, NUMBERS[shows], picked=picked, dark=charts.is_dark())
            charts.chart(grid, "grid", on_point=lambda x, y: _open((int(y), int(x))))
            highest = [f"{layer}·{head} {values[layer, head]:.2f}" for layer, head in leaders(values, 3)]
            st.markdown(f"Highest: **{highest[0]}**, then {', '.join(highest[1:])}." if len(highest) > 1 else "")
        st.caption("Means over the tokens that look. Press a square, or a row of the table, to open the head.")
    with right:
        _table(statistics, shows)
        attention_files.offer_numbers(statistics, grid)


def _table(statistics: HeadStatistics, shows: str) -> None:
    """All numbers, the one on show first."""
    records = head_records(statistics)
    scores = {(named.layer, named.head, named.pattern.name): named.score for named in named_heads(statistics)}
    frame = pd.DataFrame(
        {
            "layer": [record["layer"] for record in records],
            "head": [record["head"] for record in records],
            "is a": [
                ", ".join(f"{name} {scores[record['layer'], record['head'], name]:.2f}" for name in record["patterns"])
                for record in records
            ],
            **{NUMBERS[field]: list(map(itemgetter(field), records)) for field in (shows, *NUMBERS)},
        }
    )
    number = st.column_config.NumberColumn(format="%.2f")
    st.dataframe(
        frame,
        hide_index=True,
        height=430,
        key="heads_table",
        on_select=lambda: _open_row(frame),
        selection_mode="single-row",
        column_config=dict.fromkeys(NUMBERS.values(), number) | {"is a": st.column_config.TextColumn(width="medium")},
    )


def _open_row(frame: pd.DataFrame) -> None:
    for row in st.session_state["heads_table"].selection.rows[:1]:
        _open((int(frame["layer"][row]), int(frame["head"][row])))


def _open(head: answers.Head) -> None:
    state.put(maps="heads", layer=head[0], head=head[1])


def means(checkpoint: Checkpoint, encoding: Encoding) -> None:
    """One map for many heads."""
    left, right = st.columns([2, 3], gap="large")
    with left:
        kind = switch("Summary", _MEANS, "mean")
        if kind == "flow":
            at = _flow_to(encoding)
        else:
            title, weights, says = _summary(checkpoint, encoding, kind)
            st.markdown(says)
    with right:
        if kind == "flow":
            _flow(checkpoint, encoding, at)
        else:
            attention_map.one(checkpoint, encoding, weights, title)


def _summary(checkpoint: Checkpoint, encoding: Encoding, kind: str) -> tuple[str, Floats, str]:
    """Title, map, and what it is."""
    n_layers, n_heads = checkpoint.config.num_hidden_layers, checkpoint.config.num_attention_heads
    every = every_head(checkpoint.config)
    if kind == "heads":
        chosen = _chosen_heads(checkpoint, encoding, every)
        title = "mean of " + ", ".join(f"{layer}·{head}" for layer, head in chosen[:6]) + " …" * (len(chosen) > 6)
        return title, answers.mean(checkpoint, encoding, chosen), "The mean of the chosen heads: its rows sum to 1 too."
    if kind == "all":
        weights = answers.mean(checkpoint, encoding, every)
        return "mean of all heads", weights, f"The mean of all {len(every)} heads. What few heads do, it hides."
    layer = state.number("of_layer", n_layers, n_layers - 1)
    label = "Up to layer" if kind == "rollout" else "Layer"
    st.select_slider(label, list(range(n_layers)), **state.keyed("of_layer", showing=layer))
    if kind == "layer":
        chosen = [(layer, head) for head in range(n_heads)]
        return f"mean of layer {layer}", answers.mean(checkpoint, encoding, chosen), f"The mean of the {n_heads} heads."
    says = (
        "How much of each token's start is left in each token, if attention were all that moved it: layer by layer, "
        "half the mean attention and half the token itself, multiplied (Abnar & Zuidema 2020)."
    )
    return f"rollout to layer {layer}", answers.rollout(checkpoint, encoding)[layer], says


def _chosen_heads(checkpoint: Checkpoint, encoding: Encoding, every: list[answers.Head]) -> list[answers.Head]:
    asked = [head for head in state.get("of_heads") if head in every]
    if not asked:  # first sight: the heads of one pattern
        named = named_heads(answers.survey(checkpoint, encoding).statistics)
        asked = [(one.layer, one.head) for one in named if one.pattern is named[0].pattern] or every[:1]
    st.multiselect(
        "Heads (layer·head)",
        every,
        format_func=lambda head: f"{head[0]}·{head[1]}",
        **state.keyed("of_heads", showing=asked),
    )
    return asked


def _flow_to(encoding: Encoding) -> int:
    """The token that is flowed to, and what flow is."""
    if len(encoding) > LONGEST_FLOW:
        raise TextError(
            f"Flow takes too long for {len(encoding)} tokens: give at most {LONGEST_FLOW}, or see the rollout."
        )
    first = next(iter(encoding.mask_positions), len(encoding) // 2)
    at = state.number("flow_to", len(encoding), first)
    places = range(len(encoding))
    st.selectbox(
        "To", places, format_func=lambda i: f"{encoding.pieces[i]} ({i})", **state.keyed("flow_to", showing=at)
    )
    st.markdown(
        "How much could pass from each token's start to one token after the last layer, if attention were pipes: the "
        "largest flow through them (Abnar & Zuidema 2020). Each token is asked by itself; flows are often much alike, "
        "and rollout tells tokens apart better. Attention is not an explanation."
    )
    return at


def _flow(checkpoint: Checkpoint, encoding: Encoding, at: int) -> None:
    """What could flow to one token."""
    flow = answers.flow(checkpoint, encoding, at)
    bars = figures.token_bars(flow, encoding.pieces, "flow", dark=charts.is_dark())
    charts.chart(bars, "flow_bars")
    frame = pd.DataFrame({"token": range(len(encoding)), "piece": encoding.pieces, "flow": flow})
    attention_files.offer_chart(frame, bars, "flow")


def changes(checkpoint: Checkpoint, encoding: Encoding) -> None:
    """Two maps and the second less the first."""
    head = attention_map.opened(checkpoint, answers.survey(checkpoint, encoding).statistics)
    first = answers.Side(checkpoint, encoding)
    left, right = st.columns([2, 3], gap="large")
    with left:
        kind = switch("Compared", _CHANGES, "change")
        if kind == "head":
            second, other = first, _other_head(checkpoint, head)
            names = [f"layer {layer}, head {number}" for layer, number in (other, head)]
            st.markdown(f"**{names[0]}** less **{names[1]}**: amber where it looks more, blue where less.")
        else:
            first, second = {"mask": _masks, "text": _texts, "model": _models}[kind](first)
            other = head
            second_is = {"mask": "the masked sentence", "text": "the second sentence"}.get(kind)
            _most_moved(first, second, head, second_is or plain(second.checkpoint.report.name))
    with right:
        change = answers.change(first, second, head, other)
        title = f"change of layer {head[0]} head {head[1]}"
        attention_map.one(second.checkpoint, second.encoding, change.difference, title, change.labels)


def _most_moved(first: answers.Side, second: answers.Side, head: answers.Head, second_is: str) -> None:
    """How much each head changes; pressing one shows its change."""
    grid = figures.head_grid(answers.moved(first, second), "moved", picked=head, dark=charts.is_dark())
    charts.chart(grid, "moved", on_point=lambda x, y: state.put(layer=int(y), head=int(x)))
    st.caption("The share of each head's attention that goes elsewhere, mean over tokens. Press one to see it.")
    st.markdown(f"**Layer {head[0]}, head {head[1]}**: amber where {second_is} looks more, blue where less.")


def _other_head(checkpoint: Checkpoint, head: answers.Head) -> answers.Head:
    """The second of two heads; the next one until it is chosen."""
    n_layers, n_heads = checkpoint.config.num_hidden_layers, checkpoint.config.num_attention_heads
    following = (head[0], (head[1] + 1) % n_heads)
    sizes = (n_layers, n_heads)
    with st.container(horizontal=True, key="two_heads"):
        for name, n, at in (("layer", n_layers, head[0]), ("head", n_heads, head[1])):
            st.selectbox(f"First: {name}", list(range(n)), **state.keyed(name, showing=at), width=105)
        shown = []
        for i, name in enumerate(("layer2", "head2")):
            at = state.number(name, sizes[i], following[i])
            label = f"Second: {name.removesuffix('2')}"
            st.selectbox(label, list(range(sizes[i])), **state.keyed(name, showing=at), width=105)
            shown.append(at)
    return shown[0], shown[1]


def _masks(masked: answers.Side) -> tuple[answers.Side, answers.Side]:
    typed = masked.encoding.masked(())
    if typed.ids == masked.encoding.ids:
        st.info("Nothing is masked: click a word in the sentence above, and see what its mask changes in every head.")
        st.stop()
    return answers.Side(masked.checkpoint, typed), masked


def _texts(first: answers.Side) -> tuple[answers.Side, answers.Side]:
    second = state.get("text2") or _exchanged(first.encoding.text)
    st.text_input("The second sentence: as many tokens as the first", **state.keyed("text2", showing=second))
    tokenizer = first.checkpoint.tokenizer
    encoding = tokenizer.encode(second, first.encoding.pair)
    return first, answers.Side(first.checkpoint, encoding.masked(state.get("mask"), tokenizer.mask_token))


def _exchanged(text: str) -> str:
    """Until another is typed: the sentence with its two longest words in each other's place."""
    words = sorted(re.finditer(r"\w+", text), key=lambda word: -len(word.group()))[:2]
    if len(words) < 2:
        return text
    a, b = sorted(words, key=re.Match.start)
    return f"{text[: a.start()]}{b.group()}{text[a.end() : b.start()]}{a.group()}{text[b.end() :]}"


def _models(first: answers.Side) -> tuple[answers.Side, answers.Side]:
    a = first.checkpoint
    others = {key: label for key, label in shelf.choices().items() if key != shelf.current_key()}
    others[shelf.TWIN] = f"{a.report.name}, untrained twin"
    asked = state.get("other") if state.get("other") in others else shelf.TWIN
    st.selectbox(
        f"{plain(a.report.name)} and",
        list(others),
        format_func=lambda key: others[key],
        **state.keyed("other", showing=asked),
    )
    b = shelf.untrained(a, a.report.digest, a.report.name) if asked == shelf.TWIN else shelf.get(asked)
    sizes = [(one.config.num_hidden_layers, one.config.num_attention_heads) for one in (a, b)]
    if sizes[0] != sizes[1]:
        raise InputError(
            f"{a.report.name} has {sizes[0][0]} layers of {sizes[0][1]} heads, {b.report.name} {sizes[1][0]} of "
            f"{sizes[1][1]}: choose another model whose heads lie side by side with this one's."
        )
    encoding = b.tokenizer.encode(first.encoding.text, first.encoding.pair)
    return first, answers.Side(b, encoding.masked(state.get("mask"), b.tokenizer.mask_token))


__all__ = ["NUMBERS", "changes", "means", "numbers"]
