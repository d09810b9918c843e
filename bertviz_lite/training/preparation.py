"""From a recipe to what a run needs: the first model with its tokenizer, and the tokenised corpus.

Each part is kept once it is made, so preparing again, after a kill for example, finds it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from bertviz_lite.checkpoints import limits, load, write_folder
from bertviz_lite.config import BERTConfig
from bertviz_lite.errors import ConfigError, TrainingError
from bertviz_lite.model import BERTForMaskedLM
from bertviz_lite.tokenizer import Tokenizer
from bertviz_lite.training._files import replace_with
from bertviz_lite.training.corpus import Source, find_sources, learn_tokenizer
from bertviz_lite.training.recipe import Recipe
from bertviz_lite.training.store import TokenStore, open_store

START = "start"  # the model before its first step, a folder in the Hugging Face layout
_NEEDED = {"vocab_size": 8000, "num_hidden_layers": 4, "hidden_size": 256, "num_attention_heads": 4}


@dataclass(frozen=True)
class Prepared:
    """What a run starts from: the model has the weights of step 0."""

    model: BERTForMaskedLM
    tokenizer: Tokenizer
    store: TokenStore


def prepare(recipe: Recipe, folder: Path, store: Path, tell: Callable[[str], None]) -> Prepared:
    """Make, or find in the run's `folder`, the first model and its tokenizer, and below `store` the tokenised corpus.

    Raises:
        BertvizError: the text, the checkpoint to start from or the sizes cannot be used; the message says why.
    """
    sources = find_sources(recipe.corpus)
    if unknown := set(recipe.weights) - {source.name for source in sources}:
        known = ", ".join(source.name for source in sources)
        raise TrainingError(f"There is no source called {', '.join(sorted(unknown))} to weigh; there are {known}.")

    def tokenised(by: Tokenizer) -> TokenStore:
        return open_store(store, sources, by, tell, held_out_every=recipe.held_out_every)

    start = folder / START
    if start.is_dir():
        tokenizer = Tokenizer.from_folder(start)
        return Prepared(BERTForMaskedLM.from_pretrained(start), tokenizer, tokenised(tokenizer))
    torch.manual_seed(recipe.seed)
    model, tokenizer, has_head = _continued(recipe) if recipe.init else _fresh(recipe, sources, tell)
    tokens = tokenised(tokenizer)
    if not (has_head or recipe.flat_start):
        _start_bias(model, tokens, recipe)
    replace_with(start, lambda fresh: write_folder(model, tokenizer, fresh))
    return Prepared(model, tokenizer, tokens)


def _fresh(
    recipe: Recipe, sources: tuple[Source, ...], tell: Callable[[str], None]
) -> tuple[BERTForMaskedLM, Tokenizer, bool]:
    values = _NEEDED | dict(recipe.network)
    BERTConfig.from_dict(values)  # sizes that cannot be are told before the text is read
    values.setdefault("intermediate_size", 4 * values["hidden_size"])
    values.setdefault("max_position_embeddings", recipe.max_length)
    _require_can_be_opened(BERTConfig.from_dict(values))
    tell("Learning the vocabulary.")
    tokenizer = learn_tokenizer(sources, values["vocab_size"], lower_case=recipe.lower_case)
    config = BERTConfig.from_dict(values | {"vocab_size": len(tokenizer), "pad_token_id": 0})
    return BERTForMaskedLM(_for_training(config, recipe)), tokenizer, False


def _require_can_be_opened(config: BERTConfig) -> None:
    """A network beyond what this app opens would be trained in vain, if it did not take all memory first."""
    if config.num_hidden_layers > limits.MOST_LAYERS:
        raise ConfigError(f"num_hidden_layers = {config.num_hidden_layers:,}: at most {limits.MOST_LAYERS} are opened.")
    with torch.device("meta"):  # no memory is taken
        n = BERTForMaskedLM(config).num_parameters()
    if 4 * n > limits.max_bytes():
        raise ConfigError(
            f"These sizes make {n:,} parameters, {4 * n / 1e9:,.1f} GB in float32; at most "
            f"{limits.max_bytes() / 1e9:,.1f} GB are opened (the variable {limits.MAX_GB}). Training takes four times "
            "as much: choose a smaller network."
        )


def _continued(recipe: Recipe) -> tuple[BERTForMaskedLM, Tokenizer, bool]:
    checkpoint = load(recipe.init, headless=True)
    config = _for_training(checkpoint.config, recipe)
    model = BERTForMaskedLM.from_state_dict(config, checkpoint.model.state_dict())
    return model, checkpoint.tokenizer, checkpoint.predicts


def _for_training(config: BERTConfig, recipe: Recipe) -> BERTConfig:
    if recipe.max_length > config.max_position_embeddings:
        raise ConfigError(
            f"max_length = {recipe.max_length}: this model reads at most {config.max_position_embeddings} tokens "
            "(max_position_embeddings)."
        )
    return replace(config, hidden_dropout_prob=recipe.dropout, attention_probs_dropout_prob=recipe.dropout)


def _start_bias(model: BERTForMaskedLM, store: TokenStore, recipe: Recipe) -> None:
    """Start the output bias at the log frequency of each piece: the first plateau is then shorter."""
    weights = torch.tensor([recipe.weights.get(source.name, 1.0) for source in store.train.sources])
    counts = weights.double() @ torch.from_numpy(store.counts).double() + 1  # (V,), none of them 0
    with torch.no_grad():
        bias = model.cls.predictions.bias
        bias.fill_(-(counts.sum().log().item()))  # rows that no piece belongs to
        bias[: len(counts)] = (counts / counts.sum()).log()


def read_network(path: Path) -> dict[str, object]:
    """The values of a config.json, to train a model of these sizes.

    Raises:
        ConfigError: the file cannot be read, or is no configuration.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} is no readable config.json ({error}).") from error
    BERTConfig.from_dict(values)
    return dict(values)


__all__ = ["START", "Prepared", "prepare", "read_network"]
