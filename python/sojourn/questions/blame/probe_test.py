"""Suspects are stopped by turns in the planned order, and go on whatever fails."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sojourn.actors.neighbours import Neighbour
from sojourn.errors import RunFault
from sojourn.questions.blame import asks, probe, stops
from sojourn.questions.blame.counters import Reading, Use
from sojourn.questions.blame.plan import order
from sojourn.questions.blame.probe import Blame
from sojourn.questions.blame.stops import Beside
from sojourn.text.schedstat import Schedstat

WITHIN_S = 30.0


class Fake:
    """A suspect that notes what is done to it, and cannot be stopped where it is told so."""

    pids: tuple[int, ...] = ()

    def __init__(self, name: str, *, fails: bool = False) -> None:
        self.name, self.fails = name, fails
        self.is_stopped, self.released = False, 0

    def look(self) -> None:
        """It has no processes."""

    def living(self, every: object) -> tuple[int, ...]:
        del every
        return self.pids

    def stop(self) -> None:
        if self.fails:
            raise OSError(1, "refused")
        self.is_stopped = True

    def go(self) -> None:
        self.is_stopped = False

    def release(self) -> None:
        self.released += 1
        self.go()


class Still:
    """Counters that say how many are stopped: what each window was like."""

    def __init__(self, every: Sequence[Fake]) -> None:
        self._every, self._now = every, 0

    def look(self) -> None:
        """Nothing to find."""

    def of_service(self) -> Reading:
        self._now += sum(getattr(one, "is_stopped", False) for one in self._every)
        threads = {(1, 1): Schedstat(self._now, 0, 0)}
        return Reading(threads=threads, disk_bytes={}, busy_ns=0, softirq_ns=0)

    def of(self, pids: Sequence[int]) -> tuple[Use, ...]:
        return tuple(
            Use(pid=pid, start_ticks=0, parent=1, cpu_ns=0, ended_ns=0, disk_bytes=0)
            for pid in pids
        )


def played(
    monkeypatch: pytest.MonkeyPatch, folder: Path, every: Sequence[Fake], *, measure_s: float
) -> dict[str, Any]:
    """What the actor left of a load of so many seconds; windows of 10 ms."""
    monkeypatch.setattr(stops, "suspects_at", lambda *_: tuple(every))
    monkeypatch.setattr(probe, "Counters", lambda *_: Still(every))
    live = SimpleNamespace(
        process=SimpleNamespace(pid=1), tasks=list, placement=SimpleNamespace(server=(0,))
    )
    point = SimpleNamespace(service="it", measure_s=measure_s, warmup_s=0.0, seed=5)
    stage = SimpleNamespace(services={"it": live}, point=point, folder=folder, book=None)
    actor = Blame(window_s=0.01, settle_s=0.002)
    actor.enter(stage)
    actor.second({"t_s": 0.0})
    assert actor._thread is not None
    actor._thread.join(WITHIN_S)
    actor.leave()
    table: dict[str, Any] = json.loads((folder / probe.FILE).read_text())
    return table


def test_windows_follow_the_planned_order_and_say_who_was_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    every = [Fake("a"), Fake("b")]
    table = played(monkeypatch, tmp_path, every, measure_s=probe.LEFT_S + 0.2)
    windows = table["windows"]
    wanted = [(block, sorted(stopped)) for block, stopped in order(2, 5, 5)]
    got = [(window["block"], window["stopped"]) for window in windows]
    assert got == wanted[: len(got)]
    assert got, "not one window in time"
    assert all(
        w["service"]["run_ns"] == len(w["stopped"]) for w in windows
    )  # as they were at both ends
    assert all(a["to_ns"] <= b["from_ns"] for a, b in pairwise(windows))
    assert [one.released > 0 and not one.is_stopped for one in every] == [True, True]


def test_whatever_fails_no_one_stays_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    every = [Fake("a"), Fake("b", fails=True)]
    table = played(monkeypatch, tmp_path, every, measure_s=probe.LEFT_S + 0.2)
    assert table["failed"] == "PermissionError: [Errno 1] refused"
    assert not any(one.is_stopped for one in every)


def test_a_load_that_never_begins_stops_no_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    every = [Fake("a")]
    monkeypatch.setattr(stops, "suspects_at", lambda *_: tuple(every))
    monkeypatch.setattr(probe, "Counters", lambda *_: Still(every))
    live = SimpleNamespace(
        process=SimpleNamespace(pid=1), tasks=list, placement=SimpleNamespace(server=(0,))
    )
    stage = SimpleNamespace(
        services={"it": live},
        folder=tmp_path,
        book=None,
        point=SimpleNamespace(service="it", measure_s=9.0, warmup_s=1.0, seed=5),
    )
    actor = Blame(window_s=0.5, settle_s=0.1)
    actor.enter(stage)
    actor.second({"t_s": 0.9})  # of the warm-up, whose requests stand in no log
    assert not actor._began.is_set()
    actor.leave()
    assert actor._thread is not None
    assert not actor._thread.is_alive(), "it ended, and was not left to itself"
    assert json.loads((tmp_path / probe.FILE).read_text())["windows"] == []


def test_a_neighbour_without_tasks_can_be_stopped_and_let_go() -> None:
    beside = Beside(Neighbour("spin", "server", lambda: ()))
    beside.look()
    beside.stop()
    beside.release()
    assert (beside.name, beside.pids) == ("spin", ())


class Named(Fake):
    """One of the machine's own, by what a study calls it."""

    def look(self) -> None:
        self.pids = (os.getpid(),)


@pytest.mark.parametrize(
    ("name", "is_refused"),
    [("name:python", True), ("name:sojourn-load", True), ("pid:7", False)],
)
def test_a_name_that_means_the_labs_own_is_refused(
    name: str,
    is_refused: bool,  # noqa: FBT001 - a parameter of the test
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stops, "Held", lambda _book, name: Named(name))
    asked = asks.Blame.model_construct(rate="1k", suspects=name)
    service = asks.OfService.model_construct(kind="null", blame=asked)
    stage: Any = SimpleNamespace(entered=(), spec=service)
    with pytest.raises(RunFault, match="means processes") if is_refused else nullcontext():
        stops.suspects_at(stage, cast("Any", "a book"))


def test_every_window_says_how_many_of_a_suspect_lived(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One has two processes, one has ended, and a neighbour without processes cannot end."""
    alive, gone = Fake("a"), Fake("b")
    alive.pids = (71, 72)
    never = Beside(Neighbour("spin", "server", lambda: ()))
    every: Any = [alive, gone, never]
    windows = played(monkeypatch, tmp_path, every, measure_s=probe.LEFT_S + 0.3)["windows"]
    assert windows, "not one window in time"
    for window in windows:
        assert [one.get("members") for one in window["suspects"]] == [2, 0, None]
