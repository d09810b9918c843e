"""An opened checkpoint as a clean Hugging Face folder in one zip."""

from __future__ import annotations

import os
import re
import tempfile
import zipfile
from pathlib import Path

from bertviz_lite.checkpoints._checkpoint import Checkpoint


def saved_zip(checkpoint: Checkpoint) -> bytes:
    """The files of `Checkpoint.save_pretrained` in a zip; stored, since trained weights hardly shrink."""
    with tempfile.TemporaryDirectory(prefix="bertviz-") as place:
        # On disk until it is whole: in memory the model would stand three times.
        folder, packed = Path(place, file_name(checkpoint.report.name)), Path(place, "packed.zip")
        checkpoint.save_pretrained(folder)
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED, strict_timestamps=False) as archive:
            for path in sorted(folder.iterdir()):
                os.utime(path, (0, 0))  # the same model, the same bytes: Streamlit then keeps one copy
                archive.write(path, f"{folder.name}/{path.name}")
        return packed.read_bytes()


def file_name(name: str) -> str:
    """A checkpoint's name as a folder or file may be called everywhere."""
    return re.sub(r"[^\w.-]+", "-", name).strip(".-")[:80] or "model"


__all__ = ["file_name", "saved_zip"]
