"""Loads, runs and lines for the report's tests: seeded, shaped like M/M/1."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from sojourn.findings.load_point import Line, LoadPoint, Run
from sojourn.plan.points import Verdict
from sojourn.stats.interval import Estimate, Interval

LATE = (
    "timely: 91.3 % of requests were sent within 50.0 µs of the moment they were due, 97.5 % must "
    "be; lower the rate (M3)"
)
QS = (0.5, 0.9, 0.95, 0.99, 0.999)


def point(
    rng: Generator, fraction: float, *, max_rps: float, service_ns: float, bound_ns: float
) -> LoadPoint:
    """A load with five restarts. Past 95 % the queue never drains, so cap the idleness."""
    idle = max(1 - fraction, 0.045)
    mean = service_ns / idle
    runs = tuple(
        run(rng, fraction, repeat, max_rps=max_rps, mean=mean, bound_ns=bound_ns)
        for repeat in range(5)
    )
    quantiles = tuple(estimate(q, exponential(q, mean), 0.05 * exponential(q, mean)) for q in QS)
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
        verdict=verdict(quantiles[3].value, bound_ns),
        reasons=(),
        mean=estimate(None, mean, 0.03 * mean),
        quantiles=quantiles,
        is_bimodal=False,
        is_steady=True,
        distribution=tuple((float(q), exponential(float(q), mean)) for q in grid),
        runs=runs,
    )


def run(
    rng: Generator, fraction: float, repeat: int, *, max_rps: float, mean: float, bound_ns: float
) -> Run:
    """One restart with a speed of its own, and its six seconds."""
    own = mean * math.exp(0.06 * rng.standard_normal())
    tail = exponential(0.99, own)
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
        quantiles=tuple((q, exponential(q, own)) for q in QS),
        verdict=verdict(tail, bound_ns),
        reasons=(),
        timely_ratio=1 - 0.02 * float(rng.random()),
        outage_share=0.004 * float(rng.random()),
        excluded_share=0.005 * float(rng.random()),
        steal_share=0.03 * float(rng.random()),
        send_lag_p99_ns=9_000 * float(noise[0, 0]),
        pick_up_p99_ns=4_000 * float(noise[1, 0]),
        errors=(("timed_out", 3),) if fraction > 0.95 else (),
        series=tuple(
            (float(s), float(achieved * (0.99 + 0.01 * n)), float(0.7 * own * m), float(tail * p))
            for s, n, m, p in zip(seconds, *noise, strict=True)
        ),
    )


def unknown(point: LoadPoint) -> LoadPoint:
    """The same load, but the client was late in every run."""
    runs = tuple(
        replace(
            run, verdict=Verdict.UNKNOWN, reasons=(LATE,), timely_ratio=0.913, is_believed=False
        )
        for run in point.runs
    )
    why = "no run at this load is valid"
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


def refused(point: LoadPoint) -> LoadPoint:
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
        runs=tuple(
            replace(run, quantiles=tuple((q, None if q > 0.97 else ns) for q, ns in run.quantiles))
            for run in point.runs
        ),
    )


def undecided(point: LoadPoint) -> LoadPoint:
    """The same load, sound but too short to decide; its numbers stand."""
    why = "undecided: 14 of 1,510 requests over the bound, needs more to decide (M12)"
    runs = tuple(replace(run, verdict=Verdict.UNKNOWN, reasons=(why,)) for run in point.runs)
    return replace(point, runs=runs, verdict=Verdict.UNKNOWN, reasons=(why,))


def lost(point: LoadPoint) -> LoadPoint:
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


def estimate(q: float | None, value: float, half: float) -> Estimate:
    """A number with its intervals, the outer one broader."""
    return Estimate(
        q=q,
        value=value,
        interval=Interval(lo=value - half, hi=value + half),
        across_restarts=Interval(lo=value - 1.6 * half, hi=value + 1.6 * half),
        requests=52_300,
        effective=18_000.0,
    )


def exponential(q: float, mean: float) -> float:
    """The q-quantile of an exponential time (L5); never below 2 % of the mean."""
    return max(mean * math.log(1 / (1 - q)), 0.02 * mean)


def verdict(tail_ns: float | None, bound_ns: float) -> Verdict:
    """Whether a tail meets the bound; one without a number does not."""
    return Verdict.HOLDS if tail_ns is not None and tail_ns <= bound_ns else Verdict.VIOLATED


def lines(service_ns: float) -> tuple[Line, ...]:
    """Smoothed and ideal curves of p99 and mean."""
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
