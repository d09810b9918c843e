"""Files of weights to tensors: safetensors, or pickles read with weights_only; whole, sharded or in two parts."""

from __future__ import annotations

import json
import math
import pickle
import re
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from bertviz_lite.checkpoints import limits
from bertviz_lite.checkpoints._folder import PICKLES, Folder
from bertviz_lite.errors import CheckpointError, WeightsError

_WRAPPERS = ("state_dict", "model_state_dict", "model", "module")
_MOST_WRAPPERS = 4
_OTHER_FRAMEWORKS = {"tf_model.h5": "TensorFlow", "flax_model.msgpack": "Flax"}
_INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
# What the Trainer and others lay beside the weights.
_NOT_WEIGHTS = re.compile(r"(training_args|optimizer|scheduler|scaler|rng_state.*|trainer_state)\.(bin|pt|pth)")
_OPENED_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_OVERLAP = 2.5  # a tied matrix stands twice in some files; more claims than that are a trick


@dataclass(frozen=True)
class Weights:
    """The tensors of one or more files under the names they use."""

    files: tuple[str, ...]
    format: str
    tensors: Mapping[str, Tensor]


def read_weights(folder: Folder) -> Weights:
    """Read all tensors of a checkpoint.

    Raises:
        CheckpointError: there are no weights, or more than one file could be meant.
        WeightsError: a file is damaged, is no file of weights, holds more than tensors, or claims too much.
    """
    paths = _find(folder)
    tensors: dict[str, Tensor] = {}
    for path in paths:
        _refuse_impostors(path)
        part = _read_safetensors(path) if _is_safetensors(path) else _read_pickle(path)
        if doubled := next((name for name in part if name in tensors), None):
            names = ", ".join(p.name for p in paths[:4])
            raise CheckpointError(
                f"Several files could be the weights ({names}): both hold {doubled[:200]}. Keep one, and call it "
                "model.safetensors or pytorch_model.bin."
            )
        tensors |= part
        _require_room(path, sum(t.numel() for t in tensors.values()))  # the parts together
    kinds = {"safetensors" if _is_safetensors(path) else "PyTorch pickle" for path in paths}
    shards = f", {len(paths)} files" if len(paths) > 1 else ""
    return Weights(tuple(path.name for path in paths), " and ".join(sorted(kinds)) + shards, tensors)


def _find(folder: Folder) -> list[Path]:
    """The files of weights: the one that was named, the usual name, the shards of an index, or what there is."""
    if folder.weights is not None:
        return [folder.path / folder.weights]
    for usual, index in zip(("model.safetensors", "pytorch_model.bin"), _INDEXES, strict=True):
        if (folder.path / usual).is_file():
            return [folder.path / usual]
        if (folder.path / index).is_file():
            return _shards(folder.path / index)
    for endings in ((".safetensors",), PICKLES):
        found = sorted(p for p in folder.path.iterdir() if p.suffix in endings and p.is_file())
        if found := [p for p in found if not _NOT_WEIGHTS.fullmatch(p.name)]:
            return found
    for name, framework in _OTHER_FRAMEWORKS.items():
        if (folder.path / name).is_file():
            raise CheckpointError(
                f"Only {framework} weights are here ({name}). Save them for PyTorch first: load with transformers' "
                f"from_{'tf' if framework == 'TensorFlow' else 'flax'}=True, then save_pretrained."
            )
    raise CheckpointError("There are no weights: model.safetensors or pytorch_model.bin is needed.")


def _shards(index: Path) -> list[Path]:
    try:
        names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        plain = sorted(name for name in names if Path(name).name == name)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise WeightsError(f"{index.name} is damaged: it should map every tensor to a file.") from error
    if not names or len(plain) < len(names) or len(names) > limits.MOST_MEMBERS:
        raise WeightsError(f"{index.name} names files outside its own folder, or none.")
    if missing := [name for name in plain if not (index.parent / name).is_file()]:
        raise CheckpointError(f"{len(missing)} of {len(names)} parts are missing: {', '.join(missing[:4])}.")
    return [index.parent / name for name in plain]


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    try:
        with safe_open(path, framework="pt") as file:
            names = list(file.keys())
            claimed = sum(math.prod(file.get_slice(name).get_shape()) for name in names)
            _require_room(path, claimed)
            return {name: file.get_tensor(name) for name in names}
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        reason = str(error).split("\n")[0][:200]
        raise WeightsError(f"{path.name} is damaged or no safetensors file ({reason}). Copy it again.") from error


def _read_pickle(path: Path) -> dict[str, Tensor]:
    _check_zip(path)
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise WeightsError(_why_refused(path, str(error))) from error
    except Exception as error:  # a damaged pickle can end in any exception
        reason = str(error).split("\n")[0][:200]
        raise WeightsError(f"{path.name} is damaged or no PyTorch file ({type(error).__name__}: {reason}).") from error
    for _ in range(_MOST_WRAPPERS):
        if isinstance(content, dict):
            content = next((content[w] for w in _WRAPPERS if isinstance(content.get(w), dict)), content)
    if not isinstance(content, dict):
        raise WeightsError(f"{path.name} holds a {type(content).__name__}, not a dictionary of tensors by name.")
    names = {name: str(name).encode("utf-8", "replace").decode() for name in content}  # half a character is none
    tensors = {names[name]: value for name, value in content.items() if isinstance(value, Tensor)}
    if not tensors:
        raise WeightsError(f"{path.name} holds no tensor at all.")
    _check_tensors(path, tensors)
    return tensors


def _why_refused(path: Path, told: str) -> str:
    """What torch found, without its advice to read the file carelessly."""
    is_object = re.search(r"GLOBAL (\S+)", told)
    if is_object:
        return (
            f"{path.name} was refused: it is damaged or holds more than tensors ({is_object[1].rstrip('.')}), and "
            "reading that could run code. Save the state_dict as safetensors instead."
        )
    return (
        f"{path.name} is damaged or pickled in a way that is not read here. Save the state_dict as safetensors instead."
    )


def _check_zip(path: Path) -> None:
    """Torch never packs the numbers in its zips; one that does may unpack to anything."""
    if not zipfile.is_zipfile(path):
        return
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except Exception as error:  # as above: whatever a broken directory raises
        raise WeightsError(f"{path.name} is damaged or no PyTorch file ({type(error).__name__}).") from error
    if any(m.compress_type != zipfile.ZIP_STORED for m in members):
        raise WeightsError(
            f"{path.name} is a packed zip, not a file that torch wrote. If it is a folder, call it .zip."
        )
    if sum(m.file_size for m in members) > limits.max_bytes() + path.stat().st_size:
        raise WeightsError(f"{path.name} is damaged: it claims to hold more than its own size.")


def _check_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Only plain tensors that the file really holds: a view can claim any size and costs nothing until it is copied."""
    for name, tensor in tensors.items():
        plain = tensor.layout is torch.strided and tensor.device.type == "cpu" and not tensor.is_nested
        if not plain or tensor.is_quantized:
            raise WeightsError(
                f"{path.name}: {name[:200]} is no plain tensor (sparse, nested, quantized or empty shell)."
            )
        if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
            raise WeightsError(f"{path.name}: {name[:200]} claims more values than the file holds.")
    claimed = sum(t.numel() * t.element_size() for t in tensors.values())
    if claimed > _OVERLAP * path.stat().st_size + (1 << 20):
        raise WeightsError(f"{path.name}: its tensors share memory and would unpack to {claimed / 1e9:.1f} GB.")
    _require_room(path, sum(t.numel() for t in tensors.values()))


def _require_room(path: Path, n_values: int) -> None:
    if n_values * 4 > limits.max_bytes():
        raise WeightsError(
            f"{path.name} holds {n_values:,} numbers, {n_values * 4 / 1e9:.1f} GB in float32; the limit here is "
            f"{limits.max_bytes() / 1e9:.1f} GB ({limits.MAX_GB})."
        )


def _refuse_impostors(path: Path) -> None:
    """What people save in place of the weights, told by the first bytes."""
    try:
        with path.open("rb") as file:
            start = file.read(64)
    except OSError as error:
        raise WeightsError(f"{path.name} cannot be read ({error.strerror}).") from error
    if not start:
        raise WeightsError(f"{path.name} is empty. Copy it again.")
    if not start.strip(b"\0"):
        raise WeightsError(f"{path.name} starts with nothing but zeros: it was cut off while copied. Copy it again.")
    if tarfile.is_tarfile(path):
        raise WeightsError(
            f"{path.name} is a tar. If it is a folder, call it .tar; if it is a file of weights from before 2018, load "
            "it with the torch of its time and save the state_dict as safetensors: reading it could run code."
        )
    if start.startswith(b"version https://git-lfs"):
        raise WeightsError(f"{path.name} is a Git LFS pointer, not the weights. Run 'git lfs pull' where it came from.")
    if start.lstrip().lower().startswith((b"<!doctype", b"<html")):
        raise WeightsError(f"{path.name} is a web page, not the weights. Use the download link of the file itself.")


def _is_safetensors(path: Path) -> bool:
    """By its first bytes where they tell, since files get renamed; else by its ending."""
    with path.open("rb") as file:
        start = file.read(9)
    if start[8:] == b"{" and int.from_bytes(start[:8], "little") < path.stat().st_size:
        return True
    return path.suffix == ".safetensors" and not start.startswith((b"PK", b"\x80"))


def is_opened(dtype: torch.dtype) -> bool:
    """Whether weights of this type can be computed with."""
    return dtype in _OPENED_DTYPES


__all__ = ["Weights", "is_opened", "read_weights"]
