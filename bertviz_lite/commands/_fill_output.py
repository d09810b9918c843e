"""What `fill` prints: tables for people, JSON for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from rich.table import Table
from rich.text import Text

from bertviz_lite.analysis import Candidates, Filling, MaskPredictions, Strategy, Window, slots
from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.commands._output import bar, finite

Json = dict[str, object]


@dataclass(frozen=True)
class Answer:
    """Everything that was asked about one text; what was not asked is None or empty.

    Attributes:
        seen: the part of the text that the model read.
        targets: the words that were asked for, once per masked place.
    """

    checkpoint: Checkpoint
    seen: Window
    predictions: MaskPredictions
    strategy: Strategy | None
    filling: Filling | None
    candidates: Candidates | None
    targets: tuple[Candidates, ...]

    def to_dict(self) -> Json:
        """For `--json`: positions are those of the whole text, all logarithms natural."""
        told: Json = {"model": self.checkpoint.report.name, "text": self.seen.encoding.text}
        if not self.seen.is_whole:
            first, last = self.seen.kept[1], self.seen.kept[-2]
            told["window"] = {"first": first, "last": last, "n_tokens": self.seen.n_tokens}
        told["masks"] = [self._mask(m) for m in range(len(self.predictions.positions))]
        if self.filling is not None:
            told["strategy"] = self.strategy
            told["fillings"] = [self._sequence(self.filling, s) for s in range(len(self.filling.ids))]
        if self.candidates is not None:
            told["candidates"] = self._words(self.candidates)
        if self.targets:
            places = [self.seen.kept[positions[0]] for positions in slots(self.seen.encoding)]
            told["targets"] = [
                {"position": place, "words": self._words(found)}
                for place, found in zip(places, self.targets, strict=True)
            ]
        return told

    def tables(self) -> Iterator[tuple[str, Table]]:
        """For people: a title and a table at a time; the predictions themselves only where nothing else was asked."""
        name = self.checkpoint.report.name
        if not self.seen.is_whole:
            first, last = self.seen.kept[1], self.seen.kept[-2]
            name += f" · reads tokens {first} to {last} of {self.seen.n_tokens}"
        if self.filling is not None:
            way = str(self.strategy).replace("_", " ")
            yield f"{len(self.filling.positions)} masks, {way} · {name}", self._sequences(self.filling)
        if self.candidates is not None:
            yield f"candidates · {name}", self._scored(self.candidates)
        for i, found in enumerate(self.targets, start=1):
            yield f"masked place {i} of {len(self.targets)} · {name}", self._scored(found)
        if self.filling is None and self.candidates is None and not self.targets:
            n = len(self.predictions.positions)
            for m in range(n):
                place = self.seen.kept[int(self.predictions.positions[m])]
                unsure = f"perplexity {self.predictions.perplexity[m]:,.1f}"
                yield f"mask {m + 1} of {n}, token {place} · {unsure} · {name}", self._best(m)

    def _mask(self, m: int) -> Json:
        found = self.predictions
        return {
            "position": self.seen.kept[int(found.positions[m])],
            "entropy_nats": float(found.entropy_nats[m]),
            "perplexity": float(found.perplexity[m]),
            "covered_prob": float(found.covered_probs[m]),
            "predictions": [
                {"token": self._piece(int(i)), "id": int(i), "prob": float(p), "rank": rank}
                for rank, (i, p) in enumerate(zip(found.ids[m], found.probs[m], strict=True), start=1)
            ],
        }

    def _sequence(self, found: Filling, s: int) -> Json:
        return {
            "tokens": [self._piece(i) for i in found.ids[s].tolist()],
            "ids": found.ids[s].tolist(),
            "joint_log_prob": finite(found.joint_log_probs[s]),
            "log_probs": [finite(step) for step in found.step_log_probs[s]],
            "order": (found.orders[s] + 1).tolist(),
        }

    def _words(self, found: Candidates) -> list[Json]:
        """The likeliest first; a word that the vocabulary cannot spell has no score."""
        told: list[Json] = []
        for i in found.order.tolist():
            n, joint = int(found.n_pieces[i]), float(found.joint_log_probs[i])
            unknown = bool(found.unknown[i])
            told.append(
                {
                    "word": found.words[i],
                    "tokens": [self._piece(p) for p in found.ids[i, :n].tolist()],
                    "joint_log_prob": finite(joint),
                    "prob": None if unknown else math.exp(joint),
                    "log_probs": None if unknown else [finite(step) for step in found.log_probs[i, :n]],
                    "ranks": None if unknown else found.ranks[i, :n].tolist(),
                    "unknown": unknown,
                }
            )
        return told

    def _best(self, m: int) -> Table:
        table = _table("rank", "token", "probability", "")
        found = self.predictions
        for rank, (i, p) in enumerate(zip(found.ids[m], found.probs[m], strict=True), start=1):
            table.add_row(str(rank), Text(self._piece(int(i))), _digits(float(p)), Text(bar(float(p)), style="blue"))
        return table

    def _sequences(self, found: Filling) -> Table:
        table = _table("rank", "filled in", "joint ln p", "joint probability")
        for rank, (ids, joint) in enumerate(zip(found.ids, found.joint_log_probs, strict=True), start=1):
            told = " ".join(self._piece(i) for i in ids.tolist())
            table.add_row(str(rank), Text(told), f"{joint:.3f}", _digits(float(np.exp(joint))))
        return table

    def _scored(self, found: Candidates) -> Table:
        table = _table("word", "pieces", "joint ln p", "joint probability", "rank")
        for i in found.order.tolist():
            ids = [p for p in found.ids[i].tolist() if p >= 0]
            spelled = Text(" ".join(map(self._piece, ids)))
            if found.unknown[i]:
                table.add_row(Text(found.words[i]), spelled, "-", "not in the vocabulary", "-")
                continue
            joint = float(found.joint_log_probs[i])
            rank = f"{found.ranks[i, 0]:,}" if len(ids) == 1 else "-"
            table.add_row(Text(found.words[i]), spelled, f"{joint:.3f}", _digits(math.exp(joint)), rank)
        return table

    def _piece(self, i: int) -> str:
        return self.checkpoint.tokenizer.piece(i)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        is_number = column in ("rank", "probability", "joint ln p", "joint probability")
        table.add_column(column, justify="right" if is_number else "left", style="dim" if column == "rank" else None)
    return table


def _digits(prob: float) -> str:
    return f"{prob:.3f}" if prob >= 0.001 else f"{prob:.1e}"


__all__ = ["Answer"]
