"""Seconds of load go to the service's host, and the driver waits for no one meanwhile."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.errors import RunFault
from sojourn.hosts import elsewhere
from sojourn.hosts.crew import ANSWER_S_MAX
from sojourn.hosts.elsewhere import Passing
from sojourn.run.watch import nothing


class Slow:
    """A station with an agent that answers when a test lets it."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.has_answered = False

    def send(self, do: str, **more: Any) -> Any:
        self.heard.append((do, more["line"]))
        return SimpleNamespace(is_there=lambda: self.has_answered)

    def answer(self, _: Any, within_s: float) -> None:
        if not self.has_answered:
            raise RunFault(f"was lost: no answer within {within_s:.0f} s", at="", fix="")


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which a test lets pass."""
    at = [1000.0]
    monkeypatch.setattr(elsewhere, "time", SimpleNamespace(monotonic=lambda: at[0]))
    return at


def passing(server: Any) -> Passing:
    point: Any = SimpleNamespace(key="k", service="s")
    return Passing(server, point, nothing)


def test_lines_before_an_answer_are_left_out_and_later_ones_pass(now: list[float]) -> None:
    server = Slow()
    watcher = passing(server)
    for t_s in (1, 2, 3):
        watcher.second({"t_s": t_s})
        now[0] += 1.0
    assert server.heard == [("second", {"t_s": 1})]
    server.has_answered = True
    watcher.second({"t_s": 4})
    watcher.second({"t_s": 5})
    assert [line["t_s"] for _, line in server.heard] == [1, 4, 5]


def test_an_agent_that_never_answers_is_lost(now: list[float]) -> None:
    watcher = passing(Slow())
    watcher.second({"t_s": 1})
    now[0] += ANSWER_S_MAX + 1.0
    with pytest.raises(RunFault, match="was lost"):
        watcher.second({"t_s": 12})
