"""A model that gives the same answer everywhere, with probabilities written down by hand.

Its word embedding, and so its tied decoder, is zero: the logits are the output bias alone, ln of the table below.
Two rows of its vocabulary belong to no piece, as in a checkpoint that was padded.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from bertviz_lite import BERTConfig, BERTForMaskedLM, Tokenizer

PROBS = {
    "[PAD]": 0.01,
    "[UNK]": 0.04,
    "[CLS]": 0.05,
    "[SEP]": 0.05,
    "[MASK]": 0.25,
    "a": 0.10,
    "b": 0.20,
    "c": 0.05,
    "##s": 0.02,
    ".": 0.03,
    "padding row 10": 0.12,
    "padding row 11": 0.08,
}
N_PIECES = 10
ID = {piece: i for i, piece in enumerate(PROBS)}
NOT_LANGUAGE = frozenset({0, 1, 2, 3, 4, 10, 11})  # special tokens and padding rows
LONGEST = 8


def guesser(probs: list[float] | None = None) -> BERTForMaskedLM:
    """The model; `probs` in place of the table, one per row of the vocabulary."""
    table = list(PROBS.values()) if probs is None else probs
    config = BERTConfig(
        vocab_size=len(table),
        hidden_size=6,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=7,
        max_position_embeddings=LONGEST,
    )
    model = BERTForMaskedLM(config).eval()
    with torch.no_grad():
        model.bert.embeddings.word_embeddings.weight.zero_()
        model.cls.predictions.bias.copy_(torch.tensor(table).log())
    return model


def relative_guesser(kind: str, seed: int = 0) -> BERTForMaskedLM:
    """A model of the same sizes with relative positions, and noise in every parameter."""
    config = replace(guesser().config, position_embedding_type=kind)
    model = BERTForMaskedLM(config).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return model


def tokenizer() -> Tokenizer:
    """Its first ten rows as pieces."""
    return Tokenizer.from_files({"vocab.txt": "".join(f"{piece}\n" for piece in list(PROBS)[:N_PIECES]).encode()})
