from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import actors, spec
from sojourn.actors.probes import culprits
from sojourn.host import Placement
from sojourn.host.culprits import Culprit, Sight
from sojourn.places import proc
from sojourn.plan import Phase, Point
from sojourn.plan.points import Rules
from sojourn.spec import ServiceSpec

WHERE = Placement(server=(1,), client=(0,), housekeeping=(0,), client_wait="spin", shared=())


def culprit(name: str, longest_ns: int | None = 8_000_000) -> Culprit:
    return Culprit(
        name=name,
        tid=77,
        pid=77,
        is_kernel=True,
        runs=9,
        run_ns=10,
        share=0.02,
        long_runs_per_s=2.6,
        longest_ns=longest_ns,
        is_exact=longest_ns is not None,
    )


def stage() -> Any:
    """Has a service whose only process is this test."""
    own = os.getpid()
    live = SimpleNamespace(
        placement=WHERE,
        process=SimpleNamespace(pid=own),
        members=lambda: proc.family(own),
    )
    return SimpleNamespace(point=point(Phase.SCHEDULED), services={"s": live}, entered=())


def point(phase: Phase) -> Point:
    return Point(
        key="k", service="s", phase=phase, offered_rps=1.0, measure_s=60.0, warmup_s=0.5, seed=1
    )


def seen(look: culprits.Look) -> Mapping[str, Any]:
    probe = culprits.Culprits(look)
    probe.enter(stage())
    probe.leave()
    return probe.saw()


def test_only_points_as_scheduled_are_looked_at() -> None:
    asked: list[tuple[Sequence[int], float, Sequence[int]]] = []

    def look(cpus: Sequence[int], seconds: float, out: Sequence[int]) -> Sight:
        asked.append((cpus, seconds, out))
        outcome = (culprit("kdamond.0"), culprit("sojourn-load"), culprit("worker", None))
        return Sight(source="scheduler", why="", cpus=(1,), seconds=seconds, culprits=outcome)

    spec = ServiceSpec(kind="memcached", measure=("sweep",))
    assert culprits.build(spec, point(Phase.SEARCH)) is None
    at = replace(point(Phase.SCHEDULED), rules=Rules(is_bare=True))
    assert culprits.build(spec, at) is not None
    results = seen(look)
    ((cpus, seconds, out),) = asked
    assert (cpus, seconds) == ((1,), culprits.LOOK_S_MAX)
    assert os.getpid() in out
    kdamond, worker = results["culprits"]
    assert kdamond == {
        "task": "kdamond.0",
        "tid": 77,
        "pid": 77,
        "runs_over_0_3ms_per_s": 2.6,
        "longest_ms": 8.0,
        "cpu_share": 0.02,
        "is_exact": True,
    }
    assert worker["longest_ms"] is None
    assert results["culprits_source"] == "scheduler"


@pytest.mark.parametrize(
    ("rules", "is_there"),
    [(Rules(), True), (Rules(is_experiment=True), False), (Rules(is_bare=True), True)],
)
def test_a_study_without_a_shield_is_looked_at_but_in_experiments_of_their_own(
    rules: Rules,
    is_there: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    study = spec.load("latency_vs_load", overrides=["run.shield=none"])
    at = replace(point(Phase.SWEEP), offered_rps=1e3, rules=rules)
    cast = actors.cast(study, study.services[0], at)
    assert any(isinstance(one, culprits.Culprits) for one in cast) is is_there


def test_a_look_that_fails_does_not_end_the_run() -> None:
    def look(cpus: Sequence[int], seconds: float, out: Sequence[int]) -> Sight:
        raise OSError("no tracer")

    result = seen(look)
    assert result["culprits"] == []
    assert result["culprits_why"] == "no tracer"


def test_a_service_without_a_process_cannot_be_disturbed() -> None:
    def look(cpus: Sequence[int], seconds: float, out: Sequence[int]) -> Sight:
        raise AssertionError

    empty = stage()
    empty.services["s"].process = None
    probe = culprits.Culprits(look)
    probe.enter(empty)
    probe.leave()
    assert probe.saw() == {}
