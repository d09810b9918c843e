"""The numbers behind the pictures of "Fill the mask", as tables to read and to download."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from bertviz_lite.analysis import Candidates, Filling, MaskPredictions, Strategy
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.tokenizer import Encoding

_NAMES: dict[Strategy, str] = {
    "independent": "Independent",
    "left_to_right": "Left to right",
    "best_first": "Best first",
    "beam": "Beam search",
}


def prediction_table(checkpoint: Checkpoint, found: MaskPredictions) -> pd.DataFrame:
    """All predictions, one row each."""
    rows = [
        {
            "mask": mask + 1,
            "rank": rank,
            "token": checkpoint.tokenizer.piece(int(i)),
            "probability": float(p),
            "loss (nats)": float(-np.log(p)),
            "together": float(total),
            "id": int(i),
        }
        for mask in range(len(found.positions))
        for rank, (i, p, total) in enumerate(
            zip(found.ids[mask], found.probs[mask], found.probs[mask].cumsum(), strict=True), start=1
        )
    ]
    frame = pd.DataFrame(rows)
    return frame if len(found.positions) > 1 else frame.drop(columns="mask", errors="ignore")


def strategy_table(checkpoint: Checkpoint, encoding: Encoding, found: dict[Strategy, Filling]) -> pd.DataFrame:
    """What each strategy puts in, and its joint log-probability."""
    return pd.DataFrame(
        [
            {
                "strategy": _NAMES[name],
                "fills in": joined(checkpoint, encoding, filling.ids[0]),
                "joint ln p": round(float(filling.joint_log_probs[0]), 3),
            }
            for name, filling in found.items()
        ]
    )


def sequence_table(checkpoint: Checkpoint, encoding: Encoding, found: Filling) -> pd.DataFrame:
    """The sequences of a filling with the log-probability of every step."""
    frame = pd.DataFrame(
        {
            "sequence": [joined(checkpoint, encoding, row) for row in found.ids],
            "joint ln p": found.joint_log_probs,
            "joint probability": np.exp(found.joint_log_probs),
        }
    )
    for mask in range(len(found.positions)):
        frame[f"ln p, mask {mask + 1}"] = found.step_log_probs[:, mask]
    return frame


def candidate_table(checkpoint: Checkpoint, found: Candidates) -> pd.DataFrame:
    """Every word with its pieces and scores, the likeliest first."""
    joint = found.joint_log_probs
    shares = np.exp(joint - np.nanmax(joint)) if not np.isnan(joint).all() else joint
    frame = pd.DataFrame(
        {
            "word": found.words,
            "pieces": [" ".join(checkpoint.tokenizer.piece(p) for p in row if p >= 0) for row in found.ids],
            "joint ln p": joint,
            "probability": np.exp(joint),
            "share of the list": shares / np.nansum(shares),
            "rank of first piece": [rank if rank > 0 else None for rank in found.ranks[:, 0].tolist()],
        }
    )
    return frame.iloc[found.order]


def joined(checkpoint: Checkpoint, encoding: Encoding, ids: NDArray[np.int64]) -> str:
    """Pieces as words, those of separate places with a dot between them."""
    told = ""
    for position, i in zip(encoding.mask_positions, ids.tolist(), strict=True):
        piece = checkpoint.tokenizer.piece(i)
        beside = position - 1 in encoding.mask_positions
        if told and piece.startswith("##") and beside:
            told += piece.removeprefix("##")
        else:
            told += (" " if beside else " · ") * bool(told) + piece
    return told


def fold(frame: pd.DataFrame, name: str) -> None:
    """A table behind a fold, with a download."""
    with st.expander("All numbers"):
        st.dataframe(frame, hide_index=True, height=min(38 + 35 * len(frame), 420))
        st.download_button("Download as CSV", frame.to_csv(index=False), f"{name}.csv", "text/csv")


__all__ = ["candidate_table", "fold", "joined", "prediction_table", "sequence_table", "strategy_table"]
