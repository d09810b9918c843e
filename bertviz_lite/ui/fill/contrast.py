"""The view of "Fill the mask" on two sentences: the same words at the masked place of each."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_lite.analysis import Contrast, log_odds, spelling
from bertviz_lite.bundled import CONTRASTS, Contrasted
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.figures import contrast as figures
from bertviz_lite.tokenizer import Encoding
from bertviz_lite.ui import charts, compute, numbers, sentence, state
from bertviz_lite.ui.fill import tables as fill_tables
from bertviz_lite.ui.wording import plain

_COMPARED = 50  # likeliest pieces of each sentence
_NAMED = 7  # at either end carry their name
_ODDS = (
    f"Log-odds are ln(p / (1 − p)). Of the {_COMPARED} likeliest words of each sentence, these have the largest "
    "differences of log-odds; a difference of 0.69 means twice the odds."
)


def draw(checkpoint: Checkpoint) -> None:
    """Two sentences, their words against each other, and the odds of the words asked for."""
    _presets()
    left, right = st.columns(2, gap="large")
    with left:
        first = sentence.plain_box(checkpoint, "Sentence A", "text", "mask")
        sentence.row(first, clickable=True)
    with right:
        second = sentence.plain_box(checkpoint, "Sentence B", "second", "mask2")
        sentence.row(second, clickable=True, mask="mask2")
    for name, encoding in (("A", first), ("B", second)):
        if not encoding.mask_positions:
            st.info(f"Nothing is masked in sentence {name}: click a word of it, or write `[MASK]`.")
            return
    _compare(checkpoint, first, second)


def table(checkpoint: Checkpoint, found: Contrast) -> pd.DataFrame:
    """Every word that is compared, one row each."""
    return pd.DataFrame(
        {
            "word": [checkpoint.tokenizer.piece(i) for i in found.ids.tolist()],
            "log-odds ratio": found.log_odds_ratios,
            "ln p in A": found.log_probs[0],
            "ln p in B": found.log_probs[1],
            "rank in A": found.ranks[0],
            "rank in B": found.ranks[1],
        }
    )


def _presets() -> None:
    with st.container(horizontal=True, key="pairs", gap="small", vertical_alignment="center"):
        st.markdown("Pairs", width="content")
        for preset in CONTRASTS:
            st.button(
                preset.label,
                key=f"pair_{preset.label}",
                help=f"{preset.kind}: {preset.first} / {preset.second}",
                on_click=_use,
                args=(preset,),
            )


def _use(preset: Contrasted) -> None:
    state.put(text=preset.first, mask=(), second=preset.second, mask2=(), pair=preset.words)


def _compare(checkpoint: Checkpoint, first: Encoding, second: Encoding) -> None:
    picture, list_of = st.columns([3, 2], gap="large")
    with list_of:
        differences = st.container()
        st.text_input("Words to compare, with commas between them", **state.keyed("pair"))
    pair = tuple(dict.fromkeys(word for part in state.get("pair").split(",") if (word := part.strip())))
    spelled = [spelling(checkpoint.tokenizer, word) for word in pair]
    also = frozenset(ids[0] for ids in spelled if len(ids) == 1)
    found = compute.contrast(checkpoint, first, second, _COMPARED, also)
    ends = _ends(found)
    pieces = [checkpoint.tokenizer.piece(i) for i in found.ids.tolist()]
    with picture:
        st.markdown(
            "Each point is a word; off the diagonal, one sentence makes it likelier: **amber** in A, **blue** in B."
        )
        asked = [i for i, piece in enumerate(found.ids.tolist()) if piece in also]
        far = sorted(ends, key=lambda i: -abs(found.log_odds_ratios[i]))
        figure = figures.scatter(pieces, found.log_probs, found.log_odds_ratios, [*asked, *far], dark=charts.is_dark())
        charts.chart(figure, "scatter")
    with differences:
        st.markdown("The words that differ most: log-odds in A less those in B", help=_ODDS)
        ratios = found.log_odds_ratios[ends].tolist()
        charts.chart(figures.differences([pieces[i] for i in ends], ratios, dark=charts.is_dark()), "differences")
    with list_of:
        _odds(checkpoint, first, second, pair)
        fill_tables.fold(table(checkpoint, found), "two-sentences")


def _ends(found: Contrast) -> list[int]:
    """The words that favour A most, then those that favour B most, the strongest last."""
    ratios = found.log_odds_ratios.tolist()
    favour_a = [i for i, ratio in enumerate(ratios) if ratio > 0][:_NAMED]
    return favour_a + [i for i, ratio in enumerate(ratios) if ratio < 0][-_NAMED:]


def _odds(checkpoint: Checkpoint, first: Encoding, second: Encoding, pair: tuple[str, ...]) -> None:
    """The words asked for, of any number of pieces, in both sentences; two of them against each other."""
    if not pair:
        return
    found = [compute.candidates(checkpoint, encoding, pair, 0, compute.Choice()) for encoding in (first, second)]
    joint = np.stack([each.joint_log_probs for each in found])  # (2, N)
    odds = log_odds(joint)
    lines = ["| word | p in A | p in B | log-odds, A − B |", "|---|--:|--:|--:|"]
    for i, word in enumerate(pair):
        a, b = (numbers.probability(float(p)) for p in np.exp(joint[:, i]))
        told = (
            (a, b, numbers.nats(float(odds[0, i] - odds[1, i]))) if not found[0].unknown[i] else ("[UNK]", "[UNK]", "–")
        )
        lines.append(f"| {plain(word)} | {' | '.join(told)} |")
    st.markdown("\n".join(lines))
    if len(pair) == 2 and not found[0].unknown.any():
        named = [plain(word) for word in pair]
        in_a, in_b = (numbers.nats(float(odd)) for odd in joint[:, 0] - joint[:, 1])
        st.markdown(f"Log-odds of {named[0]} against {named[1]}: **{in_a}** in A, **{in_b}** in B.")


__all__ = ["draw", "table"]
