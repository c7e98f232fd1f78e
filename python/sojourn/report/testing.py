"""Findings for the report's tests: seeded, shaped like M/M/1, with all that can go wrong."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from sojourn.analysis.findings import (
    CheckRow,
    Estimate,
    Findings,
    Interval,
    Line,
    LoadPoint,
    Qos,
    Run,
    ServiceFinding,
)
from sojourn.plan.points import Verdict
from sojourn.report import testing_answers

LATE = "timely ratio 0.913 < 0.975: the client could not send on time (M3)"
FRACTIONS = tuple(round(0.1 * i, 1) for i in range(1, 11))
QS = (0.5, 0.9, 0.95, 0.99, 0.999)


def findings() -> Findings:
    """Two services, a refused quantile, unknown points, a lost tail, and a selfcheck."""
    return Findings(
        study="latency_vs_load",
        question="How do mean and tail sojourn time grow with offered load?",
        answer=(
            "memcached ≈ 36.2k requests/s (35.4k–37.1k, 90 %) with p99 ≤ 1 ms; "
            "nginx ≈ 13.2k requests/s (7.56k–17.0k, 90 %) with p99 ≤ 20.0 ms, not narrow enough."
        ),
        verdict=Verdict.UNKNOWN,
        reasons=("nginx: 2 of 10 loads are unknown",),
        started="2026-01-31T14:03:22Z",
        wall_s=171.0,
        services=(memcached(), nginx()),
        checks=checks(),
        environment={
            "kernel": {"release": "6.1.0-18-amd64", "cmdline": "quiet mitigations=auto"},
            "cpu": {"model": "Example CPU @ 2.20 GHz", "logical": 2, "smt": False},
            "cpufreq": {"driver": None, "governor": "unknown: not readable in this guest"},
            "tools": ["memcached 1.6.18", "nginx 1.22.1", "sojourn 0.1.0"],
        },
        noise=(
            ("steal: 3.1 % of CPU time went to other guests", "use a dedicated host"),
            ("2 CPUs: server and client leave none for the rest", "use 4 CPUs or more"),
        ),
        study_file='name = "latency_vs_load"\n\n[[services]]\nkind = "memcached"  # <as is>\n',
        command="sojourn run latency_vs_load --profile quick --seed 7",
    )


def memcached() -> ServiceFinding:
    """A service with an answer; one load's p99.9 is refused, one load is bimodal, one unknown."""
    rng = np.random.default_rng(7)
    points = tuple(
        _point(rng, fraction, max_rps=52_300.0, service_ns=55_000.0, bound_ns=1e6)
        for fraction in FRACTIONS
    )
    points = (
        *points[:4],
        replace(points[4], is_bimodal=True),
        *points[5:8],
        _unknown(points[8]),
        replace(points[9], is_steady=False, reasons=("p99 grows during the run (M8)",)),
    )
    return ServiceFinding(
        service="memcached",
        kind="memcached",
        qos=Qos(q=0.99, bound_ns=1e6, rule="given by the study (PAPERS C4)"),
        max_rps=52_300.0,
        max_rps_interval=Interval(lo=51_700.0, hi=52_900.0),
        max_rps_rule="achieved_peak",
        points=points,
        lines=_lines(55_000.0),
        crossing=Interval(lo=0.69, hi=0.75),
        max_load=testing_answers.narrow(),
        paper=(("max load within QoS, share of max RPS", "≈70 %", "68–71 %", "C7"),),
        setup=(
            ("version", "1.6.18"),
            ("threads", "1 (paper: 7), pinned to CPU 0"),
            ("items", "640,000 of 200 B (paper: 6.4 M; scaled to 2 GiB of memory)"),
        ),
        answer="memcached keeps p99 ≤ 1 ms up to ≈ 36.2k requests/s (35.4k–37.1k, 90 %).",
        verdict=Verdict.HOLDS,
        reasons=(),
    )


def nginx() -> ServiceFinding:
    """A service whose search was not decided, overloaded at the end: its tail never completes."""
    rng = np.random.default_rng(11)
    points = [
        _point(rng, f, max_rps=18_900.0, service_ns=190_000.0, bound_ns=20e6) for f in FRACTIONS
    ]
    points[5], points[8] = _unknown(points[5]), _unknown(points[8])
    points[6] = _refused(points[6])
    points[7] = _undecided(points[7])
    points[9] = _lost(points[9])
    return ServiceFinding(
        service="nginx",
        kind="nginx",
        qos=Qos(q=0.99, bound_ns=20e6, rule="given by the study (PAPERS C4)"),
        max_rps=18_900.0,
        max_rps_interval=None,
        max_rps_rule="achieved_peak",
        points=tuple(points),
        lines=_lines(190_000.0),
        crossing=None,
        max_load=testing_answers.wide(18_900.0),
        paper=(("max load within QoS, share of max RPS", "≈80 %", "40–90 %", "C7"),),
        setup=(("version", "1.22.1"), ("workers", "1 (paper: 7)")),
        answer="nginx keeps p99 ≤ 20.0 ms up to ≈ 13.2k requests/s (7.56k–17.0k, 90 %).",
        verdict=Verdict.UNKNOWN,
        reasons=("wide interval: 150 effective requests near the border, 200 are needed (M28)",),
    )


def null() -> ServiceFinding:
    """A service that answers at once: what the instrument itself costs."""
    rng = np.random.default_rng(5)
    points = tuple(
        _point(rng, f, max_rps=50_000.0, service_ns=9_000.0, bound_ns=1e9) for f in (0.2, 0.5, 0.9)
    )
    return ServiceFinding(
        service="null",
        kind="synthetic",
        qos=None,
        max_rps=50_000.0,
        max_rps_interval=None,
        max_rps_rule="highest_asked",
        points=points,
        lines=(),
        crossing=None,
        max_load=None,
        paper=(),
        setup=(),
        answer="The instrument itself costs: mean 11.2 µs, p99 51.8 µs at 10.0k requests/s.",
        verdict=Verdict.HOLDS,
        reasons=(),
    )


def checks() -> tuple[CheckRow, ...]:
    """M/M/1, M/D/1 and M/M/2 against theory; one row is unknown, one refused."""
    rng = np.random.default_rng(3)
    rows = []
    for system, scale in (("M/M/1", 1.0), ("M/D/1", 0.55), ("M/M/2", 0.5)):
        for rho in (0.5, 0.7, 0.8, 0.9):
            for q in (None, 0.95, 0.99):
                tail = 1.0 if q is None else math.log(1 / (1 - q))
                theory = scale * tail * 100_000.0 / (1 - rho)
                value = theory * (1 + 0.02 * rng.standard_normal())
                half = 0.045 * value
                agrees = abs(value - theory) <= half
                rows.append(
                    CheckRow(
                        system=system,
                        rho=rho,
                        quantity="mean" if q is None else f"p{100 * q:.0f}",
                        theory_ns=theory,
                        estimate=_estimate(q, value, half),
                        verdict=Verdict.HOLDS if agrees else Verdict.VIOLATED,
                        reasons=() if agrees else ("theory lies outside the interval",),
                    )
                )
    rows[4] = replace(rows[4], verdict=Verdict.UNKNOWN, reasons=(LATE,))
    refused = replace(
        rows[8].estimate, value=None, interval=None, refused="410 requests, needs 563"
    )
    rows[8] = replace(rows[8], estimate=refused, verdict=Verdict.UNKNOWN, reasons=("p99 refused",))
    return tuple(rows)


def degenerate() -> dict[str, Findings]:
    """Findings with little or nothing in them, by name."""
    base = findings()
    service = memcached()

    def only(changed: ServiceFinding) -> Findings:
        return replace(base, services=(changed,), checks=())

    infinite = tuple(_lost(point) for point in service.points)
    bare = replace(
        service, points=(), lines=(), qos=None, max_load=None, crossing=None, paper=(), setup=()
    )
    return {
        "single service": only(service),
        "no services": replace(base, services=(), checks=()),
        "no points": only(bare),
        "all unknown": only(replace(service, points=tuple(_unknown(p) for p in service.points))),
        "one point": only(replace(service, points=service.points[:1], lines=())),
        "infinite quantiles": only(replace(service, points=infinite)),
        "no max rps": only(replace(service, max_rps=None, max_rps_interval=None)),
        "no qos": only(replace(service, qos=None, max_load=None, crossing=None)),
        "no runs": only(replace(service, points=tuple(replace(p, runs=()) for p in infinite))),
        "null service": only(null()),
        "search alone": only(replace(service, points=(), lines=(), crossing=None)),
    }


def answers() -> dict[str, Findings]:
    """The same service with every shape of answer, by name."""
    return testing_answers.variants(findings(), memcached())


def _point(
    rng: Generator, fraction: float, *, max_rps: float, service_ns: float, bound_ns: float
) -> LoadPoint:
    """A load with five restarts. Past 95 % the queue never drains, so cap the idleness."""
    idle = max(1 - fraction, 0.045)
    mean = service_ns / idle
    runs = tuple(
        _run(rng, fraction, repeat, max_rps=max_rps, mean=mean, bound_ns=bound_ns)
        for repeat in range(5)
    )
    quantiles = tuple(_estimate(q, _exponential(q, mean), 0.05 * _exponential(q, mean)) for q in QS)
    if fraction <= 0.1:
        refused = replace(
            quantiles[-1], value=None, interval=None, refused="5,230 requests, needs 5,661 (M10)"
        )
        quantiles = (*quantiles[:-1], refused)
    grid = 1 - np.logspace(0, -4, 60)
    return LoadPoint(
        fraction=fraction,
        offered_rps=fraction * max_rps,
        achieved_rps=float(np.mean([run.achieved_rps for run in runs])),
        verdict=_verdict(quantiles[3].value, bound_ns),
        reasons=(),
        mean=_estimate(None, mean, 0.03 * mean),
        quantiles=quantiles,
        is_bimodal=False,
        is_steady=True,
        distribution=tuple((float(q), _exponential(float(q), mean)) for q in grid),
        runs=runs,
    )


def _run(
    rng: Generator, fraction: float, repeat: int, *, max_rps: float, mean: float, bound_ns: float
) -> Run:
    own = mean * math.exp(0.06 * rng.standard_normal())
    tail = _exponential(0.99, own)
    seconds = np.arange(6.0)
    noise = np.exp(0.1 * rng.standard_normal((3, len(seconds))))
    achieved = min(fraction, 0.985) * max_rps
    return Run(
        key=f"memcached/sweep/b{repeat}/f{fraction:.2f}",
        repeat=repeat,
        offered_rps=fraction * max_rps,
        fraction=fraction,
        achieved_rps=achieved * (1 + 0.002 * float(rng.standard_normal())),
        mean_ns=own,
        quantiles=tuple((q, _exponential(q, own)) for q in QS),
        verdict=_verdict(tail, bound_ns),
        reasons=(),
        timely_ratio=1 - 0.02 * float(rng.random()),
        outage_share=0.004 * float(rng.random()),
        excluded_share=0.005 * float(rng.random()),
        steal_share=0.03 * float(rng.random()),
        send_lag_p99_ns=9_000 * float(noise[0, 0]),
        pick_up_p99_ns=4_000 * float(noise[1, 0]),
        errors=(("timeout", 3),) if fraction > 0.95 else (),
        series=tuple(
            (float(s), float(achieved * (0.99 + 0.01 * n)), float(0.7 * own * m), float(tail * p))
            for s, n, m, p in zip(seconds, *noise, strict=True)
        ),
    )


def _unknown(point: LoadPoint) -> LoadPoint:
    """The same load, but the client was late in every run."""
    runs = tuple(
        replace(
            run, verdict=Verdict.UNKNOWN, reasons=(LATE,), timely_ratio=0.913, is_believed=False
        )
        for run in point.runs
    )
    why = "no run at this load can be believed"
    return replace(
        point,
        is_believed=False,
        distribution=(),
        runs=runs,
        verdict=Verdict.UNKNOWN,
        reasons=(LATE,),
        mean=replace(point.mean, value=None, interval=None, across_restarts=None, refused=why),
        quantiles=tuple(
            replace(e, value=None, interval=None, across_restarts=None, refused=why)
            for e in point.quantiles
        ),
    )


def _refused(point: LoadPoint) -> LoadPoint:
    """The same load, too short for its p99: a lower limit is all that is known."""
    why = "150 effective requests, needs 200 (M10)"
    return replace(
        point,
        quantiles=tuple(
            replace(e, value=None, interval=None, across_restarts=None, refused=why)
            if (e.q or 0) > 0.97
            else e
            for e in point.quantiles
        ),
    )


def _undecided(point: LoadPoint) -> LoadPoint:
    """The same load, sound but too short to decide; its numbers stand."""
    why = "undecided: 14 of 1,510 requests over the bound, needs more to decide (M12)"
    runs = tuple(replace(run, verdict=Verdict.UNKNOWN, reasons=(why,)) for run in point.runs)
    return replace(point, runs=runs, verdict=Verdict.UNKNOWN, reasons=(why,))


def _lost(point: LoadPoint) -> LoadPoint:
    """The same load, but so many requests were lost that the tail is infinite."""
    endless = Interval(lo=math.inf, hi=math.inf)
    return replace(
        point,
        verdict=Verdict.VIOLATED,
        reasons=("2.1 % of the requests never completed",),
        mean=replace(point.mean, value=math.inf, interval=endless, across_restarts=None),
        quantiles=tuple(
            replace(e, value=math.inf, interval=endless, across_restarts=None)
            if (e.q or 0) > 0.97
            else e
            for e in point.quantiles
        ),
        distribution=tuple((s, ns if s < 0.979 else math.inf) for s, ns in point.distribution),
        runs=tuple(
            replace(
                run,
                verdict=Verdict.VIOLATED,
                mean_ns=math.inf,
                quantiles=tuple((q, math.inf if q > 0.97 else ns) for q, ns in run.quantiles),
            )
            for run in point.runs
        ),
    )


def _estimate(q: float | None, value: float, half: float) -> Estimate:
    return Estimate(
        q=q,
        value=value,
        interval=Interval(lo=value - half, hi=value + half),
        across_restarts=Interval(lo=value - 1.6 * half, hi=value + 1.6 * half),
        requests=52_300,
        effective=18_000.0,
    )


def _exponential(q: float, mean: float) -> float:
    """The q-quantile of an exponential time (L5); never below 2 % of the mean."""
    return max(mean * math.log(1 / (1 - q)), 0.02 * mean)


def _verdict(tail_ns: float | None, bound_ns: float) -> Verdict:
    return Verdict.HOLDS if tail_ns is not None and tail_ns <= bound_ns else Verdict.VIOLATED


def _lines(service_ns: float) -> tuple[Line, ...]:
    fraction = tuple(0.1 + 0.01 * i for i in range(91))
    mean = tuple(service_ns / max(1 - f, 0.045) for f in fraction)
    ideal = 0.8 * service_ns
    theory = tuple(ideal / (1 - f) if f < 1 else math.inf for f in fraction)
    tail = math.log(100)
    return (
        Line(
            name="lowess p99",
            about="LOWESS of the runs' p99, span 0.6, one robust pass (METHOD M18)",
            fraction=fraction,
            value_ns=tuple(tail * v for v in mean),
        ),
        Line(
            name="lowess mean",
            about="LOWESS of the runs' means, span 0.6, one robust pass (METHOD M18)",
            fraction=fraction,
            value_ns=mean,
        ),
        Line(
            name="M/M/1 p99",
            about="ideal queue with the same capacity (PAPERS L5)",
            fraction=fraction,
            value_ns=tuple(tail * v for v in theory),
        ),
        Line(
            name="M/M/1 mean",
            about="ideal queue with the same capacity (PAPERS L5)",
            fraction=fraction,
            value_ns=theory,
        ),
    )
