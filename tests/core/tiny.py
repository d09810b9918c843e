"""Small, odd-sized models for the tests of the core: no two dimensions are equal, so a transposed one shows.

`randomise` also fills the biases, LayerNorms and the padding row, which a fresh model leaves at 0 or 1: a bias
added twice, or a LayerNorm left out, then changes the numbers.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import torch
import transformers
from torch import Tensor, nn

from bertviz_lite.config import BERTConfig
from bertviz_lite.model import BERTForMaskedLM

# transformers writes load reports and progress bars to the terminal; neither is under test.
transformers.logging.set_verbosity(logging.CRITICAL)
transformers.logging.disable_progress_bar()

TINY = BERTConfig(
    vocab_size=99,
    hidden_size=36,
    num_hidden_layers=3,
    num_attention_heads=4,
    intermediate_size=37,
    max_position_embeddings=40,
    type_vocab_size=3,
)
PAD_5 = replace(TINY, pad_token_id=5)


def randomise(model: nn.Module, seed: int = 0) -> None:
    """Fill every parameter with reproducible noise; LayerNorm weights around 1, as they are after training."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = 0.2 * torch.randn(parameter.shape, generator=generator)
            parameter.copy_(noise + 1 if name.endswith("LayerNorm.weight") else noise)


def ours(config: BERTConfig = TINY, seed: int = 0) -> BERTForMaskedLM:
    """Our model with noise in every parameter, in evaluation mode."""
    model = BERTForMaskedLM(config)
    randomise(model, seed)
    return model.eval()


def reference_config(config: BERTConfig) -> transformers.BertConfig:
    """The same sizes and switches for transformers, told field by field."""
    return transformers.BertConfig(
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        num_hidden_layers=config.num_hidden_layers,
        num_attention_heads=config.num_attention_heads,
        intermediate_size=config.intermediate_size,
        hidden_act=config.hidden_act,
        hidden_dropout_prob=config.hidden_dropout_prob,
        attention_probs_dropout_prob=config.attention_probs_dropout_prob,
        max_position_embeddings=config.max_position_embeddings,
        type_vocab_size=config.type_vocab_size,
        initializer_range=config.initializer_range,
        layer_norm_eps=config.layer_norm_eps,
        pad_token_id=config.pad_token_id,
        tie_word_embeddings=config.tie_word_embeddings,
    )


def theirs(config: BERTConfig = TINY, attention: str = "eager", seed: int = 0) -> transformers.BertForMaskedLM:
    """The transformers model with noise in every parameter, in evaluation mode.

    Untied, it holds two output biases of which it adds `decoder.bias` alone; both get the same values here.
    """
    model = transformers.BertForMaskedLM(reference_config(config))
    model.set_attn_implementation(attention)
    randomise(model, seed)
    with torch.no_grad():
        model.cls.predictions.bias.copy_(model.cls.predictions.decoder.bias)
    return model.eval()


def twins(
    config: BERTConfig = TINY, attention: str = "eager", seed: int = 0
) -> tuple[BERTForMaskedLM, transformers.BertForMaskedLM]:
    """Our model and transformers' with the same weights."""
    reference = theirs(config, attention, seed)
    model = BERTForMaskedLM(config)
    model.load_state_dict(reference.state_dict(), strict=True)
    return model.eval(), reference


def token_ids(config: BERTConfig = TINY, batch: int = 3, length: int = 13, seed: int = 1) -> Tensor:
    """Ids (B, T) without padding."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, config.vocab_size - 1, (batch, length), generator=generator)
    return ids + (ids >= config.pad_token_id)  # skips the padding id


def padded(config: BERTConfig = TINY) -> tuple[Tensor, Tensor]:
    """Ids (3, 13) of which 13, 9 and 1 are no padding, and their mask."""
    ids = token_ids(config)
    mask = torch.arange(13) < torch.tensor([[13], [9], [1]])
    return ids.masked_fill(~mask, config.pad_token_id), mask.long()


def labels_for(ids: Tensor, seed: int = 2) -> Tensor:
    """Labels (B, T): about a third of the positions ask for another id of the sentence, the rest say -100."""
    generator = torch.Generator().manual_seed(seed)
    asked = torch.rand(ids.shape, generator=generator) < 0.34
    asked[0, 0] = True
    return torch.where(asked, ids.flip(1), torch.full_like(ids, -100))
