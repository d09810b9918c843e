"""What a visitor wants to train, from the controls to a run: a size or the model in use, a text, a time."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import streamlit as st

from bertviz_lite.checkpoints import Checkpoint
from bertviz_lite.errors import BertvizError, TextError, TrainingError
from bertviz_lite.training import MaskingRule, Recipe
from bertviz_lite.training.preview import Preview, preview
from bertviz_lite.ui import numbers, shelf, state
from bertviz_lite.ui.answers import kept
from bertviz_lite.ui.switch import switch
from bertviz_lite.ui.training import text as training_text
from bertviz_lite.ui.training.folders import new_folder
from bertviz_lite.ui.training.job import TEXT, Job, jobs, visitor
from bertviz_lite.ui.training.text import Text
from bertviz_lite.ui.wording import plain, short

INIT = "init"  # in a run's folder: the model that is continued
_MOST_PARAMETERS = 120_000_000  # to continue: a run holds sixteen bytes for each
_LONGEST_PROBE = 200  # characters of the visitor's sentence
_SWITCH = 16  # characters of the model's name that the switch has room for
_CONTINUED: Mapping[str, Any] = {"batch_tokens": 1024, "max_length": 64, "lr": 2e-4, "evaluations": 8, "log_steps": 1}


@dataclass(frozen=True)
class Size:
    """A network to start from nothing, with the numbers that suit it.

    Attributes:
        label: for the list.
        short: its part in the name of the model.
        values: of the recipe.
    """

    label: str
    short: str
    values: Mapping[str, Any]


def _size(layers: int, hidden: int, heads: int, vocab_size: int, **values: Any) -> Size:  # noqa: ANN401 - of Recipe
    network = {
        "vocab_size": vocab_size,
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "initializer_range": 0.02
        * (768 / hidden) ** 0.5,  # 0.02 suits BERT's width; in a narrow one little gets through
    }
    label = f"{layers} layers of {hidden}, {vocab_size:,} pieces"
    return Size(label, f"{layers} × {hidden}", {"network": network, "log_steps": 5, **values})


# In a minute a small model reads few tokens: asked for more of them, it learns from each batch what two would teach.
_MANY = MaskingRule(0.3)
SIZES = {
    "tiny": _size(2, 128, 4, 2_000, batch_tokens=2_048, max_length=64, lr=3e-3, masking=_MANY),
    "small": _size(4, 256, 4, 4_000, batch_tokens=2_048, max_length=64, lr=1e-3, masking=_MANY),
    "medium": _size(6, 384, 6, 8_000, batch_tokens=4_096, max_length=128, lr=1e-3),
}
_MINUTES = {"0.5": "30 seconds", "1": "1 minute", "2": "2 minutes", "5": "5 minutes", "10": "10 minutes"}


@dataclass(frozen=True)
class Plan:
    """What is to be trained.

    Attributes:
        text: what it reads.
        minutes: how long.
        size: of a new model; None continues `checkpoint`.
        checkpoint: the model in use.
    """

    text: Text
    minutes: float
    size: Size | None
    checkpoint: Checkpoint

    @property
    def name(self) -> str:
        """What the trained model is called."""
        time = _time(self.minutes)
        if self.size is not None:
            return f"{self.text.name}, {self.size.short}, {time}"[:80]
        return f"{self.checkpoint.report.name} + {self.text.name}, {time}"[:80]

    @property
    def about(self) -> str:
        """What happens, as a phrase."""
        who = "A new model" if self.size is not None else f"**{plain(self.checkpoint.report.name)}**"
        shape = f" of {self.size.short.replace('×', 'layers ×')}" if self.size is not None else ""
        return f"{who}{shape} on **{plain(self.text.name)}**"

    def recipe(self, corpus: tuple[str, ...], init: str | None = None) -> Recipe:
        """The recipe for a text that lies at these paths."""
        if self.size is not None:
            values = dict(self.size.values)
        else:
            values = dict(_CONTINUED)
            values["max_length"] = min(values["max_length"], self.checkpoint.config.max_position_embeddings)
        return Recipe(
            corpus=corpus,
            init=init,
            minutes=self.minutes,
            precision="float32",  # measuring which is quicker takes longer than it gains in a minute
            save_minutes=0.5,
            probes=self._probes(),
            held_out_every=self.text.held_out_every,
            sentence_share=self.text.sentence_share,
            **values | ({"lr": state.get("lr")} if state.get("lr") else {}),
        )

    def _probes(self) -> tuple[str, ...]:
        """The visitor's, else those of the text that ships with the visitor's sentence; else the run chooses."""
        mask = "[MASK]" if self.size is not None else self.checkpoint.tokenizer.mask_token
        typed = [line.strip() for line in state.get("probes").splitlines() if line.strip()]
        if bare := [line for line in typed if "[MASK]" not in line and mask not in line]:
            raise TextError(f"The sentence to follow “{bare[0]}” has no [MASK]: write one where a word is asked for.")
        if not typed and self.text.probes:
            typed = [*self.text.probes, *_own_sentence(self.checkpoint)]
        return tuple(line.replace("[MASK]", mask) for line in typed)

    def seen(self) -> Preview:
        """What the text gives before training.

        Raises:
            TrainingError: it is too short.
        """
        tokenizer = None if self.size is not None else self.checkpoint.tokenizer
        of = self.checkpoint.report.digest if self.size is None else self.size.short

        def look() -> Preview:
            with tempfile.TemporaryDirectory(prefix="bertviz-") as folder:
                recipe = self.recipe(self.text.beginning().write(Path(folder)))
                return preview(replace(recipe, probes=()), tokenizer)

        return kept(("preview", self.text.digest, of), look)

    def begin(self) -> Job:
        """Start training.

        Raises:
            BertvizError: it cannot be started; the message says why.
        """
        jobs().require_room()
        if self.size is None and self.checkpoint.report.parameters.total > _MOST_PARAMETERS:
            raise TrainingError(
                f"{self.checkpoint.report.name} has {numbers.short(self.checkpoint.report.parameters.total)} "
                f"parameters; at most {numbers.short(_MOST_PARAMETERS)} are trained here. Continue it in the shell: "
                "`python -m bertviz_lite pretrain TEXTS --init FOLDER --out DIR`."
            )
        job = Job(self.name, self.about, self.recipe(()), new_folder(), visitor())
        try:
            init = None
            if self.size is None:
                init = str(job.folder / INIT)
                self.checkpoint.save_pretrained(init)
                job.begun_with = (shelf.current_key(), self.checkpoint.report.name)
            job.recipe = self.recipe(self.text.write(job.folder / TEXT), init)
        except BertvizError:
            job.end()
            raise
        return jobs().start(job)


def controls(checkpoint: Checkpoint) -> Plan:
    """Draw what can be chosen."""
    continued = f"Continue {plain(short(checkpoint.report.name, _SWITCH))}"
    switch("Start from", {"scratch": "A new model", "model": continued}, "start")
    text = training_text.pick()
    size = None
    if state.get("start") == "scratch":
        st.selectbox("Size", list(SIZES), format_func=lambda name: SIZES[name].label, **state.keyed("size"))
        size = SIZES[state.get("size")]
    st.selectbox("Time", list(_MINUTES), format_func=lambda minutes: _MINUTES[minutes], **state.keyed("minutes"))
    place = st.container()  # the button stands above what few will change
    training_text.box()
    with st.expander("Learning rate, sentences to follow"):
        usual = f"the usual ({(size.values if size else _CONTINUED)['lr']:.0e})"
        st.selectbox(
            "Learning rate at its peak",
            list(state.RATES),
            format_func=lambda rate: f"{rate:.0e}" if rate else usual,
            **state.keyed("lr"),
        )
        st.text_area(
            "Sentences to follow, one a line",
            placeholder="The fox ate the [MASK].",
            help="Each with [MASK] where a word is asked for. Left empty, some of the held-out text are taken.",
            **state.keyed("probes"),
        )
    plan = Plan(text, float(state.get("minutes")), size, checkpoint)
    with place:
        _start_button(plan)
    return plan


def _start_button(plan: Plan) -> None:
    if not st.button("Start", key="start_run", type="primary", width="stretch"):
        return
    try:
        with st.spinner("Starting …"):
            job = plan.begin()
    except BertvizError as error:
        st.error(plain(error))
        return
    state.put(run=job.run)
    st.rerun()


def _own_sentence(checkpoint: Checkpoint) -> tuple[str, ...]:
    """The visitor's sentence as a probe, where it is short and has a mask."""
    if len(state.get("text")) > _LONGEST_PROBE:
        return ()
    encoding = checkpoint.tokenizer.encode(state.get("text"))
    typed, hidden = encoding.text, encoding.masked(state.get("mask"), checkpoint.tokenizer.mask_token)
    if not hidden.mask_positions or len(hidden) > _CONTINUED["max_length"]:
        return ()
    for word in sorted(state.get("mask"), reverse=True):
        at = encoding.word_positions(word)
        if at:
            first, end = encoding.offsets[at[0]][0], encoding.offsets[at[-1]][1]
            typed = f"{typed[:first]}[MASK]{typed[end:]}"
    return (typed,)


def _time(minutes: float) -> str:
    return f"{minutes * 60:.0f} s" if minutes <= 1 else f"{minutes:g} min"


__all__ = ["INIT", "SIZES", "Plan", "Size", "controls"]
