"""What is heard of clients while load runs, and who is lost.

Agents are imagined (fakes): each answers what a test wrote down.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.errors import RunFault
from sojourn.hosts import follow
from sojourn.hosts.clock import HostClock, same
from sojourn.hosts.engine import LostError
from sojourn.run.generator import Watcher
from sojourn.run.watch import Deadline

OVER: Mapping[str, Any] = {"is_over": True, "line": {}, "fault": None}


class Agent:
    """Answers `look` by one reply after the other; a reply that is an error is raised."""

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)

    def ask(self, name: str) -> Any:
        assert name == "look"
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return SimpleNamespace(is_there=lambda: True, result=lambda _: reply, came_ns=None)


class Watched(Watcher):
    def __init__(self) -> None:
        self.lines: list[Mapping[str, Any]] = []

    def second(self, line: Mapping[str, Any]) -> None:
        self.lines.append(line)


class Crew:
    """Knows who was lost, as `crew.Crew` says it."""

    turns: Mapping[int, str] = {}

    def __init__(self, *agents: Agent) -> None:
        clock = HostClock((same(time.monotonic_ns()),))
        self.members = [SimpleNamespace(remote=agent, clock=clock) for agent in agents]

    def __len__(self) -> int:
        return len(self.members)

    def lost(self, member: Any, why: str) -> RunFault:
        return RunFault(f"client {self.members.index(member) + 1} {why}", at="", fix="")


def heard(*agents: Agent) -> Sequence[Mapping[str, Any]]:
    crew: Any = Crew(*agents)
    watched = Watched()
    every = [follow.Following(member) for member in crew.members]
    follow._follow(crew, every, watched, Deadline(30.0), over_s=0.0)
    return watched.lines


def line(t_s: float, n: int) -> dict[str, Any]:
    window = {"length_ms": 1000, "n": n, "above": 1, "p99_ns": 7, "hi_ns": None}
    return {"is_over": False, "fault": None, "line": {"t_s": t_s, "done_rps": n, "window": window}}


def test_windows_of_clients_add_up_for_a_manager() -> None:
    one, two = heard(
        Agent(line(1.0, 100), line(2.0, 30), OVER), Agent(line(1.0, 50), line(2.0, 40), OVER)
    )
    assert (one["done_rps"], two["done_rps"]) == (150, 70)
    assert one["window"] == {"length_ms": 1000, "n": 150, "above": 2}
    assert two["window"] == {"length_ms": 1000, "n": 70, "above": 2}


def test_a_single_client_has_its_whole_window() -> None:
    (one,) = heard(Agent(line(1.0, 100), OVER))
    assert one["window"] == {"length_ms": 1000, "n": 100, "above": 1, "p99_ns": 7}


def test_a_window_is_handed_on_once() -> None:
    """A client that said nothing new has no new requests."""
    one, two = heard(
        Agent(line(1.0, 100), line(2.0, 30), OVER), Agent(line(1.0, 50), line(1.0, 50), OVER)
    )
    assert one["window"]["n"] == 150
    assert two["window"] == {}
    assert two["done_rps"] == 80, "its last rate is still the best that is known"


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ({"is_over": False, "line": {}, "fault": 7}, "was lost: its answer makes no sense"),
        ({"is_over": False, "line": {}, "fault": {}}, "was lost: its answer makes no sense"),
        (LostError("the cluster was left"), "was lost: the cluster was left"),
        (None, "was lost: its answer makes no sense"),
        ({"is_over": False, "line": 7, "fault": None}, "was lost: its answer makes no sense"),
    ],
)
def test_who_cannot_be_asked_or_understood_is_lost(reply: Any, why: str) -> None:
    with pytest.raises(RunFault, match=f"client 2 {why}"):
        heard(Agent(line(1.0, 1), OVER), Agent(line(1.0, 1), reply))


def test_numbers_that_are_none_are_left_out() -> None:
    bad = {"is_over": False, "fault": None, "line": {"t_s": 1.0, "errors": float("nan")}}
    (one,) = heard(Agent(bad, OVER))
    assert one == {"t_s": 1.0}


class Slow(Agent):
    """Does not answer what it is asked first before the others were asked so often."""

    def __init__(self, others: Sequence[Prompt], times: int) -> None:
        super().__init__(OVER)
        self._others, self._times = others, times

    def ask(self, name: str, *args: Any) -> Any:
        if name == "start":
            return SimpleNamespace(is_there=self._is_there, result=self._result)
        return super().ask(name)

    def _result(self, _: float) -> None:
        if not self._is_there():
            raise LostError("who waits for it alone waits for ever")

    def _is_there(self) -> bool:
        return all(other.asked >= self._times for other in self._others)


class Prompt(Agent):
    """Begins at once; counts how often it is asked how it goes."""

    asked = 0

    def ask(self, name: str, *args: Any) -> Any:
        if name == "start":
            return SimpleNamespace(is_there=lambda: True, result=lambda _: None)
        self.asked += 1
        if self.asked < 3:
            self.replies.insert(0, {"is_over": False, "line": {}, "fault": None})
        return super().ask(name)


def begun(monkeypatch: pytest.MonkeyPatch, *agents: Agent) -> None:
    crew: Any = Crew(*agents)
    monkeypatch.setattr(follow, "BEAT_S", 0.05)
    monkeypatch.setattr(follow, "drop", lambda _: None)
    jobs = [{"duration": "0s", "warmup": "0s"}] * len(agents)
    follow.run(crew, jobs, "turns", 0.0, Watched())


def test_who_begins_slowly_is_no_end_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that is not asked ends its generator: it takes the driver for dead."""
    prompt = Prompt(OVER)
    begun(monkeypatch, prompt, Slow([prompt], times=2))
    assert prompt.asked >= 3


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (7, "client 1 was lost: its answer makes no sense"),
        ({"kind": "spec"}, "client 1 was lost: its answer makes no sense"),
    ],
)
def test_a_start_that_is_answered_by_nonsense_is_a_lost_client(
    answer: Any, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Odd(Agent):
        def ask(self, name: str, *args: Any) -> Any:
            return SimpleNamespace(is_there=lambda: True, result=lambda _: answer)

    with pytest.raises(RunFault, match=why):
        begun(monkeypatch, Odd())


class Clocked(Agent):
    """Reports the time of a clock that is set at its third answer."""

    def __init__(self, jump_ns: int, *, came: bool = True) -> None:
        super().__init__()
        self._jump_ns, self._came, self._asked = jump_ns, came, 0

    def ask(self, name: str, *args: Any) -> Any:
        self._asked += 1
        jumped_ns = self._jump_ns if self._asked > 2 else 0
        reply = {**OVER, "is_over": self._asked > 4, "stamp": time.monotonic_ns() + jumped_ns}
        came_ns = time.monotonic_ns() if self._came else None
        return SimpleNamespace(is_there=lambda: True, result=lambda _: reply, came_ns=came_ns)


@pytest.mark.parametrize("jump_ns", [10**12, -(10**12)])
def test_a_clock_that_is_set_while_load_runs_is_seen_at_once(jump_ns: int) -> None:
    agent = Clocked(jump_ns)
    with pytest.raises(RunFault, match="client 1 was lost: the clock jumped by"):
        heard(agent)
    assert agent._asked == 3


def test_a_clock_of_which_no_time_is_known_is_not_doubted() -> None:
    assert heard(Clocked(0)) == heard(Clocked(10**12, came=False)) == []
