"""Defaults are compared with transformers' BertConfig; rules and messages with the docstring of BERTConfig."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import BertConfig

from bertviz_lite.config import ACTIVATIONS, POSITION_TYPES, BERTConfig
from bertviz_lite.errors import BertvizError, ConfigError

FIELDS = [f.name for f in fields(BERTConfig) if f.name != "extra"]
SHARED_WITH_TRANSFORMERS = [name for name in FIELDS if name != "position_embedding_type"]

SIZE = "must be a whole number above 0"
PROBABILITY = "must be a number from 0 up to, not including, 1"
POSITIVE = "must be a number above 0"
BROKEN: list[tuple[str, Any, str, str]] = [  # field, value, how the message shows it, rule
    ("vocab_size", 0, "0", SIZE),
    ("vocab_size", -3, "-3", SIZE),
    ("vocab_size", 30522.0, "30522.0", SIZE),
    ("hidden_size", "768", "'768'", SIZE),
    ("hidden_size", 770, "770", "must be a multiple of num_attention_heads (12)"),
    ("num_hidden_layers", 0, "0", SIZE),
    ("num_attention_heads", -12, "-12", SIZE),
    ("intermediate_size", True, "True", SIZE),
    ("max_position_embeddings", [512], "[512]", SIZE),
    ("type_vocab_size", 0, "0", SIZE),
    ("hidden_act", "gelo", "'gelo'", "must be one of gelu, gelu_new"),
    ("hidden_act", ["gelu"], "['gelu']", "must be one of gelu, gelu_new"),
    ("hidden_dropout_prob", 1.0, "1.0", PROBABILITY),
    ("hidden_dropout_prob", -0.1, "-0.1", PROBABILITY),
    ("hidden_dropout_prob", float("nan"), "nan", PROBABILITY),
    ("attention_probs_dropout_prob", "0.1", "'0.1'", PROBABILITY),
    ("attention_probs_dropout_prob", False, "False", PROBABILITY),
    ("initializer_range", 0, "0", POSITIVE),
    ("initializer_range", float("inf"), "inf", POSITIVE),
    ("layer_norm_eps", -1e-12, "-1e-12", POSITIVE),
    ("layer_norm_eps", {}, "{}", POSITIVE),
    ("pad_token_id", -1, "-1", "must be an id of the vocabulary, 0 to 30521"),
    ("pad_token_id", 30522, "30522", "must be an id of the vocabulary, 0 to 30521"),
    ("pad_token_id", 0.0, "0.0", "must be an id of the vocabulary, 0 to 30521"),
    ("tie_word_embeddings", 1, "1", "must be true or false"),
    ("tie_word_embeddings", "false", "'false'", "must be true or false"),
    ("position_embedding_type", "rotary", "'rotary'", "must be one of absolute, relative_key, relative_key_query"),
]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
likely_values = st.sampled_from([0, 1, 2, 12, 99, 0.0, 0.1, 1.0, "gelu", "tanh", "absolute", "relative_key", True])


@pytest.mark.parametrize("name", SHARED_WITH_TRANSFORMERS)
def test_default_is_that_of_transformers(name: str) -> None:
    ours, theirs = getattr(BERTConfig(), name), getattr(BertConfig(), name)
    assert ours == theirs
    assert type(ours) is type(theirs)


def test_positions_are_absolute_by_default() -> None:
    assert BERTConfig().position_embedding_type == "absolute"  # transformers 5 knows no other


def test_every_field_has_a_broken_value_in_this_file() -> None:
    assert {name for name, *_ in BROKEN} == set(FIELDS)


@pytest.mark.parametrize(("name", "value", "shown", "rule"), BROKEN)
def test_broken_rule_is_told_with_field_and_value(name: str, value: object, shown: str, rule: str) -> None:
    with pytest.raises(ConfigError) as caught:
        BERTConfig.from_dict({name: value})
    assert f"{name} = {shown}: {rule}" in str(caught.value)
    assert isinstance(caught.value, BertvizError)
    assert isinstance(caught.value, ValueError)


def test_rules_hold_for_the_constructor_and_replace_too() -> None:
    with pytest.raises(ConfigError, match="vocab_size = 0"):
        BERTConfig(vocab_size=0)
    with pytest.raises(ConfigError, match="pad_token_id = 7"):
        replace(BERTConfig(pad_token_id=7), vocab_size=7)


def test_a_long_value_is_shortened_in_the_message() -> None:
    with pytest.raises(ConfigError) as caught:
        BERTConfig.from_dict({"hidden_act": "x" * 10_000})
    assert len(str(caught.value)) < 300
    assert "'xxx" in str(caught.value)
    assert "..." in str(caught.value)


@pytest.mark.parametrize("act", ACTIVATIONS)
@pytest.mark.parametrize("position", POSITION_TYPES)
def test_every_listed_name_is_accepted(act: str, position: str) -> None:
    config = BERTConfig(hidden_act=act, position_embedding_type=position)
    assert (config.hidden_act, config.position_embedding_type) == (act, position)


def test_listed_names_are_those_of_the_facts() -> None:
    """facts/bert.md, section config.json."""
    acts = "gelu gelu_new gelu_pytorch_tanh gelu_fast relu silu swish quick_gelu tanh"
    assert set(ACTIVATIONS) == set(acts.split())
    assert set(POSITION_TYPES) == {"absolute", "relative_key", "relative_key_query"}


def test_head_size_is_width_by_heads() -> None:
    assert BERTConfig(hidden_size=36, num_attention_heads=4).head_size == 9


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        BERTConfig().vocab_size = 5  # type: ignore[misc]


def test_unknown_keys_survive_reading_and_writing() -> None:
    read = {"vocab_size": 99, "transformers_version": "4.57.0", "my note": {"a": [1, None]}, "id2label": None}
    config = BERTConfig.from_dict(read)
    assert config.vocab_size == 99
    assert config.extra == {"transformers_version": "4.57.0", "my note": {"a": [1, None]}, "id2label": None}
    written = json.loads(json.dumps(config.to_dict()))
    assert {key: written[key] for key in read} == read
    assert BERTConfig.from_dict(written).extra.items() >= config.extra.items()


def test_extra_is_a_copy_and_does_not_make_configs_differ() -> None:
    notes = {"note": 1}
    config = BERTConfig(extra=notes)
    notes["note"] = 2
    assert config.extra == {"note": 1}
    assert config == BERTConfig()


def test_extra_never_speaks_for_a_field() -> None:
    assert BERTConfig(vocab_size=99, extra={"vocab_size": 5}).to_dict()["vocab_size"] == 99


def test_architecture_and_type_are_written_and_a_given_one_is_kept() -> None:
    assert BERTConfig().to_dict()["architectures"] == ["BertForMaskedLM"]
    assert BERTConfig().to_dict()["model_type"] == "bert"
    kept = BERTConfig.from_dict({"architectures": ["BertForPreTraining"]}).to_dict()
    assert kept["architectures"] == ["BertForPreTraining"]


@pytest.mark.parametrize(
    ("other", "own"),
    [("hidden_dropout", "hidden_dropout_prob"), ("attention_dropout", "attention_probs_dropout_prob")],
)
def test_both_spellings_of_a_dropout(other: str, own: str) -> None:
    alone = BERTConfig.from_dict({other: 0.25})
    assert getattr(alone, own) == 0.25
    assert alone.to_dict()[own] == 0.25
    assert other not in alone.to_dict()
    for both in ({other: 0.25, own: 0.5}, {own: 0.5, other: 0.25}):
        assert getattr(BERTConfig.from_dict(both), own) == 0.5
        assert other not in BERTConfig.from_dict(both).extra
    with pytest.raises(ConfigError, match=f"{own} = 2"):
        BERTConfig.from_dict({other: 2})


@pytest.mark.parametrize("name", FIELDS)
def test_null_stands_for_the_default(name: str) -> None:
    assert BERTConfig.from_dict({name: None}) == BERTConfig()


@pytest.mark.parametrize("values", [None, [], "vocab_size", 3, [("vocab_size", 99)]])
def test_anything_but_a_mapping_is_refused(values: object) -> None:
    with pytest.raises(ConfigError, match=type(values).__name__):
        BERTConfig.from_dict(values)  # type: ignore[arg-type]


def test_transformers_reads_what_we_write() -> None:
    config = BERTConfig(
        vocab_size=99,
        hidden_size=36,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=37,
        hidden_act="quick_gelu",
        hidden_dropout_prob=0.2,
        attention_probs_dropout_prob=0.3,
        max_position_embeddings=40,
        type_vocab_size=3,
        initializer_range=0.05,
        layer_norm_eps=1e-6,
        pad_token_id=5,
        tie_word_embeddings=False,
    )
    assert all(getattr(config, name) != getattr(BertConfig(), name) for name in SHARED_WITH_TRANSFORMERS)
    read = BertConfig.from_dict(json.loads(json.dumps(config.to_dict())))
    assert {name: getattr(read, name) for name in SHARED_WITH_TRANSFORMERS} == {
        name: getattr(config, name) for name in SHARED_WITH_TRANSFORMERS
    }


def test_we_read_what_transformers_writes() -> None:
    written = BertConfig(vocab_size=99, hidden_size=36, num_attention_heads=4, pad_token_id=5).to_dict()
    expected = BERTConfig(vocab_size=99, hidden_size=36, num_attention_heads=4, pad_token_id=5)
    assert BERTConfig.from_dict(written) == expected


@pytest.mark.parametrize("name", ["hidden_dropout_prob", "initializer_range", "layer_norm_eps"])
def test_a_number_that_no_float_holds_is_refused(name: str) -> None:
    values = json.loads(f'{{"{name}": 1{"0" * 400}}}')
    with pytest.raises(ConfigError, match=name):
        BERTConfig.from_dict(values)


@settings(deadline=None, max_examples=200, database=None)
@given(st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), likely_values | json_values, max_size=6))
def test_any_json_object_gives_a_config_or_a_config_error(values: dict[str, Any]) -> None:
    try:
        config = BERTConfig.from_dict(values)
    except ConfigError as error:
        assert any(name in str(error) for name in FIELDS)
        return
    for name, value in values.items():
        if name in FIELDS and value is not None:
            assert getattr(config, name) == value
    assert BERTConfig.from_dict(config.to_dict()) == config


@settings(deadline=None, max_examples=200, database=None)
@given(st.sampled_from(FIELDS), json_values)
def test_any_json_value_of_one_field_gives_a_config_or_an_error_that_names_it(name: str, value: object) -> None:
    try:
        config = BERTConfig.from_dict({name: value})
    except ConfigError as error:
        # A smaller vocabulary or other number of heads may break the rule of a neighbour that kept its default.
        neighbour = {"num_attention_heads": "hidden_size", "vocab_size": "pad_token_id"}.get(name, name)
        assert str(error).startswith((f"{name} = ", f"{neighbour} = "))
    else:
        assert value is None or getattr(config, name) == value
