"""The highest load within the QoS target, from the rounds of the search and their confirmation.

The plan finds the border; this asks how far it can be trusted. Three things go into the interval,
which is meant to be met by the next search of the same kind, minutes later:

- the hull of the rounds' brackets, each from a fresh start of the service (`plan.rounds`), down to
  the load that was confirmed. With few rounds its coverage is low: three give 75 %.
- so Student's interval of the rounds' borders, on the logarithm, at 95 %, joins it;
- and the load at which a monotone fit to the misses of all probes crosses the target's share (M18).
  A search that met a contradiction (a pass above a fail) shows it as width.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from scipy import stats
from scipy.optimize import isotonic_regression

from sojourn.analysis.findings import Interval, MaxLoad
from sojourn.analysis.method import Method
from sojourn.plan.decide import Decision
from sojourn.plan.points import Outcome, Phase, Verdict
from sojourn.plan.search import Search
from sojourn.units import show_count

METHOD = Method(
    name="max_load",
    about="the highest load within the QoS target, as an interval that the next search meets",
    ids=("M12", "M18"),
    source="Barlow et al., Statistical Inference under Order Restrictions (1972)",
)

STUDENT_NEEDS = 3


def judge(search: Search, outcomes: Sequence[Outcome], q: float, max_rps: float | None) -> MaxLoad:
    """What the search found.

    Args:
        search: as the plan sees it after all outcomes.
        outcomes: of this service.
        q: quantile of the target; a share 1 − q of the requests may exceed the bound.
        max_rps: requests/s at 100 % load; None: unknown.
    """
    probes = [o for o in outcomes if o.point.phase in (Phase.SEARCH, Phase.CONFIRM)]
    found = search.interval_rps
    interval = None if found is None else Interval(lo=found[0], hi=found[1])
    notes = list(search.reasons)
    if interval is not None and interval.lo > 0:
        interval, why = _widen(interval, search, probes, q)
        notes += why
    elif search.next is not None:
        notes.append("the search was not finished: run the study again, it resumes")
    confirmed = search.confirmation is not None and search.confirmation.is_confirmed
    return MaxLoad(
        verdict=search.verdict,
        reasons=tuple(notes),
        interval_rps=interval,
        fraction=None if not interval or not max_rps else _share(interval, max_rps),
        confirmed=confirmed,
        probes=tuple((rps, str(said)) for rps, said, _ in search.probes)
        + tuple((rps, str(said)) for rps, _, said in _confirmations(search)),
        wall_s=sum(o.wall_s for o in probes),
    )


def _confirmations(search: Search) -> tuple[tuple[float, int, Decision], ...]:
    return search.confirmation.runs if search.confirmation else ()


def _widen(
    interval: Interval, search: Search, probes: Sequence[Outcome], q: float
) -> tuple[Interval, list[str]]:
    """The interval with what restart spread and contradictions add, and what was added."""
    lo, hi, notes = interval.lo, interval.hi, []
    middles = [middle for r in search.rounds if (middle := r.middle) is not None]
    student = spread(middles)
    if student is None:
        notes.append(
            f"{len(middles)} round(s) of the search cannot show how restarts differ: "
            "the interval is that of the probes alone"
        )
    else:
        lo, hi = min(lo, student.lo), max(hi, student.hi)
    crossing = isotonic_crossing(probes, q)
    if crossing is not None and not lo <= crossing <= hi:
        notes.append(
            f"probes contradict each other: all together put the border at "
            f"{show_count(crossing)} requests/s"
        )
        lo, hi = min(lo, crossing), max(hi, crossing)
    return Interval(lo=lo, hi=hi), notes


def spread(borders_rps: Sequence[float], *, confidence: float = 0.95) -> Interval | None:
    """Student's interval of the borders' geometric mean; None with fewer than three rounds."""
    if len(borders_rps) < STUDENT_NEEDS:
        return None
    logs = np.log(np.asarray(borders_rps, float))
    error = float(logs.std(ddof=1)) / math.sqrt(len(logs))
    half = float(stats.t.ppf((1 + confidence) / 2, len(logs) - 1)) * error
    middle = float(logs.mean())
    return Interval(lo=math.exp(middle - half), hi=math.exp(middle + half))


def isotonic_crossing(probes: Sequence[Outcome], q: float) -> float | None:
    """Load at which the monotone fit of the share of misses passes 1 − q; None if it does not.

    Shares are weighted by effective requests. Between two loads the crossing is put at their
    geometric middle: the fit is a staircase and says no more.
    """
    loads: dict[float, list[tuple[float, float]]] = defaultdict(list)
    for o in probes:
        if o.verdict is not Verdict.UNKNOWN and o.over_bound is not None and o.requests:
            weight = max(1.0, o.correlation)
            loads[o.offered_rps].append((o.requests / weight, o.over_bound / weight))
    if len(loads) < 2:
        return None
    x = np.array(sorted(loads))
    n = np.array([sum(size for size, _ in loads[rps]) for rps in x])
    missed = np.array([sum(over for _, over in loads[rps]) for rps in x])
    fit = isotonic_regression(missed / n, weights=n).x
    above = np.flatnonzero(fit > 1 - q)
    if above.size == 0 or above[0] == 0:
        return None
    return math.sqrt(float(x[above[0] - 1] * x[above[0]]))


def _share(interval: Interval, max_rps: float) -> Interval:
    return Interval(lo=interval.lo / max_rps, hi=interval.hi / max_rps)
