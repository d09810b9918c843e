"""What a model has learnt so far: pairs of words that it should tell apart, and its loss by class of token.

Made to be asked of one model at several moments of its training; English only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from bertviz_lite.analysis.scoring import score_all
from bertviz_lite.bundled import Probe
from bertviz_lite.errors import TextError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Encoding, Tokenizer

TokenClass = Literal["punctuation", "function words", "content words", "word endings"]
TOKEN_CLASSES: tuple[TokenClass, ...] = get_args(TokenClass)

# Closed classes of English: articles, pronouns, prepositions, conjunctions, auxiliaries and a few particles.
_FUNCTION_WORDS = frozenset(
    """a an the this that these those some any no every each all both either neither i you he she it we they me him us
    them my your his her its our their mine yours hers ours theirs myself yourself himself herself itself ourselves
    themselves who whom whose which what when where why how of in to for on at by with from about into over under after
    before between through until during without against near behind up down out off and or but nor so if because than
    as while although though not there here is am are was were be been being do does did have has had will would can
    could shall should may might must too very never again""".split()  # noqa: SIM905 - a hundred quotation marks would hide the words
)


def token_class(piece: str) -> TokenClass:
    """What kind of token a piece is; one that continues a word is an ending, whatever it says."""
    if piece.startswith("##"):
        return "word endings"
    if not any(c.isalnum() for c in piece):
        return "punctuation"
    return "function words" if piece.lower() in _FUNCTION_WORDS else "content words"


def loss_by_class(
    model: BERTForMaskedLM, tokenizer: Tokenizer, encodings: Sequence[Encoding]
) -> dict[TokenClass, float]:
    """Mean loss in nats of each class of tokens, every token masked in turn; NaN for a class that does not occur.

    Raises:
        TextError: a text has no token to score, or is longer than the model reads.
    """
    losses: dict[TokenClass, list[float]] = {name: [] for name in TOKEN_CLASSES}
    for scores in score_all(model, encodings):
        for token, loss in zip(scores.ids.tolist(), scores.loss_nats.tolist(), strict=True):
            losses[token_class(tokenizer.piece(token))].append(loss)
    return {name: float(np.mean(found)) if found else float("nan") for name, found in losses.items()}


def probe_margins(model: BERTForMaskedLM, tokenizer: Tokenizer, probes: Sequence[Probe]) -> NDArray[np.float32]:
    """(N,) how much better the right answer to each probe is, in nats: above 0 the model knows it.

    Of one sentence: ln p(right) - ln p(wrong) at its mask. Of two: that of the first less that of the twin, which is
    how much likelier the two words are in their own gaps than exchanged; liking one of them better gains nothing.

    Raises:
        TextError: a sentence has not exactly one mask, or a word is no single piece of the vocabulary.
    """
    margins = np.empty(len(probes), np.float32)
    for i, probe in enumerate(probes):
        margins[i] = _odds_nats(model, tokenizer, probe, probe.text)
        if probe.twin:
            margins[i] -= _odds_nats(model, tokenizer, probe, probe.twin)
    return margins


@torch.inference_mode()
def _odds_nats(model: BERTForMaskedLM, tokenizer: Tokenizer, probe: Probe, text: str) -> float:
    """Ln p(right) - ln p(wrong) at the mask of a text."""
    encoding = tokenizer.encode(text)
    if len(encoding.mask_positions) != 1:
        raise TextError(f"The probe {text!r} needs exactly one {tokenizer.mask_token}.")
    right, wrong = (_piece_id(tokenizer, word) for word in (probe.right, probe.wrong))
    at = torch.tensor([(0, encoding.mask_positions[0])])
    logits = model(**encoding.tensors(), positions=at).logits[0].float()  # (V,)
    return float(logits[right] - logits[wrong])  # what the softmax divides by cancels out


def _piece_id(tokenizer: Tokenizer, word: str) -> int:
    found = tokenizer.id(word)
    if found is None or found in tokenizer.special_ids:
        raise TextError(f"The probes ask for {word!r}, which is no single piece of this vocabulary.")
    return found


__all__ = ["TOKEN_CLASSES", "TokenClass", "loss_by_class", "probe_margins", "token_class"]
