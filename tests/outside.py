"""The bundled checkpoint as transformers reads it: the source of expected numbers."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lite.tokenizer import Encoding

# transformers writes load reports and progress bars to the terminal; neither is under test.
transformers.logging.set_verbosity(logging.CRITICAL)
transformers.logging.disable_progress_bar()


class Outside:
    """transformers' tokenizer and BertForMaskedLM, in float32, attention written out."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.BertForMaskedLM.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager"
        ).eval()

    def ids(self, text: str, pair: str | None = None) -> tuple[Tensor, Tensor]:
        """Ids and segments, (T,) each."""
        found = self.tokenizer(text, pair, return_tensors="pt")
        return found["input_ids"][0], found["token_type_ids"][0]

    @torch.no_grad()
    def log_probs(self, ids: Tensor, segments: Tensor) -> Tensor:
        """(T, V) ln of probability at every token."""
        logits: Tensor = self.model(input_ids=ids[None], token_type_ids=segments[None]).logits[0]
        return logits.log_softmax(-1)

    @torch.no_grad()
    def maps(self, encoding: Encoding) -> NDArray[np.float32]:
        """(L, H, T, T) of a text as it stands, masks included."""
        ids, segments = torch.tensor(encoding.ids), torch.tensor(encoding.segment_ids)
        found: NDArray[np.float32] = self.attentions(ids, segments).numpy()
        return found

    @torch.no_grad()
    def attentions(self, ids: Tensor, segments: Tensor) -> Tensor:
        """(L, H, T, T) probabilities."""
        found = self.model(input_ids=ids[None], token_type_ids=segments[None], output_attentions=True)
        return torch.cat(found.attentions)
