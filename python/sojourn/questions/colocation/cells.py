"""Cells of co-location: one load of a service, beside one neighbour or alone (L27 to L30, L34).

A cell says whether the service meets its target there, by all of its runs together or, where these
leave it open, by the interval of that load alone; and whether the neighbour loses at most what it
may, by the interval of its pace. It is violated if one of the two surely is, holds if both surely
do, and is unknown else: so is one whose neighbour died or whose generator failed its check.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.findings.findings import Qos
from sojourn.findings.load_point import LoadPoint
from sojourn.findings.neighbour_pace import Kept
from sojourn.plan.points import Verdict
from sojourn.stats.interval import Interval
from sojourn.text.numbers import percent, percentile
from sojourn.units import show_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedCell:
    """One load of the service, beside one neighbour or alone.

    Attributes:
        load: share of its max RPS alone.
        tail_ns: of its target's quantile; infinite where lost requests decide it; None: not known.
        tail: 95 % interval, within runs and over restarts, the wider of the two at each end.
        meets: whether the service meets its target.
        kept: what the neighbour keeps of its pace alone; None: there is none, or it told nothing.
        verdict, why: of both bounds; what speaks against it.
        runs, lost: runs, and those of them that cannot be believed.
    """

    load: float
    offered_rps: float
    tail_ns: float | None
    tail: Interval | None
    meets: Verdict
    kept: Kept | None
    verdict: Verdict
    why: str
    runs: int
    lost: int


def climbed(cells: Sequence[SharedCell]) -> tuple[SharedCell | None, SharedCell | None]:
    """The last of the cells that hold from the lowest load on, and the first that does not."""
    passed: SharedCell | None = None
    for cell in cells:
        if cell.verdict is not Verdict.HOLDS:
            return passed, cell
        passed = cell
    return passed, None


def cell_of(
    point: LoadPoint, qos: Qos, retained: Kept | None, loss_max: float | None
) -> SharedCell:
    """The cell of one load.

    Args:
        point: all runs at that load.
        qos: the target.
        retained: what the neighbour kept there.
        loss_max: of its pace alone, that it may lose; None: the service is alone.
    """
    tail_ns, tail = _tail(point, qos.q)
    lost = sum(not run.is_believed for run in point.runs)
    meets = _meets(point, qos, tail)
    verdict, why = meets, _of_tail(point, qos, tail_ns, tail)
    if loss_max is not None and verdict is not Verdict.VIOLATED:
        keeps, missing = _of_loss(retained, loss_max)
        if Verdict.VIOLATED in (verdict, keeps) or verdict is Verdict.HOLDS:
            verdict, why = keeps, missing
    return SharedCell(
        load=point.fraction,
        offered_rps=point.offered_rps,
        tail_ns=tail_ns,
        tail=tail,
        meets=meets,
        kept=retained if loss_max is not None else None,
        verdict=verdict,
        why="" if verdict is Verdict.HOLDS else why,
        runs=len(point.runs),
        lost=lost,
    )


def _meets(point: LoadPoint, qos: Qos, tail: Interval | None) -> Verdict:
    """By all runs of the service together; what they leave open, by the load's own interval.

    A tail that leaps between two loads is no smooth curve, and the posterior then doubts the last
    load before it, whose own runs leave no doubt.
    """
    if point.verdict is not Verdict.UNKNOWN or not point.is_believed or tail is None:
        return point.verdict
    if tail.hi <= qos.bound_ns:
        return Verdict.HOLDS
    return Verdict.VIOLATED if tail.lo > qos.bound_ns else Verdict.UNKNOWN


def _tail(point: LoadPoint, q: float) -> tuple[float | None, Interval | None]:
    """The quantile, and its interval: what is known within runs and over restarts."""
    result = next((e for e in point.quantiles if e.q is not None and math.isclose(e.q, q)), None)
    if result is None or not point.is_believed:
        return None, None
    ends = [one for one in (result.interval, result.across_restarts) if one is not None]
    if not ends or result.value is None:
        return result.value, ends[0] if ends else None
    lo, hi = min(one.lo for one in ends), max(one.hi for one in ends)
    return result.value, Interval(lo=min(max(lo, 1.0), result.value), hi=max(hi, result.value))


def _of_tail(point: LoadPoint, qos: Qos, tail_ns: float | None, tail: Interval | None) -> str:
    if not point.is_believed or tail_ns is None:
        return "; ".join(point.reasons[:1]) or "its tail is not known"
    text = f"{percentile(qos.q)} {time_in_words(tail_ns, tail)}"
    return f"{text}; {point.reasons[0]}" if point.reasons else text


def _of_loss(retained: Kept | None, loss_max: float) -> tuple[Verdict, str]:
    """Whether the neighbour keeps what it must, and what it keeps in words."""
    if loss_max >= 1:
        return Verdict.HOLDS, ""
    if retained is None or retained.share is None:
        why = retained.reason if retained else "the neighbour reported no progress"
        return Verdict.UNKNOWN, f"what the neighbour keeps is not known: {why}"
    least = 1 - loss_max - 1e-9  # of its pace: a loss of exactly the most that may be fits
    text = f"the neighbour keeps {share_in_words(retained)}, {percent(1 - loss_max)} is the least"
    if retained.interval is None:
        return Verdict.UNKNOWN, f"{text}: {retained.reason}"
    if retained.interval.lo >= least:
        return Verdict.HOLDS, ""
    return (Verdict.VIOLATED if retained.interval.hi < least else Verdict.UNKNOWN), text


def share_in_words(retained: Kept | None) -> str:
    """A share with its interval: `52 % (48 to 55 %)`.

    >>> share_in_words(Kept(neighbour="x", fraction=0.5, share=0.52, interval=Interval(0.48, 0.55)))
    '52 % (48 to 55 %)'
    """
    if retained is None or retained.share is None:
        return "an unknown share"
    ends = retained.interval
    if ends is None:
        return percent(retained.share)
    return (
        f"{percent(retained.share)} ({percent(ends.lo).removesuffix(' %')} to {percent(ends.hi)})"
    )


def time_in_words(ns: float, ends: Interval | None) -> str:
    """A time with its interval; `never` where requests that were lost decide it.

    >>> time_in_words(1.9e6, Interval(1.5e6, 2.2e6))
    '1.90 ms (1.50 to 2.20 ms)'
    """
    value = show_ns(ns) if math.isfinite(ns) else "never (requests were lost)"
    if ends is None or not math.isfinite(ends.lo) or not math.isfinite(ns):
        return value
    lo = show_ns(ends.lo)
    hi = show_ns(ends.hi) if math.isfinite(ends.hi) else "never"
    is_same = hi.split()[-1] == lo.split()[-1]
    return f"{value} ({lo.split()[0] if is_same else lo} to {hi})"
