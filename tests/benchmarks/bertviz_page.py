"""BertViz's page of one sentence as an HTML file, and what it takes until a browser can open it: `attention_view.py`
calls this in a process of its own, which gives its gigabytes back.

    python tests/benchmarks/bertviz_page.py FOLDER TEXT model|head OUT.html

Prints the seconds from the encoded sentence to the file: the pass that returns all maps, and the HTML.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import torch
from bertviz import head_view, model_view
from transformers import BertForMaskedLM
from transformers.utils import logging

import bertviz_lite

VIEWS = {"model": model_view, "head": head_view}


def main() -> None:
    folder, text, view, out = sys.argv[1:]
    warnings.simplefilter("ignore")
    logging.disable_progress_bar()
    model = BertForMaskedLM.from_pretrained(folder, attn_implementation="eager").eval()
    encoding = bertviz_lite.load().tokenizer.encode(text)  # `attention_view.py` gives its model this tokenizer
    with torch.inference_mode():
        model.bert(**encoding.tensors())  # the first pass warms up
        start = time.perf_counter()
        maps = model.bert(**encoding.tensors(), output_attentions=True).attentions
        page = VIEWS[view](maps, list(encoding.pieces), html_action="return")
        Path(out).write_text(f'<!doctype html><meta charset="utf-8">{page.data}', encoding="utf-8")
        print(time.perf_counter() - start)


if __name__ == "__main__":
    main()
