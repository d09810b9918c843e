"""All moments of a training side by side, in strips with one column a moment: the visitor's sentence, and measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from bertviz_lite.analysis import MaskPredictions
from bertviz_lite.figures import learning as figures
from bertviz_lite.figures import palette
from bertviz_lite.figures.scoring import top
from bertviz_lite.tokenizer import Encoding, Tokenizer
from bertviz_lite.ui import charts, compute, sight, state
from bertviz_lite.ui.learning.moments import Training
from bertviz_lite.ui.wording import plain

_MOST_WORDS = 9
_CHANCE = 0.5
_DEARER = 0.2  # nats
_PROBES = (
    "Twenty of each kind; a blind guess gets half of them right. **Frequency**: two words fit a gap, and the far more "
    "frequent one should be likelier. All others: two words and two gaps, and the words should be likelier in their "
    "own gaps than exchanged. **Neighbours**: the word beside the gap decides (a cup ‸ tea: of; listen ‸ music: to). "
    "**Grammar**: a word further away does (the dogs in the garden ‸ hungry: are; the dog in the garden ‸ hungry: is). "
    "**Meaning**: only what the words mean (fish live deep in the ‸: water; birds fly high in the ‸: sky). "
    "It may know the difference and still say is after dogs, only less surely than after dog."
)
_NATS = (0.0, 8.0)  # of measured losses: a blind guess among 2,700 pieces has 7.9


def of_sentence(training: Training, at: int, encoding: Encoding) -> None:
    """The sentence at every moment: what was guessed at the mask, and what each token cost."""
    if not encoding.n_words:
        st.info("Type a sentence above, or press an example, to see it at every moment.")
        return
    if encoding.mask_positions:
        st.markdown(
            "**Guessed at the mask**: first choices of all moments, bold where they are, and the second of the last"
        )
        _words(training, at, encoding, sight.mask_number(encoding))
    st.markdown("**Loss of each token**, masked in turn (nats)")
    _losses(training, at, encoding)


def measured(training: Training, at: int) -> None:
    """What was measured of every moment: probes by kind and losses by class of token."""
    if training.right_share:
        st.markdown("**Probes right, by kind** (% of twenty each; 50 by chance)", help=_PROBES)
        cells = _measure(training.right_share, ".0%", training, "probability", (_CHANCE - 0.1, 1.0))
        _draw(training, at, "probes", cells)
        st.caption("One probe is 5%: kinds that are a probe or two apart are as good as equal.")
    if training.class_nats:
        st.markdown("**Loss by class of token** (nats)", help="Thirty sentences of our own, each token masked in turn.")
        _draw(training, at, "classes", _measure(training.class_nats, ".1f", training, "loss", _NATS))
        st.markdown(dearer_first(training))


def dearer_first(training: Training) -> str:
    """Which classes of token became dearer before they became cheaper, and why; nothing where none did."""
    found: list[str] = []
    for name, losses in training.class_nats.items():
        worst = int(np.argmax(losses))
        if losses[worst] - losses[0] >= _DEARER:
            there = f"{losses[0]:.1f} → {losses[worst]:.1f} at {training.moments[worst].name}"
            found.append(f"**{name if found else name.capitalize()}** become dearer at first ({there})")
    return f"{', '.join(found)}: what frequent pieces gain, rare ones pay." if found else ""


def _words(training: Training, at: int, encoding: Encoding, mask: int) -> None:
    tokenizer = training.moments[-1].checkpoint.tokenizer
    st.text_input("Follow a word", placeholder="any word: its probability at each moment", **state.keyed("word"))
    found = [compute.predictions(m.checkpoint, encoding, len(tokenizer), compute.Choice()) for m in training.moments]
    shown = followed(found, mask, _asked(tokenizer))
    probs = np.array([[_prob(one, mask, token) for one in found] for token in shown])  # (R, M)
    firsts = [shown.index(int(one.ids[mask, 0])) if int(one.ids[mask, 0]) in shown else -1 for one in found]
    names = [tokenizer.piece(token) for token in shown]
    texts = [[_short(p, first=firsts[j] == i) for j, p in enumerate(row)] for i, row in enumerate(probs.tolist())]
    hovers = _hovers(training, names, [[f"probability {p:.4f}" for p in row] for row in probs.tolist()])
    span = (0.0, max(0.1, float(probs.max())))
    _draw(training, at, "words", figures.Strip(names, probs, texts, hovers, "probability", span, firsts))


def _asked(tokenizer: Tokenizer) -> int | None:
    """The word that the visitor follows, where the vocabulary has it as one piece."""
    word = state.get("word").strip()
    if not word:
        return None
    ids = tokenizer.ids_of([word])[0]
    if len(ids) == 1 and ids[0] not in tokenizer.special_ids:
        return ids[0]
    pieces = " ".join(tokenizer.piece(i) for i in ids)
    st.caption(f"“{plain(word)}” is no single piece of this small vocabulary ({plain(pieces)}): follow another word.")
    return None


def followed(found: Sequence[MaskPredictions], mask: int, asked: int | None) -> list[int]:
    """Ids of the words worth a row: first choices as they came up, the second of the last moment, what stood there, and
    the word asked for.
    """
    wanted = [*(int(one.ids[mask, 0]) for one in found), int(found[-1].ids[mask, 1])]
    original = int(found[-1].original_ids[mask])
    always = [token for token in (original, asked) if token is not None and token >= 0]
    firsts = list(dict.fromkeys(token for token in wanted if token not in always))
    room = _MOST_WORDS - len(set(always))
    return [*firsts[-room:], *dict.fromkeys(always)]


def _prob(found: MaskPredictions, mask: int, token: int) -> float:
    (place,) = np.flatnonzero(found.ids[mask] == token)
    return float(found.probs[mask, place])


def _losses(training: Training, at: int, encoding: Encoding) -> None:
    scores = [compute.scores(m.checkpoint, encoding, "pll") for m in training.moments]
    losses: NDArray[np.float32] = np.stack([one.loss_nats for one in scores], axis=1)  # (T, M)
    names = [encoding.typed_pieces[place] for place in scores[0].positions.tolist()]
    tokenizer = training.moments[-1].checkpoint.tokenizer
    told = [
        [
            f"loss {losses[i, j]:.2f} nats\nthe model says {tokenizer.piece(int(one.best_ids[i]))}"
            for j, one in enumerate(scores)
        ]
        for i in range(len(names))
    ]
    texts = [[f"{loss:.1f}" for loss in row] for row in losses.tolist()]
    span = (0.0, top(losses.ravel().tolist()))
    cells = figures.Strip(names, losses, texts, _hovers(training, names, told), "loss", span)
    _draw(training, at, "losses", cells)


def _measure(
    values: Mapping[str, Sequence[float]],
    written: str,
    training: Training,
    scale: palette.Scale,
    span: tuple[float, float],
) -> figures.Strip:
    """Measures of all moments, by name, as a strip; `written` is the format of a value."""
    texts = [[format(value, written).removesuffix("%") for value in row] for row in values.values()]
    rows = list(values)
    return figures.Strip(rows, np.array(list(values.values())), texts, _hovers(training, rows, texts), scale, span)


def _hovers(training: Training, rows: Sequence[str], told: Sequence[Sequence[str]]) -> list[list[str]]:
    return [
        [f"{row} after {m.name} tokens\n{text}" for m, text in zip(training.moments, texts, strict=True)]
        for row, texts in zip(rows, told, strict=True)
    ]


def _draw(training: Training, at: int, key: str, cells: figures.Strip) -> None:
    charts.chart(figures.strip(cells, [m.name for m in training.moments], at, dark=charts.is_dark()), key)


def _short(prob: float, *, first: bool) -> str:
    """.043; nothing for what is rarer than one in a hundred, unless it is the first choice all the same."""
    return f"{prob:.3f}"[1:] if 0.01 <= prob < 0.9995 else f"{prob:.4f}".lstrip("0") if first else ""


__all__ = ["dearer_first", "followed", "measured", "of_sentence"]
