"""Answers for the report's tests: every shape in which "how much load fits" can come out."""

from __future__ import annotations

import math
from dataclasses import replace

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.highest_load import Border, MaxLoad, Scheduled
from sojourn.findings.state import Settle
from sojourn.plan.points import Verdict
from sojourn.stats.interval import Interval

CULPRITS = ("kdamond.0", "dockerd", "kworker/0:1", "rcu_preempt")
SETTLE = Settle(
    command="sojourn run latency_vs_load --profile standard",
    seconds=191.0,
    why="bring the interval to ±7 %",
)


def border(estimate: float, lo: float, hi: float, *, max_rps: float = 52_300.0) -> Border:
    """An interval of 90 % with its curve, a straight fall from 1 to 0 around the estimate."""
    top = hi if math.isfinite(hi) else 2 * estimate
    steps = [estimate * (0.4 + 0.05 * i) for i in range(25)]
    wide = max(top - lo, 0.05 * estimate)
    return Border(
        estimate_rps=estimate,
        interval_rps=Interval(lo=lo, hi=hi),
        level=0.9,
        fraction=Interval(lo=lo / max_rps, hi=hi / max_rps),
        runs=36,
        starts=12,
        measured_s=82.0,
        curve=tuple((rps, min(1.0, max(0.0, 0.5 + (estimate - rps) / wide))) for rps in steps),
    )


def max_load(result: Border | None, *, verdict: Verdict = Verdict.HOLDS) -> MaxLoad:
    """A search that came to this border."""
    return MaxLoad(
        verdict=verdict,
        reasons=(),
        probes=(
            (20_900.0, "pass"),
            (27_200.0, "pass"),
            (35_400.0, "pass"),
            (46_000.0, "fail"),
            (40_400.0, "fail"),
            (37_900.0, "unknown"),
            (37_100.0, "fail"),
        ),
        wall_s=58.0,
        border=result,
        shield="priority",
        stall_s=27.0,
    )


def narrow() -> MaxLoad:
    """Both ends known and near each other."""
    return max_load(border(36_200.0, 35_400.0, 37_100.0))


def wide(max_rps: float) -> MaxLoad:
    """Both ends known and far apart: unknown in name, numbers all the same."""
    result = max_load(
        border(0.7 * max_rps, 0.4 * max_rps, 0.9 * max_rps, max_rps=max_rps),
        verdict=Verdict.UNKNOWN,
    )
    why = "wide interval: 150 effective requests near the border, 200 are needed (M28)"
    return replace(result, reasons=(why,), settle=SETTLE)


def scheduled() -> MaxLoad:
    """The shield makes half as much again."""
    return replace(
        narrow(),
        scheduled=Scheduled(
            border=border(24_100.0, 18_000.0, 30_000.0),
            quantile_ns=(110_000.0, 390_000.0),
            at_rps=36_200.0,
            pairs=4,
            culprits=CULPRITS,
        ),
    )


def variants(base: Findings, service: ServiceFinding) -> dict[str, Findings]:
    """The same service with each shape of answer, by name."""

    def having(result: MaxLoad, verdict: Verdict = Verdict.HOLDS) -> Findings:
        return replace(
            base,
            services=(replace(service.having("max_load", result), verdict=verdict),),
            sections={},
            verdict=verdict,
        )

    unknown = Verdict.UNKNOWN
    return {
        "full": having(narrow()),
        "at least": having(max_load(border(41_000.0, 41_000.0, math.inf)), unknown),
        "at most": having(max_load(border(9_000.0, 0.0, 9_000.0)), unknown),
        "nothing decided": having(max_load(border(20_000.0, 0.0, math.inf)), unknown),
        "wide": having(wide(52_300.0), unknown),
        "scheduled": having(scheduled()),
        "undisturbed": having(replace(narrow(), undisturbed=border(48_000.0, 46_000.0, 50_000.0))),
        "none": having(
            max_load(border(9_000.0, 0.0, 0.0), verdict=Verdict.VIOLATED), Verdict.VIOLATED
        ),
        "no border": having(replace(max_load(None), verdict=unknown), unknown),
    }
