"""BERT with a masked language modelling head, in plain torch, readable in one sitting.

State-dict names are those of transformers' BertForMaskedLM, so weights travel both ways. Notation: B sequences,
T tokens, L layers, H heads, D hidden width, V vocabulary.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from bertviz_lite._inputs import IGNORED_LABEL, check_beside, check_ids, check_labels, check_positions
from bertviz_lite.config import BERTConfig
from bertviz_lite.errors import CheckpointError, MissingTensorsError

# Names under which a file may hold a second time what the network holds once.
ALIASES = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}

_TANH_GELU = partial(F.gelu, approximate="tanh")
_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_new": _TANH_GELU,
    "gelu_pytorch_tanh": _TANH_GELU,
    "gelu_fast": _TANH_GELU,
    "relu": F.relu,
    "silu": F.silu,
    "swish": F.silu,
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "tanh": torch.tanh,
}


@dataclass(frozen=True)
class EncoderOutput:
    """What the trunk computes.

    Attributes:
        last_hidden_state: (B, T, D), or (N, D) where `positions` named N tokens.
        hidden_states: L + 1 tensors (B, T, D), the embeddings first; None unless asked for.
        attentions: L tensors (B, H, T, T), queries by keys, rows sum to 1; None unless asked for.
    """

    last_hidden_state: Tensor
    hidden_states: tuple[Tensor, ...] | None
    attentions: tuple[Tensor, ...] | None


@dataclass(frozen=True)
class MaskedLMOutput:
    """What a masked language model computes.

    Attributes:
        logits: (B, T, V), or (N, V) where `positions` named N tokens.
        loss: mean cross-entropy in nats over the labelled tokens; None without labels.
        hidden_states, attentions: as in `EncoderOutput`.
    """

    logits: Tensor
    loss: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None


class Embeddings(nn.Module):
    """Ids to vectors: word + position + segment, then LayerNorm."""

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.absolute = config.position_embedding_type == "absolute"

    def forward(self, input_ids: Tensor, token_type_ids: Tensor) -> Tensor:
        x: Tensor = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)  # (B, T, D)
        if self.absolute:
            x = x + self.position_embeddings.weight[: input_ids.shape[1]]
        out: Tensor = self.dropout(self.LayerNorm(x))
        return out


class SelfAttention(nn.Module):
    """Every token looks at every token: softmax(Q Kᵀ / √d + bias) V, H heads side by side."""

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.n_heads, self.head_size = config.num_attention_heads, config.head_size
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)
        self.position_type = config.position_embedding_type
        if self.position_type != "absolute":
            self.distance_embedding = nn.Embedding(2 * config.max_position_embeddings - 1, self.head_size)

    def forward(self, x: Tensor, bias: Tensor, maps: list[Tensor] | None) -> Tensor:
        q, k, v = (self.split_heads(project(x)) for project in (self.query, self.key, self.value))  # (B, H, T, d)
        q = q / math.sqrt(self.head_size)  # here rather than on the scores, which are T times larger
        if self.position_type != "absolute":
            bias = bias + self.relative_scores(q, k)
        if maps is None and not torch.is_grad_enabled():
            # The fused kernel is quicker forward but keeps no map, and slower backward on a CPU.
            p = self.dropout.p if self.training else 0.0
            context = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, dropout_p=p, scale=1.0)
        else:
            probs = (q @ k.transpose(-1, -2) + bias).softmax(-1)  # (B, H, T, T)
            if maps is not None:
                maps.append(probs)
            context = self.dropout(probs) @ v
        return context.transpose(1, 2).flatten(2)  # (B, T, D)

    def split_heads(self, x: Tensor) -> Tensor:
        """(B, T, H·d) -> (B, H, T, d)."""
        return x.view(*x.shape[:-1], self.n_heads, self.head_size).transpose(1, 2)

    def relative_scores(self, q: Tensor, k: Tensor) -> Tensor:
        """Scores by distance for scaled queries (Shaw et al. 2018; with the key too: Huang et al. 2020, method 4)."""
        at = torch.arange(q.shape[-2], device=q.device)
        middle = self.distance_embedding.num_embeddings // 2
        distance = self.distance_embedding(at[:, None] - at[None, :] + middle)  # (T, T, d)
        scores = torch.einsum("bhqd,qkd->bhqk", q, distance)
        if self.position_type == "relative_key_query":
            scores = scores + torch.einsum("bhkd,qkd->bhqk", k / math.sqrt(self.head_size), distance)
        return scores


class AddAndNorm(nn.Module):
    """The end of every block: project, drop, add the block's input, LayerNorm."""

    def __init__(self, width_in: int, config: BERTConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(width_in, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, x: Tensor, residual: Tensor) -> Tensor:
        out: Tensor = self.LayerNorm(self.dropout(self.dense(x)) + residual)
        return out


class Attention(nn.Module):
    """The attention block of a layer."""

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.self = SelfAttention(config)
        self.output = AddAndNorm(config.hidden_size, config)

    def forward(self, x: Tensor, bias: Tensor, maps: list[Tensor] | None, at: Tensor | None = None) -> Tensor:
        context = self.self(x, bias, maps)
        if at is not None:  # what nobody reads of the last layer is not computed: most of its work, most of the time
            context, x = _tokens_at(context, at), _tokens_at(x, at)
        out: Tensor = self.output(context, x)
        return out


class DenseAct(nn.Module):
    """A linear map and the activation."""

    def __init__(self, width_out: int, config: BERTConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, width_out)
        self.act = _ACTIVATIONS[config.hidden_act]

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.dense(x))


class Layer(nn.Module):
    """Attention block, then feed-forward block: (B, T, D) to (B, T, D), or to (N, D) at N tokens alone."""

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.intermediate = DenseAct(config.intermediate_size, config)
        self.output = AddAndNorm(config.intermediate_size, config)

    def forward(self, x: Tensor, bias: Tensor, maps: list[Tensor] | None, at: Tensor | None = None) -> Tensor:
        x = self.attention(x, bias, maps, at)
        out: Tensor = self.output(self.intermediate(x), x)
        return out


class Encoder(nn.Module):
    """The stack of layers; the last may be asked for some tokens alone."""

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.layer = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))

    def forward(
        self, x: Tensor, bias: Tensor, states: list[Tensor] | None, maps: list[Tensor] | None, at: Tensor | None
    ) -> Tensor:
        for layer in self.layer:
            if states is not None:
                states.append(x)
            x = layer(x, bias, maps, at if layer is self.layer[-1] else None)
        if states is not None:
            states.append(x)
        return x


class BERTModel(nn.Module):
    """The trunk: ids (B, T) to vectors (B, T, D), or (N, D) of N tokens."""

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        _require_config(self, config)
        self.config = config
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)
        self.apply(partial(_init_weights, std=config.initializer_range))

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        positions: Tensor | None = None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> EncoderOutput:
        """Encode a batch of token ids.

        Args:
            input_ids: (B, T) integers in [0, V).
            attention_mask: (B, T) ones for tokens, zeros for padding; by default zeros at the padding id.
            token_type_ids: (B, T) segments; zeros by default.
            positions: (N, 2) pairs (sequence, token): the last layer is then finished for these alone.
            output_hidden_states: also return every layer's input and the last output.
            output_attentions: also return the attention maps, after softmax and before dropout.

        Raises:
            InputError: a shape, id, segment, length or position does not fit; the message says which.
        """
        check_ids(self.config, input_ids)
        if positions is not None:
            check_positions(input_ids, positions)
        if attention_mask is None:
            attention_mask = input_ids != self.config.pad_token_id
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        check_beside(self.config, input_ids, attention_mask, token_type_ids)

        x = self.embeddings(input_ids, token_type_ids)  # (B, T, D)
        # The lowest finite number, not -inf: a row of nothing but padding then stays free of NaN.
        hidden = attention_mask[:, None, None, :] == 0  # (B, 1, 1, T)
        bias = torch.zeros_like(hidden, dtype=x.dtype).masked_fill(hidden, torch.finfo(x.dtype).min)
        states: list[Tensor] | None = [] if output_hidden_states else None
        maps: list[Tensor] | None = [] if output_attentions else None
        # Hidden states are asked for whole.
        x = self.encoder(x, bias, states, maps, positions if states is None else None)
        if states is not None and positions is not None:
            x = _tokens_at(x, positions)
        return EncoderOutput(x, None if states is None else tuple(states), None if maps is None else tuple(maps))


class Transform(DenseAct):
    """The head's own layer: dense, activation, LayerNorm."""

    def __init__(self, config: BERTConfig) -> None:
        super().__init__(config.hidden_size, config)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.LayerNorm(super().forward(x))
        return out


class Predictions(nn.Module):
    """Transform, then one logit per piece of the vocabulary: a dot product with its row, plus its bias."""

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.transform = Transform(config)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
        self.bias = self.decoder.bias  # one parameter under two names, as in transformers

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.decoder(self.transform(x))
        return logits


class Head(nn.Module):
    """Holds the predictions under the name that checkpoints use."""

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.predictions = Predictions(config)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.predictions(x)
        return logits


class BERTForMaskedLM(nn.Module):
    """BERT with a masked language modelling head whose decoder is, by default, the word embedding itself."""

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        _require_config(self, config)
        self.config = config
        self.bert = BERTModel(config)
        self.cls = Head(config)
        self.cls.apply(partial(_init_weights, std=config.initializer_range))
        self.tie_weights()
        self.register_load_state_dict_post_hook(_tie_again)  # type: ignore[no-untyped-call]

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
        *,
        positions: Tensor | None = None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> MaskedLMOutput:
        """Predict every token, or the tokens at `positions` alone.

        Args:
            input_ids, attention_mask, token_type_ids, output_hidden_states, output_attentions: as in `BERTModel`.
            labels: (B, T) the right ids; -100 where nothing is asked.
            positions: (N, 2) pairs (sequence, token), as `mask.nonzero()` gives them. Logits are then (N, V),
                computed there only, and the loss counts only labels that stand there.

        Raises:
            InputError: as in `BERTModel`; also a label outside [0, V) other than -100, or a position outside (B, T).
        """
        check_ids(self.config, input_ids)  # first: labels and positions are measured against the ids
        if labels is not None:
            check_labels(self.config, input_ids, labels)
        encoded = self.bert(
            input_ids,
            attention_mask,
            token_type_ids,
            positions=positions,
            output_hidden_states=output_hidden_states,
            output_attentions=output_attentions,
        )
        logits = self.cls(encoded.last_hidden_state)  # (B, T, V) or (N, V)
        if labels is not None and positions is not None:
            labels = _tokens_at(labels, positions)
        loss = None if labels is None else _masked_lm_loss(logits, labels)
        return MaskedLMOutput(logits, loss, encoded.hidden_states, encoded.attentions)

    def tie_weights(self) -> None:
        """Make the decoder's weight the word embedding itself, where the configuration says so; share the bias."""
        head = self.cls.predictions
        if self.config.tie_word_embeddings:
            head.decoder.weight = self.bert.embeddings.word_embeddings.weight
        head.decoder.bias = head.bias

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> BERTForMaskedLM:
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.tie_weights()  # leaving the meta device gives every name a parameter of its own
        return self

    def resize_token_embeddings(self, n: int) -> None:
        """Give the vocabulary n entries: embedding, decoder and bias together; new biases are zero.

        Raises:
            ConfigError: n is no whole number above the padding id.
        """
        config = replace(self.config, vocab_size=n)
        words, head = self.bert.embeddings.word_embeddings, self.cls.predictions
        std = config.initializer_range
        words.weight = _resized(words.weight, n, std)
        words.num_embeddings = n
        if not config.tie_word_embeddings:
            head.decoder.weight = _resized(head.decoder.weight, n, std)
        head.bias = _resized(head.bias, n, 0.0)
        head.decoder.out_features = n
        self.config = self.bert.config = config
        self.tie_weights()

    def num_parameters(self) -> int:
        """How many numbers training can move; a shared parameter counts once."""
        return sum(p.numel() for p in self.parameters())

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json and model.safetensors, which transformers and `from_pretrained` open."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        tensors = {name: t.detach().cpu().contiguous() for name, t in self.state_dict().items()}
        if self.config.tie_word_embeddings:
            for alias in ALIASES:
                del tensors[alias]
        else:
            # transformers 5 reads the decoder's bias of an untied head from a copy of its own.
            tensors["cls.predictions.decoder.bias"] = tensors["cls.predictions.bias"].clone()
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        values = {key: value for key, value in self.config.to_dict().items() if key != "dtype"}
        # transformers opens in the precision that is named here, not in that of the tensors.
        values["torch_dtype"] = str(self.bert.embeddings.word_embeddings.weight.dtype).removeprefix("torch.")
        text = json.dumps(values, indent=2)
        (folder / "config.json").write_text(text + "\n", encoding="utf-8")

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> BERTForMaskedLM:
        """Read what `save_pretrained` wrote, in evaluation mode, in float32.

        `bertviz_lite.load` opens many more layouts and reports what it did to them.

        Raises:
            CheckpointError: a file is absent or unreadable, or its tensors are not exactly the network's.
        """
        folder = Path(folder)
        try:
            values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            tensors = load_file(folder / "model.safetensors")
        except (OSError, ValueError, RecursionError, SafetensorError) as error:
            raise CheckpointError(
                f"{folder} is not a folder with a readable config.json and model.safetensors ({error})."
            ) from error
        return cls.from_state_dict(BERTConfig.from_dict(values), tensors)

    @classmethod
    def from_state_dict(cls, config: BERTConfig, tensors: Mapping[str, Tensor]) -> BERTForMaskedLM:
        """A model in evaluation mode and float32 with exactly these tensors; `ALIASES` may be absent.

        Raises:
            MissingTensorsError: names what is absent.
            CheckpointError: names what is unexpected or of another shape.
        """
        with torch.device("meta"):  # no memory is taken for weights that the file brings
            model = cls(config)
        needed = model.state_dict()
        given = dict(tensors)
        for alias, name in ALIASES.items():
            is_tied = config.tie_word_embeddings or alias.endswith("bias")
            if name in given and is_tied:
                given.setdefault(alias, given[name])
        if not config.tie_word_embeddings and "cls.predictions.decoder.bias" in given:
            # transformers 5 adds the decoder's own bias there, and keeps predictions.bias unused.
            given["cls.predictions.bias"] = given["cls.predictions.decoder.bias"]
        missing = [name for name in needed if name not in given]
        if missing:
            raise MissingTensorsError(f"{len(missing)} tensors are missing: {', '.join(missing)}.", missing)
        if unexpected := [name for name in given if name not in needed]:
            raise CheckpointError(f"The network has no place for {', '.join(unexpected)}.")
        for name, tensor in given.items():
            if tensor.shape != needed[name].shape:
                raise CheckpointError(
                    f"{name} has shape {tuple(tensor.shape)}, but the configuration asks for "
                    f"{tuple(needed[name].shape)}."
                )
        if config.tie_word_embeddings:
            for alias, name in ALIASES.items():
                a, b = given[alias], given[name]
                if a is not b and not torch.equal(a.nan_to_num(), b.nan_to_num()):
                    raise CheckpointError(f"{alias} and {name} differ, but the configuration ties them.")
        # A copy, since the tensors may be a view of a file that somebody saves over.
        float32 = {name: tensor.to(torch.float32, copy=True) for name, tensor in given.items()}
        model.load_state_dict(float32, assign=True)
        return model.eval()


def _require_config(module: nn.Module, config: object) -> None:
    if not isinstance(config, BERTConfig):
        raise TypeError(f"{type(module).__name__} takes a BERTConfig, not {type(config).__name__}")


def _tie_again(model: BERTForMaskedLM, _: object) -> None:
    """After load_state_dict: with assign=True it gives every name a parameter of its own."""
    model.tie_weights()


def _init_weights(module: nn.Module, std: float) -> None:
    if not isinstance(module, (nn.Linear, nn.Embedding)) or module.weight.is_meta:
        return
    nn.init.normal_(module.weight, std=std)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
    if isinstance(module, nn.Embedding) and module.padding_idx is not None:
        nn.init.zeros_(module.weight[module.padding_idx].detach())


def _resized(old: Tensor, n: int, std: float) -> nn.Parameter:
    """Rows 0 to n of `old`; further rows are drawn with `std`."""
    new = torch.zeros(n, *old.shape[1:], dtype=old.dtype, device=old.device)
    if std > 0:
        new.normal_(std=std)
    kept = min(n, old.shape[0])
    new[:kept] = old.detach()[:kept]
    return nn.Parameter(new, requires_grad=old.requires_grad)


def _tokens_at(x: Tensor, positions: Tensor) -> Tensor:
    """(N, ...) of (B, T, ...): what stands at N pairs (sequence, token)."""
    # By one index into B·T rows: the gradient of two is several times slower.
    return x.flatten(0, 1).index_select(0, positions[:, 0] * x.shape[1] + positions[:, 1])


def _masked_lm_loss(logits: Tensor, labels: Tensor) -> Tensor:
    asked = labels != IGNORED_LABEL
    if not asked.any():
        return logits[asked].float().sum()  # a mean over nothing is NaN; this zero keeps its graph
    if asked.all():  # as where positions were named: no copy of the logits then
        return F.cross_entropy(logits.flatten(0, -2).float(), labels.flatten().long())
    return F.cross_entropy(logits[asked].float(), labels[asked].long())


__all__ = [
    "ALIASES",
    "IGNORED_LABEL",
    "AddAndNorm",
    "Attention",
    "BERTForMaskedLM",
    "BERTModel",
    "DenseAct",
    "Embeddings",
    "Encoder",
    "EncoderOutput",
    "Head",
    "Layer",
    "MaskedLMOutput",
    "Predictions",
    "SelfAttention",
    "Transform",
]
