"""Runs the shell's commands in this process, and small checkpoints for it whose answers are known by hand."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from bertviz_lite import BERTConfig, BERTForMaskedLM
from bertviz_lite.commands import main

# A model that gives the same answer everywhere: its embedding and tied decoder are zero, its output bias is ln of this.
PROBS = {
    "[PAD]": 0.05,
    "[UNK]": 0.05,
    "[CLS]": 0.05,
    "[SEP]": 0.05,
    "[MASK]": 0.30,
    "a": 0.10,
    "[bold]": 0.25,  # rich would take it for markup
    "##文": 0.03,
    ".": 0.02,
    "row without a piece": 0.10,
}
LONGEST = 8


@dataclass(frozen=True)
class Ran:
    """What a person sees of a command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))

    def sentence(self) -> str:
        """The one line that explains a failure, once it is known to be one."""
        assert self.status == 2
        assert self.out == ""
        assert "Traceback" not in self.err
        assert self.err.startswith("bertviz_lite: ")
        assert self.err.endswith("\n")
        assert self.err.count("\n") == 1
        return self.err.removeprefix("bertviz_lite: ").rstrip("\n")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> Ran:
    """What `python -m bertviz_lite WORDS` does; any exception but SystemExit would be a traceback."""
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stopped:
        patch.setattr(sys, "argv", ["bertviz_lite", *words])
        main()
    written = capsys.readouterr()
    status = stopped.value.code
    assert status is None or isinstance(status, int)
    return Ran(status or 0, written.out, written.err)


def write_checkpoint(folder: Path) -> Path:
    """A folder with the model of PROBS."""
    config = BERTConfig(
        vocab_size=len(PROBS),
        hidden_size=6,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=7,
        max_position_embeddings=LONGEST,
    )
    model = BERTForMaskedLM(config)
    with torch.no_grad():
        model.bert.embeddings.word_embeddings.weight.zero_()
        model.cls.predictions.bias.copy_(torch.tensor(list(PROBS.values())).log())
    model.save_pretrained(folder)
    pieces = list(PROBS)[:-1]
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    return folder
