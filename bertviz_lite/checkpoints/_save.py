"""An opened checkpoint as a clean Hugging Face folder in one zip."""

from __future__ import annotations

import io
import re
import tempfile
import zipfile
from pathlib import Path

from bertviz_lite.checkpoints._checkpoint import Checkpoint


def saved_zip(checkpoint: Checkpoint) -> bytes:
    """The files of `Checkpoint.save_pretrained` in a zip; stored, since trained weights hardly shrink."""
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="bertviz-") as folder:
        checkpoint.save_pretrained(folder)
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
            for path in sorted(Path(folder).iterdir()):
                archive.write(path, f"{file_name(checkpoint.report.name)}/{path.name}")
    return packed.getvalue()


def file_name(name: str) -> str:
    """A checkpoint's name as a folder or file may be called everywhere."""
    return re.sub(r"[^\w.-]+", "-", name).strip(".-")[:80] or "model"


__all__ = ["file_name", "saved_zip"]
