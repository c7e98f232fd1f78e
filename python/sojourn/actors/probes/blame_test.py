"""Suspects are stopped by turns in the planned order, and go on whatever fails."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.actors import suspects
from sojourn.actors.neighbours import Neighbour
from sojourn.actors.probes import blame
from sojourn.actors.probes.blame import Blame
from sojourn.actors.suspects import Beside, Served, Use
from sojourn.plan.questions.blame import order
from sojourn.samples.blame import BlameFile

WITHIN_S = 30.0


class Fake:
    """A suspect that notes what is done to it, and cannot be stopped where it is told so."""

    pids: tuple[int, ...] = ()

    def __init__(self, name: str, *, fails: bool = False) -> None:
        self.name, self.fails = name, fails
        self.is_stopped, self.released = False, 0

    def look(self) -> None:
        """It has no processes."""

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

    def of_service(self) -> Served:
        self._now += sum(one.is_stopped for one in self._every)
        return Served(run_ns=self._now, wait_ns=0, disk_bytes=0, busy_ns=0, softirq_ns=0)

    def of(self, pids: Sequence[int]) -> Use:
        del pids
        return Use(cpu_ns=0, disk_bytes=0)


def played(
    monkeypatch: pytest.MonkeyPatch, folder: Path, every: Sequence[Fake], *, measure_s: float
) -> dict[str, Any]:
    """What the actor left of a load of so many seconds; windows of 10 ms."""
    monkeypatch.setattr(suspects, "found", lambda *_: tuple(every))
    monkeypatch.setattr(blame, "Counters", lambda *_: Still(every))
    live = SimpleNamespace(
        process=SimpleNamespace(pid=1), turned=None, placement=SimpleNamespace(server=(0,))
    )
    point = SimpleNamespace(service="it", measure_s=measure_s, seed=5)
    stage = SimpleNamespace(services={"it": live}, point=point, folder=folder)
    actor = Blame(window_s=0.01, settle_s=0.002)
    actor.enter(stage)
    actor.second({"t_s": 0.0})
    assert actor._thread is not None
    actor._thread.join(WITHIN_S)
    actor.leave()
    table: dict[str, Any] = json.loads((folder / blame.FILE).read_text())
    return table


def test_windows_follow_the_planned_order_and_say_who_was_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    every = [Fake("a"), Fake("b")]
    table = played(monkeypatch, tmp_path, every, measure_s=blame.LEFT_S + 0.2)
    windows = BlameFile.model_validate(table).windows
    wanted = [(block, sorted(stopped)) for block, stopped in order(2, 5, 5)]
    got = [(window.block, window.stopped) for window in windows]
    assert got == wanted[: len(got)]
    assert got, "not one window in time"
    assert all(w.service.run_ns == len(w.stopped) for w in windows)  # as they were at both ends
    assert all(a.to_ns <= b.from_ns for a, b in pairwise(windows))
    assert [one.released > 0 and not one.is_stopped for one in every] == [True, True]


def test_whatever_fails_nobody_stays_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    every = [Fake("a"), Fake("b", fails=True)]
    table = played(monkeypatch, tmp_path, every, measure_s=blame.LEFT_S + 0.2)
    assert table["failed"] == "PermissionError: [Errno 1] refused"
    assert not any(one.is_stopped for one in every)


def test_a_load_that_never_begins_stops_nobody(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    every = [Fake("a")]
    monkeypatch.setattr(suspects, "found", lambda *_: tuple(every))
    monkeypatch.setattr(blame, "Counters", lambda *_: Still(every))
    live = SimpleNamespace(
        process=SimpleNamespace(pid=1), turned=None, placement=SimpleNamespace(server=(0,))
    )
    stage = SimpleNamespace(
        services={"it": live}, folder=tmp_path,
        point=SimpleNamespace(service="it", measure_s=9.0, seed=5),
    )  # fmt: skip
    actor = Blame(window_s=0.5, settle_s=0.1)
    actor.enter(stage)
    began_s = time.monotonic()
    actor.leave()
    assert time.monotonic() - began_s < blame.JOIN_S_MAX
    assert json.loads((tmp_path / blame.FILE).read_text())["windows"] == []


def test_a_neighbour_without_tasks_can_be_stopped_and_let_go() -> None:
    beside = Beside(Neighbour("spin", "server", lambda: ()))
    beside.look()
    beside.stop()
    beside.release()
    assert (beside.name, beside.pids) == ("spin", ())
