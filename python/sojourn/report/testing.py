"""Findings for the report's tests: seeded, shaped like M/M/1, with all that can go wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sojourn import testing_questions
from sojourn.findings.findings import Findings, Qos, ServiceFinding
from sojourn.findings.load_point import Run
from sojourn.findings.section import Section
from sojourn.plan.points import Verdict, worst
from sojourn.report import testing_answers
from sojourn.report import testing_points as points_of
from sojourn.stats.interval import Interval

LATE = points_of.LATE
FRACTIONS = tuple(round(0.1 * i, 1) for i in range(1, 11))


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
        sections={"check": checked(checks())},
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
        points_of.point(rng, fraction, max_rps=52_300.0, service_ns=55_000.0, bound_ns=1e6)
        for fraction in FRACTIONS
    )
    points = (
        *points[:4],
        replace(points[4], is_bimodal=True),
        *points[5:8],
        points_of.unknown(points[8]),
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
        lines=points_of.lines(55_000.0),
        crossing=Interval(lo=0.69, hi=0.75),
        sections={"max_load": testing_answers.narrow()},
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


def four_starts(times: Callable[[int], float]) -> Findings:
    """Memcached at one load, measured in four starts.

    Args:
        times: of a start's number, by which its times and CPU time are multiplied.
    """

    def run(of: Run, repeat: int) -> Run:
        own = times(repeat)
        sample = tuple((q, ns and ns * own) for q, ns in of.quantiles)
        return replace(of, repeat=repeat, mean_ns=1e5 * own, sample=sample, cpu_ns=1e4 * own)

    service = memcached()
    point = service.points[2]
    runs = tuple(run(point.runs[0], repeat) for repeat in range(4))
    point = replace(point, runs=runs, is_overloaded=False)
    return replace(findings(), services=(replace(service, points=(point,)),))


def nginx() -> ServiceFinding:
    """A service whose search was not decided, overloaded at the end: its tail never completes."""
    rng = np.random.default_rng(11)
    points = [
        points_of.point(rng, f, max_rps=18_900.0, service_ns=190_000.0, bound_ns=20e6)
        for f in FRACTIONS
    ]
    points[5], points[8] = points_of.unknown(points[5]), points_of.unknown(points[8])
    points[6] = points_of.refused(points[6])
    points[7] = points_of.undecided(points[7])
    points[9] = points_of.lost(points[9])
    return ServiceFinding(
        service="nginx",
        kind="nginx",
        qos=Qos(q=0.99, bound_ns=20e6, rule="given by the study (PAPERS C4)"),
        max_rps=18_900.0,
        max_rps_interval=None,
        max_rps_rule="achieved_peak",
        points=tuple(points),
        lines=points_of.lines(190_000.0),
        crossing=None,
        sections={"max_load": testing_answers.wide(18_900.0)},
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
        points_of.point(rng, f, max_rps=50_000.0, service_ns=9_000.0, bound_ns=1e9)
        for f in (0.2, 0.5, 0.9)
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
        paper=(),
        setup=(),
        answer="The instrument itself costs: mean 11.2 µs, p99 51.8 µs at 10.0k requests/s.",
        verdict=Verdict.HOLDS,
        reasons=(),
    )


def checked(rows: tuple[Any, ...]) -> Section:
    """These rows as the section of a study."""
    kind = testing_questions.section_type("check", "Checks")
    section: Section = kind(rows=rows, verdict=worst([row.verdict for row in rows]))
    return section


def checks() -> tuple[Any, ...]:
    """M/M/1, M/D/1 and M/M/2 against theory; one row is unknown, one refused."""
    row = testing_questions.section_type("check", "CheckRow")
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
                    row(
                        system=system,
                        rho=rho,
                        quantity="mean" if q is None else f"p{100 * q:.0f}",
                        theory_ns=theory,
                        estimate=points_of.estimate(q, value, half),
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
        return replace(base, services=(changed,), sections={})

    infinite = tuple(points_of.lost(point) for point in service.points)
    bare = replace(
        service, points=(), lines=(), qos=None, sections={}, crossing=None, paper=(), setup=()
    )
    return {
        "single service": only(service),
        "no services": replace(base, services=(), sections={}),
        "no points": only(bare),
        "all unknown": only(
            replace(service, points=tuple(points_of.unknown(p) for p in service.points))
        ),
        "one point": only(replace(service, points=service.points[:1], lines=())),
        "infinite quantiles": only(replace(service, points=infinite)),
        "no max rps": only(replace(service, max_rps=None, max_rps_interval=None)),
        "no qos": only(replace(service, qos=None, sections={}, crossing=None)),
        "no runs": only(replace(service, points=tuple(replace(p, runs=()) for p in infinite))),
        "null service": only(null()),
        "search alone": only(replace(service, points=(), lines=(), crossing=None)),
    }


def answers() -> dict[str, Findings]:
    """The same service with every shape of answer, by name."""
    return testing_answers.variants(findings(), memcached())
