"""When a visit ends; how much memory that frees is measured in tests/benchmarks/memory.py."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from bertviz_lite.ui import visit

ADA = visit.Visit("ada", {})


class Runtime:
    """What `visit` asks of Streamlit's runtime."""

    def __init__(self) -> None:
        self.active: set[str] = set()
        self.ended = threading.Event()

    def is_active_session(self, session_id: str) -> bool:
        return session_id in self.active

    def clear_user_info_for_session(self, session_id: str) -> None:
        assert session_id == "ada"
        self.ended.set()


def wait_for(condition: Callable[[], bool]) -> bool:
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    fake = Runtime()
    monkeypatch.setattr(visit.runtime, "exists", lambda: True)
    monkeypatch.setattr(visit.runtime, "get_instance", lambda: fake)
    monkeypatch.setattr(visit, "GRACE_SECONDS", 0.05)
    yield fake
    visit._came_back(ADA.session_id)


def test_a_visit_ends_a_while_after_the_browser_went_away(runtime: Runtime) -> None:
    visit._left(ADA)
    assert not runtime.ended.is_set()
    ADA.belongings["model"] = "a model"
    assert runtime.ended.wait(10)
    assert ADA.session_id not in visit._timers
    assert wait_for(lambda: not ADA.belongings)


def test_a_visit_does_not_end_while_the_browser_is_there(runtime: Runtime) -> None:
    runtime.active.add("ada")
    visit._left(ADA)
    assert not runtime.ended.wait(0.5)
    runtime.active.clear()
    assert runtime.ended.wait(10), "it is looked at again"


def test_a_browser_that_comes_back_in_time_keeps_its_visit(runtime: Runtime) -> None:
    visit._left(ADA)
    visit._came_back("ada")
    assert not runtime.ended.wait(0.5)
