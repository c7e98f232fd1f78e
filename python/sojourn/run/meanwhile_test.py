from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn.host import Placement
from sojourn.host.culprits import Culprit, Sight
from sojourn.plan import Phase, Point
from sojourn.run import meanwhile
from sojourn.run.live import RunningService

WHERE = Placement(server=(1,), client=(0,), housekeeping=(0,), client_wait="spin", shared=())


def culprit(name: str, longest_ns: int | None = 8_000_000) -> Culprit:
    return Culprit(
        name=name, tid=77, pid=77, is_kernel=True, runs=9, run_ns=10, share=0.02,
        long_runs_per_s=2.6, longest_ns=longest_ns, is_exact=longest_ns is not None,
    )  # fmt: skip


def live() -> RunningService:
    """Stands for a service whose only process is this test."""
    made = RunningService(
        label="s",
        life="s/scheduled/0",
        service=None,  # type: ignore[arg-type]
        placement=WHERE,
        work=Path("/nowhere"),
    )
    made.process = SimpleNamespace(pid=os.getsid(0))  # type: ignore[assignment]
    return made


def point(phase: Phase) -> Point:
    return Point(
        key="k", service="s", phase=phase, offered_rps=1.0, measure_s=60.0, warmup_s=0.5, seed=1
    )


def test_only_points_as_scheduled_are_looked_at() -> None:
    asked: list[tuple[Sequence[int], float, Sequence[int]]] = []

    def look(cpus: Sequence[int], seconds: float, out: Sequence[int]) -> Sight:
        asked.append((cpus, seconds, out))
        found = (culprit("kdamond.0"), culprit("sojourn-load"), culprit("worker", None))
        return Sight(source="scheduler", why="", cpus=(1,), seconds=seconds, culprits=found)

    with meanwhile.seen(live(), point(Phase.SEARCH), look) as found:
        pass
    assert found == {}
    assert asked == []
    with meanwhile.seen(live(), point(Phase.SCHEDULED), look) as found:
        pass
    ((cpus, seconds, out),) = asked
    assert (cpus, seconds) == ((1,), meanwhile.LOOK_S_MAX)
    assert os.getpid() in out
    kdamond, worker = found["culprits"]
    assert kdamond == {
        "task": "kdamond.0", "tid": 77, "runs_over_0_3ms_per_s": 2.6, "longest_ms": 8.0,
        "cpu_share": 0.02, "is_exact": True,
    }  # fmt: skip
    assert worker["longest_ms"] is None
    assert found["culprits_source"] == "scheduler"


def test_a_look_that_fails_does_not_end_the_run() -> None:
    def look(cpus: Sequence[int], seconds: float, out: Sequence[int]) -> Sight:
        raise OSError("no tracer")

    with meanwhile.seen(live(), point(Phase.SCHEDULED), look) as found:
        pass
    assert found["culprits"] == []
    assert found["culprits_why"] == "no tracer"


def test_a_fault_of_the_run_is_not_hidden() -> None:
    def look(cpus: Sequence[int], seconds: float, out: Sequence[int]) -> Sight:
        return Sight(source="proc", why="", cpus=(1,), seconds=seconds, culprits=())

    with (
        pytest.raises(RuntimeError, match="died"),
        meanwhile.seen(live(), point(Phase.SCHEDULED), look),
    ):
        raise RuntimeError("died")
