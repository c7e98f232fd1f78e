"""Runs, load points and curves: what a figure over load draws.

All times are float ns; `math.inf` where requests that never completed decide the quantile; None
where a number is refused, with the reason beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.plan.points import Verdict
from sojourn.stats.interval import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a point: a dot in every figure.

    Attributes:
        quantiles: (q, ns) pairs; ns None if refused.
        sample: the same of its own requests, however much they depend on each other: what is
            compared with other runs, and says nothing alone. None if fewer than two lie above.
        verdict: `unknown` also where the run is believed but too short to decide.
        series: per second: (s since start, achieved requests/s, p50 ns, p99 ns).
        is_believed: its self-checks passed, so its numbers stand, whatever the verdict.
        lateness_ns: (q, ns) pairs of what the client can have added, as in `Estimate`; q None is
            the mean. Only where it is more than little.
        grows: its queue grew from the first eighth to the last (M8): its times have no level.
        cpu_ns: CPU time of the server for each completed request, ns; None: not counted.
    """

    key: str
    repeat: int
    offered_rps: float
    fraction: float | None
    achieved_rps: float
    mean_ns: float | None
    quantiles: tuple[tuple[float, float | None], ...]
    verdict: Verdict
    reasons: tuple[str, ...]
    timely_ratio: float | None
    outage_share: float | None
    excluded_share: float | None
    steal_share: float | None
    send_lag_p99_ns: float | None
    pick_up_p99_ns: float | None
    errors: tuple[tuple[str, int], ...]
    series: tuple[tuple[float, float, float | None, float | None], ...] = ()
    is_believed: bool = True
    sample: tuple[tuple[float, float | None], ...] = ()
    lateness_ns: tuple[tuple[float | None, float], ...] = ()
    grows: bool = False
    cpu_ns: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPoint:
    """All runs at one load together.

    Attributes:
        verdict: `unknown` if no run at this load can be believed, or if those that can do not
            decide; `is_believed` tells which, and `reasons` why.
        mean, quantiles: over the valid runs' merged histograms.
        is_bimodal: the restarts fall into two groups (M15).
        is_steady: no trend within the runs (M8).
        is_overloaded: none has a level, and in two or more the queue grew: it is more load than is
            served.
        distribution: (share of requests at or below, ns), for the full distribution figure.
        undisturbed: the target's quantile, or p99, of the requests that no stop of the server's
            CPUs reached (M29); None where nobody watched, or nearly all were undisturbed.
        disturbed_share: of the requests, those that such a stop reached, 0 to 1.
        missed: (q, ns) of the target where verdict and own requests say that quantile q is more.
    """

    fraction: float
    offered_rps: float
    achieved_rps: float
    verdict: Verdict
    reasons: tuple[str, ...]
    mean: Estimate
    quantiles: tuple[Estimate, ...]
    is_bimodal: bool
    is_steady: bool
    distribution: tuple[tuple[float, float], ...]
    runs: tuple[Run, ...]
    is_believed: bool = True
    undisturbed: Estimate | None = None
    disturbed_share: float = 0.0
    is_overloaded: bool = False
    missed: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A curve to draw: load as a fraction of max RPS against ns.

    Attributes:
        name: "lowess p99", "M/M/1 mean", …
        about: how it was made, with its source.
    """

    name: str
    about: str
    fraction: tuple[float, ...]
    value_ns: tuple[float, ...]
