"""Files of weights to tensors: safetensors, or PyTorch pickles read with weights_only."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from bertviz_lite.errors import CheckpointError, WeightsError

_WRAPPERS = ("state_dict", "model_state_dict", "model")
_OTHER_FRAMEWORKS = {"tf_model.h5": "TensorFlow", "flax_model.msgpack": "Flax"}


@dataclass(frozen=True)
class Weights:
    """The tensors of a file under the names it uses."""

    file: str
    format: str
    tensors: Mapping[str, Tensor]


def find_weights(folder: Path) -> Path:
    """The file of weights in a folder; safetensors before pickles.

    Raises:
        CheckpointError: there is none, or more than one could be meant.
    """
    for pattern, usual in (("*.safetensors", "model.safetensors"), ("*.bin", "pytorch_model.bin")):
        if (folder / usual).is_file():
            return folder / usual
        found = sorted(p for p in folder.glob(pattern) if p.is_file() and p.name != "training_args.bin")
        if len(found) == 1:
            return found[0]
        if found:
            raise CheckpointError(
                f"Several files could be the weights ({', '.join(p.name for p in found[:4])}). Keep one, and call it "
                f"{usual}."
            )
    for name, framework in _OTHER_FRAMEWORKS.items():
        if (folder / name).is_file():
            raise CheckpointError(
                f"Only {framework} weights are here ({name}). Save them for PyTorch first: load with transformers' "
                f"from_{'tf' if framework == 'TensorFlow' else 'flax'}=True, then save_pretrained."
            )
    raise CheckpointError("There are no weights: model.safetensors or pytorch_model.bin is needed.")


def read_weights(path: Path) -> Weights:
    """Read all tensors of a file.

    Raises:
        WeightsError: the file is damaged, is no file of weights, or holds more than tensors.
    """
    _refuse_impostors(path)
    if path.suffix == ".safetensors":
        try:
            return Weights(path.name, "safetensors", load_file(path))
        except (SafetensorError, OSError, ValueError, KeyError) as error:
            raise WeightsError(f"{path.name} is damaged or no safetensors file ({error}). Copy it again.") from error
    return Weights(path.name, "PyTorch pickle", _read_pickle(path))


def _read_pickle(path: Path) -> dict[str, Tensor]:
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        # torch appends advice on weights_only=False, which would run the file's code.
        reason = str(error).replace("\n", " ").split("WeightsUnpickler error: ")[-1].split(" Please")[0][:200]
        raise WeightsError(
            f"{path.name} was refused: it holds more than tensors, and reading it could run code ({reason}). Save the "
            "state_dict as safetensors instead."
        ) from error
    except Exception as error:  # a damaged pickle can end in any exception
        raise WeightsError(f"{path.name} is damaged or no PyTorch file ({type(error).__name__}: {error}).") from error
    while isinstance(content, dict) and (
        wrapper := next((w for w in _WRAPPERS if isinstance(content.get(w), dict)), None)
    ):
        content = content[wrapper]
    if not isinstance(content, dict):
        raise WeightsError(f"{path.name} holds a {type(content).__name__}, not a dictionary of tensors by name.")
    tensors = {str(name): value for name, value in content.items() if isinstance(value, Tensor)}
    if not tensors:
        raise WeightsError(f"{path.name} holds no tensor at all.")
    return tensors


def _refuse_impostors(path: Path) -> None:
    """What people save in place of the weights, told by the first bytes."""
    with path.open("rb") as file:
        start = file.read(64)
    if not start:
        raise WeightsError(f"{path.name} is empty. Copy it again.")
    if start.startswith(b"version https://git-lfs"):
        raise WeightsError(f"{path.name} is a Git LFS pointer, not the weights. Run 'git lfs pull' where it came from.")
    if start.lstrip().lower().startswith((b"<!doctype", b"<html")):
        raise WeightsError(f"{path.name} is a web page, not the weights. Use the download link of the file itself.")


__all__ = ["Weights", "find_weights", "read_weights"]
