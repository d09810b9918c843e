"""The way from ids to a prediction, stage by stage, and one logit worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from bertviz_lite.analysis._rows import require_fits
from bertviz_lite.errors import InputError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Encoding

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Stages:
    """What a text is at every stage of the network.

    Attributes:
        embedded: (T, D) word + position + segment, after LayerNorm.
        encoded: (T, D) after the last layer.
        transformed: (T, D) after the head's dense, activation and LayerNorm: what the decoder multiplies.
        position: the token whose prediction is followed.
        logits: (V,) at that position.
        probs: (V,) their softmax.
    """

    embedded: Floats
    encoded: Floats
    transformed: Floats
    position: int
    logits: Floats
    probs: Floats


@dataclass(frozen=True)
class WorkedLogit:
    """One logit as the sum that it is: Σ vector · row + bias.

    Attributes:
        vector: (D,) the transformed vector at the position.
        row: (D,) the decoder's row of the word; of a tied model, the word's embedding.
        bias: the word's output bias.
        logit: what the model itself says.
    """

    vector: Floats
    row: Floats
    bias: float
    logit: float

    @property
    def products(self) -> Floats:
        """(D,) what each dimension adds."""
        products: Floats = self.vector * self.row
        return products

    @property
    def dot(self) -> float:
        """Σ products, summed in float64."""
        return float(np.dot(self.vector.astype(np.float64), self.row.astype(np.float64)))


@torch.inference_mode()
def stages(model: BERTForMaskedLM, encoding: Encoding, position: int) -> Stages:
    """Follow a text through the network to the prediction at one position.

    Raises:
        TextError: the text is longer than the model reads.
        InputError: there is no such position.
    """
    require_fits(model, encoding)
    if not 0 <= position < len(encoding):
        raise InputError(f"There is no token {position}: the text's go from 0 to {len(encoding) - 1}.")
    encoded = model.bert(**encoding.tensors(), output_hidden_states=True)
    assert encoded.hidden_states is not None  # noqa: S101 - asked for in the line above
    head = model.cls.predictions
    transformed = head.transform(encoded.last_hidden_state)[0]  # (T, D)
    logits = head.decoder(transformed[position]).float()  # (V,)
    return Stages(
        embedded=encoded.hidden_states[0][0].numpy(),
        encoded=encoded.last_hidden_state[0].numpy(),
        transformed=transformed.numpy(),
        position=position,
        logits=logits.numpy(),
        probs=logits.softmax(-1).numpy(),
    )


def worked_logit(model: BERTForMaskedLM, followed: Stages, token_id: int) -> WorkedLogit:
    """Take the logit of one id apart.

    Raises:
        InputError: the id is not in the vocabulary.
    """
    if not 0 <= token_id < len(followed.logits):
        raise InputError(f"There is no id {token_id}: the vocabulary's go from 0 to {len(followed.logits) - 1}.")
    decoder = model.cls.predictions.decoder
    return WorkedLogit(
        vector=followed.transformed[followed.position],
        row=decoder.weight[token_id].detach().numpy(),
        bias=float(decoder.bias[token_id].detach()),
        logit=float(followed.logits[token_id]),
    )


__all__ = ["Stages", "WorkedLogit", "stages", "worked_logit"]
