"""Every error that bertviz_lite raises on purpose, in one hierarchy.

Each message is a sentence or two that can be shown to a person as it stands: what was wrong, with the
value, and what to do. Pages and shell catch `BertvizError` and nothing wider.
"""

from __future__ import annotations

from collections.abc import Sequence


class BertvizError(Exception):
    """The base of all errors of this package."""


class ConfigError(BertvizError, ValueError):
    """A configuration field has a value that no BERT can have."""


class InputError(BertvizError, ValueError):
    """Token ids, masks, segments, positions or labels do not fit the model or each other."""


class TextError(BertvizError, ValueError):
    """The text cannot be used as it is: nothing masked, nothing to score, or too long for the model."""


class TokenizerError(BertvizError, ValueError):
    """The tokenizer files cannot be read, or lack what a masked language model needs."""


class CheckpointError(BertvizError):
    """A checkpoint cannot be opened."""


class ArchiveError(CheckpointError):
    """An archive is damaged, too large when unpacked, or would write outside its folder."""


class WeightsError(CheckpointError):
    """A file of weights is damaged, of an unknown format, or holds more than tensors."""


class MissingTensorsError(CheckpointError):
    """The files lack tensors that the network needs, its head for example.

    Attributes:
        missing: state-dict names of the absent tensors.
    """

    def __init__(self, message: str, missing: Sequence[str]) -> None:
        super().__init__(message)
        self.missing = tuple(missing)


class TrainingError(BertvizError):
    """A model cannot be trained as asked, or training had to stop; what was saved before is kept."""


__all__ = [
    "ArchiveError",
    "BertvizError",
    "CheckpointError",
    "ConfigError",
    "InputError",
    "MissingTensorsError",
    "TextError",
    "TokenizerError",
    "TrainingError",
    "WeightsError",
]
