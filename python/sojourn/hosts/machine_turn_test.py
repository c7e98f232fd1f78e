"""Two drivers do not load one machine at once, and neither waits for the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn.hosts.agent import Agent
from sojourn.hosts.machine_turn import holders
from sojourn.run import generator, turn

ENDS_S_MAX = 60.0  # a guard against a hang
Eventually = Callable[[Callable[[], bool]], None]


def test_the_first_client_of_each_machine_holds_it_but_not_of_those_that_are_held() -> None:
    a, b, lab = ({"boot": boot} for boot in ("a", "b", "lab"))
    unknown = {"boot": ""}
    assert holders([a, lab, a, b, b], [lab]) == {0, 3}
    assert holders([a, b], [lab, b]) == {0}
    assert holders([unknown, unknown], [lab]) == {0, 1}, "copies of one machine are several"
    assert holders([], [lab]) == frozenset()


@pytest.fixture
def ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Lets the generators end, which are imagined (fakes)."""
    folder = tmp_path / "lock"
    folder.mkdir()
    folder.chmod(0o1777)
    monkeypatch.setattr(turn, "FOLDERS", (folder,))
    monkeypatch.setenv("SOJOURN_STATE", str(tmp_path / "state"))
    ended = threading.Event()

    def run(*_: object) -> None:
        ended.wait(ENDS_S_MAX)

    monkeypatch.setattr(generator, "run", run)
    yield ended
    ended.set()


def eventually(is_so: Callable[[], bool]) -> None:
    until_s = time.monotonic() + ENDS_S_MAX
    while not is_so():
        assert time.monotonic() < until_s
        time.sleep(0.01)


JOB: dict[str, Any] = {"target": "null:"}


def test_another_study_is_refused_while_load_runs_and_only_then(ends: threading.Event) -> None:
    one, other = Agent(lease_s=ENDS_S_MAX), Agent(lease_s=ENDS_S_MAX)
    assert one.start(JOB, "", "first") is None
    fault = other.start(JOB, "", "second")
    assert fault is not None
    assert "this machine is measuring first" in fault["what"]
    assert other.start(JOB, "", "") is None, "a client beside the first one of its machine"
    ends.set()
    eventually(lambda: bool(one.look()["is_over"]))
    eventually(lambda: other.start(JOB, "", "second") is None)
    for agent in (one, other):
        agent.drop()


def test_who_was_forgotten_by_its_driver_holds_nothing(
    ends: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its generator ends by itself, and with it the turn: the agent hired in its place goes on."""

    def run(_job: object, _files: object, _journal: object, watch: Any) -> None:
        while not watch.why:
            time.sleep(0.01)

    monkeypatch.setattr(generator, "run", run)
    lost = Agent(lease_s=0.5)
    assert lost.start(JOB, "", "study") is None
    anew = Agent(lease_s=ENDS_S_MAX)
    eventually(lambda: anew.start(JOB, "", "study") is None)
    anew.drop()
    lost.drop()
