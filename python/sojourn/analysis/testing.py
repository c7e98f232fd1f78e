"""Studies for tests: queues simulated with fixed seeds, shaped as `store` would hand them over."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.random import Generator

from sojourn.findings.measured import Measured, Second, StudyData
from sojourn.plan.next import Planner
from sojourn.plan.points import Outcome, Phase, Point, Verdict
from sojourn.samples.dependence import of_run
from sojourn.spec import PROFILES, Qos, ServiceSpec, Study
from sojourn.stats.testing import mg1
from sojourn.stats.times import Floats, from_values
from sojourn.testing_questions import PLANS


def measured(
    point: Point,
    sojourn_ns: Floats,
    *,
    bound_ns: float | None = None,
    verdict: Verdict = Verdict.HOLDS,
    reasons: tuple[str, ...] = (),
    seconds: int = 0,
) -> Measured:
    """One run as it would be stored, with its raw times; `seconds` > 0 adds a per-second log."""
    times = from_values(three_digits(sojourn_ns))
    rate = len(sojourn_ns) / point.measure_s
    over = None if bound_ns is None else times.over(bound_ns)
    moments = times.moments()
    outcome = Outcome(
        point=point,
        verdict=verdict,
        reasons=reasons,
        offered_rps=point.offered_rps or rate,
        achieved_rps=rate,
        requests=times.n,
        over_bound=over,
        lost=times.lost,
        mean_ns=moments[0] if moments else None,
        p50_ns=finite(times.quantile(0.5)),
        p95_ns=finite(times.quantile(0.95)),
        p99_ns=finite(times.quantile(0.99)),
        correlation=of_run(sojourn_ns, (), requests=times.n, q=0.99).ratio,
        wall_s=point.measure_s + 1,
        folder="",
    )
    log = [
        Second(
            at_s=float(i),
            achieved_rps=len(part) * seconds / point.measure_s,
            sojourn=from_values(three_digits(part)),
        )
        for i, part in enumerate(np.array_split(sojourn_ns, seconds) if seconds else [])
    ]
    return Measured(
        outcome=outcome,
        sojourn=times,
        seconds=tuple(log),
        raw_sojourn_ns=sojourn_ns,
        timely_ratio=0.999,
    )


def late(lateness_ns: Mapping[float | None, float], *, stops_allowance: float = 1.0) -> Measured:
    """A run of 20,000 exponential times of 20 µs whose client was late, or stopped."""
    point = Point(
        key="s/sweep/b0/f0.5",
        service="s",
        phase=Phase.SWEEP,
        offered_rps=1e4,
        fraction=0.5,
        measure_s=1.0,
        warmup_s=0.1,
        seed=1,
    )
    run = measured(point, np.random.default_rng(1).exponential(20_000, 20_000))
    return replace(run, lateness_ns=lateness_ns, stops_allowance=stops_allowance)


def three_digits(values_ns: Floats) -> Floats:
    """Rounded as a histogram of three digits keeps them; `inf` stays."""
    scale = 10.0 ** (np.floor(np.log10(np.where(np.isfinite(values_ns), values_ns, 1.0))) - 3)
    return np.asarray(np.round(values_ns / scale) * scale, float)


def finite(value: float | None) -> float | None:
    """As outcomes hold it: None for infinite."""
    return None if value is None or math.isinf(value) else value


_NOTHING: Mapping[Phase, Callable[[Point], Outcome]] = MappingProxyType({})


def run_study(
    study: Study,
    *,
    capacity_rps: float,
    seed: int = 1,
    spread: float = 0.03,
    of_phase: Mapping[Phase, Callable[[Point], Outcome]] = _NOTHING,
) -> StudyData:
    """Plays a whole study against an M/M/1 whose capacity changes with every restart.

    Args:
        study: what is asked; its plan says what is measured.
        capacity_rps: median capacity.
        seed: of capacities and times.
        spread: standard deviation of its logarithm over restarts.
        of_phase: what becomes of the points of some phases, without arrays.
    """
    rng = np.random.default_rng(seed)
    done: list[Measured] = []
    lives: dict[str, float] = {}
    planner = Planner(study, PLANS)
    while point := planner.next([m.outcome for m in done]):
        if made := of_phase.get(point.phase):
            done += [Measured(outcome=made(member)) for member in point.all]
            continue
        for member in point.all:
            life = f"{member.service}/{member.phase}/{member.repeat}"
            if life not in lives:
                lives[life] = capacity_rps * math.exp(spread * rng.standard_normal())
            done.append(_play(study, member, lives[life], rng))
    return StudyData(
        study=study,
        measured=tuple(done),
        workers={s.label: 1 for s in study.services},
        started="2026-01-01T00:00:00Z",
        wall_s=sum(m.outcome.wall_s for m in done),
        questions=PLANS,
    )


def _play(study: Study, point: Point, capacity_rps: float, rng: Generator) -> Measured:
    qos = study.service(point.service).qos
    bound = None if qos is None else qos.bound_ns
    if point.offered_rps is None:
        n = int(capacity_rps * point.measure_s)
        return measured(point, rng.exponential(16e9 / capacity_rps, n), bound_ns=bound)
    n = int(point.offered_rps * point.measure_s)
    rho = point.offered_rps / capacity_rps
    times = mg1(rng, rho, n) * 1e9 / capacity_rps
    return measured(point, times, bound_ns=bound, seconds=int(point.measure_s))


def study_of(
    *services: ServiceSpec, profile: str = "quick", name: str = "latency_vs_load"
) -> Study:
    """A study of these services, without A/A points."""
    return Study(
        name=name,
        question="How does the tail grow with load?",
        run=PROFILES[profile],
        services=services,
        aa=False,
    )


def memcached(*, measure: Sequence[str] = ("sweep", "max_load")) -> ServiceSpec:
    """A service with p99 ≤ 1 ms."""
    return ServiceSpec(kind="memcached", measure=tuple(measure), qos=Qos(q=0.99, bound="1ms"))
