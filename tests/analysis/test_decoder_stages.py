"""Expected values: transformers' own sub-modules one by one on the same ids, and sums in double precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from outside import Outside

import bertviz_lite
from bertviz_lite.analysis import stages, worked_logit
from bertviz_lite.errors import InputError, TextError

TEXTS = ("The cat drank a bowl of [MASK].", "[MASK]", "", "unbelievably slow")


@pytest.mark.parametrize("text", TEXTS)
def test_every_stage_is_what_transformers_computes(
    bundled: bertviz_lite.Checkpoint, outside: Outside, text: str
) -> None:
    ids, segments = outside.ids(text)
    position = len(ids) // 2
    with torch.no_grad():
        embedded = outside.model.bert.embeddings(input_ids=ids[None], token_type_ids=segments[None])[0]
        encoded = outside.model.bert(input_ids=ids[None], token_type_ids=segments[None]).last_hidden_state[0]
        transformed = outside.model.cls.predictions.transform(encoded)
        logits = outside.model(input_ids=ids[None], token_type_ids=segments[None]).logits[0, position]
    found = stages(bundled.model, bundled.tokenizer.encode(text), position)
    assert found.position == position
    assert_allclose(found.embedded, embedded, atol=1e-5)
    assert_allclose(found.encoded, encoded, atol=1e-4)
    assert_allclose(found.transformed, transformed, atol=1e-4)
    assert_allclose(found.logits, logits, atol=1e-4)
    assert_allclose(found.probs, logits.double().softmax(-1), atol=1e-4, rtol=1e-3)


def test_a_masked_word_is_read_as_a_mask(bundled: bertviz_lite.Checkpoint) -> None:
    hidden = bundled.tokenizer.encode("The cat drank milk.").masked((3,))
    typed = bundled.tokenizer.encode("The cat drank [MASK].")
    assert_allclose(stages(bundled.model, hidden, 4).logits, stages(bundled.model, typed, 4).logits, atol=1e-6)


@pytest.mark.parametrize("piece", ["milk", "##s", "[PAD]", "[MASK]"])
def test_one_logit_is_the_sum_of_its_products_and_the_bias(
    bundled: bertviz_lite.Checkpoint, outside: Outside, piece: str
) -> None:
    token = outside.tokenizer.convert_tokens_to_ids(piece)
    followed = stages(bundled.model, bundled.tokenizer.encode(TEXTS[0]), 7)
    worked = worked_logit(bundled.model, followed, token)
    row = outside.model.bert.embeddings.word_embeddings.weight[token].detach()
    bias = outside.model.cls.predictions.bias[token].item()
    assert_allclose(worked.row, row, atol=0)
    assert worked.bias == bias
    assert_allclose(worked.vector, followed.transformed[7], atol=0)
    exact = torch.dot(torch.from_numpy(worked.vector.copy()).double(), row.double()).item()
    assert worked.dot == pytest.approx(exact, abs=1e-12)
    assert worked.products.astype(np.float64).sum() == pytest.approx(exact, abs=1e-4)
    assert worked.dot + worked.bias == pytest.approx(worked.logit, abs=1e-4)
    assert worked.logit == followed.logits[token]


def test_the_row_of_an_untied_model_is_the_decoders() -> None:
    config = bertviz_lite.BERTConfig(
        vocab_size=9, hidden_size=4, num_hidden_layers=1, num_attention_heads=2, intermediate_size=5,
        tie_word_embeddings=False,
    )  # fmt: skip
    model = bertviz_lite.BERTForMaskedLM(config).eval()
    encoding = bertviz_lite.load().tokenizer.encode("")  # [CLS] and [SEP] alone
    small = bertviz_lite.BERTForMaskedLM.from_state_dict(config, model.state_dict())
    with pytest.raises(InputError):  # ids 101 and 102 lie outside nine rows
        stages(small, encoding, 0)
    followed = stages(small, type(encoding)(**{**vars(encoding), "ids": (7, 8)}), 1)
    worked = worked_logit(small, followed, 3)
    assert_allclose(worked.row, model.cls.predictions.decoder.weight[3].detach(), atol=0)
    assert not np.allclose(worked.row, model.bert.embeddings.word_embeddings.weight[3].detach())


@pytest.mark.parametrize("position", [-1, 2, 10**6])
def test_a_position_outside_the_text_is_told(bundled: bertviz_lite.Checkpoint, position: int) -> None:
    with pytest.raises(InputError, match=f"no token {position}.*0 to 1"):
        stages(bundled.model, bundled.tokenizer.encode(""), position)


@pytest.mark.parametrize("token", [-1, 30522])
def test_an_id_outside_the_vocabulary_is_told(bundled: bertviz_lite.Checkpoint, token: int) -> None:
    followed = stages(bundled.model, bundled.tokenizer.encode(""), 0)
    with pytest.raises(InputError, match=f"no id {token}.*30521"):
        worked_logit(bundled.model, followed, token)


def test_a_text_too_long_is_told_before_it_is_read(bundled: bertviz_lite.Checkpoint) -> None:
    with pytest.raises(TextError, match="at most 512"):
        stages(bundled.model, bundled.tokenizer.encode("a " * 511), 0)
