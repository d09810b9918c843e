"""What the browser would send and show, for tests without one."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from streamlit.testing.v1 import AppTest
from unpacked import unpack

Open = Callable[..., AppTest]


def chips_of(at: AppTest) -> list[str]:
    """What stands on the chips, word by word."""
    return ["".join(p["text"] for p in word["pieces"]) for word in chips_data(at)["words"]]


def chips_data(at: AppTest) -> dict[str, list[dict[str, list[dict[str, str]]]]]:
    proto = at.get("bidi_component")[0].proto
    data: dict[str, list[dict[str, list[dict[str, str]]]]] = json.loads(proto.json)
    return data


def press_word(at: AppTest, word: int, row: str = "chips") -> AppTest:
    """What the browser sends when a chip is pressed."""
    proto = next(e.proto for e in at.get("bidi_component") if e.proto.id.endswith(f"-{row}"))
    heard = json.loads(proto.json)["heard"]
    states = at._tree.get_widget_states()
    trigger = states.widgets.add()
    trigger.id = f"$$STREAMLIT_INTERNAL_KEY_{proto.id}__events"
    trigger.json_trigger_value = json.dumps([{"event": "presses", "value": [{"n": heard + 1, "word": word}]}])
    return at._run(states)


def view_data(at: AppTest, key: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What a part of the attention view was sent: header and arrays."""
    return unpack(_component(at, key).bytes)


def choose(at: AppTest, key: str, **change: object) -> AppTest:
    """What the browser sends when something is chosen in the view of a map."""
    proto = _component(at, key)
    states = at._tree.get_widget_states()
    sent = next((one for one in states.widgets if one.id == proto.id), None) or states.widgets.add()
    sent.id = proto.id
    header, _ = unpack(proto.bytes)
    sent.json_value = json.dumps({"view": {"n": header["heard"] + 1} | header["state"] | change})
    return at._run(states)


def _component(at: AppTest, key: str) -> Any:  # noqa: ANN401 - Streamlit's message has no type
    return next(e.proto for e in at.get("bidi_component") if e.proto.id.endswith(f"-{key}"))


def upload(at: AppTest, *files: tuple[str, bytes]) -> AppTest:
    """Choose files in the upload box of the Checkpoint page."""
    return at.file_uploader[0].set_value([(name, content, "application/octet-stream") for name, content in files]).run()


def chart(at: AppTest, key: str) -> dict[str, list[dict[str, object]]]:
    """A Plotly figure on the page, as JSON values."""
    proto = next(e.proto for e in at.get("plotly_chart") if e.proto.id.endswith(f"-{key}"))
    spec: dict[str, list[dict[str, object]]] = json.loads(proto.spec, object_hook=_array)
    return spec


def _array(value: dict[str, str]) -> object:
    """Plotly sends arrays as base64; everything else stays as it is."""
    if set(value) - {"shape"} != {"dtype", "bdata"}:
        return value
    flat = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
    shape = value.get("shape")
    return (flat.reshape([int(n) for n in shape.split(",")]) if shape else flat).tolist()
