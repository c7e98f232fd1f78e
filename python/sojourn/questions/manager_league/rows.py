"""One manager at one load: what its runs say together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sojourn.analysis.pace import RUNS_MIN, share_of
from sojourn.findings.measured import Measured
from sojourn.half_width import COVERAGE, student
from sojourn.plan.points import Verdict
from sojourn.questions.manager_league import files
from sojourn.questions.manager_league.files import Managed
from sojourn.stats.interval import Interval

HOUR_S = 3600.0
ALONE_MAX = 0.05  # share of its seconds that a service may violate alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A manager at one load.

    Attributes:
        manager: as the study has it; "none": no one moves a knob.
        is_alone: there is no neighbour.
        load: share of max RPS of the service alone.
        seconds: of a run, on average.
        violated: share of the seconds that are violated, mean over runs; None: not known.
        violated_interval: 95 %, over runs.
        late: share of late requests in all runs.
        work, work_interval: of the neighbour's pace alone; None: not known, or there is none.
        changes_per_h: mean over runs; None: there is no manager.
        changes_range: least and most of a run.
        ended: runs in which the manager ended before the load; why the first one did.
        runs, lost: runs, and those of them that are not valid.
        why: what is missing for an answer; "" if nothing is.
    """

    manager: str
    load: float
    is_alone: bool = False
    is_twin: bool = False
    neighbour: str = ""
    seconds: float = 0.0
    violated: float | None = None
    violated_interval: Interval | None = None
    late: float | None = None
    work: float | None = None
    work_interval: Interval | None = None
    changes_per_h: float | None = None
    changes_range: tuple[float, float] | None = None
    ended: int = 0
    ended_why: str = ""
    runs: int = 0
    lost: int = 0
    why: str = ""

    @property
    def verdict(self) -> Verdict:
        """`holds` if violated seconds and work are known with intervals, else `unknown`."""
        return Verdict.UNKNOWN if self.why else Verdict.HOLDS


def row(
    manager: str, load: float, runs: Sequence[Measured], *, is_alone: bool, is_twin: bool = False
) -> Row:
    """What all runs of one manager at one load say.

    Args:
        manager: as the study has it.
        load: share of max RPS.
        runs: all of them, in order.
        is_alone: the study has no neighbour here.
        is_twin: they are second runs of a block (A/A).
    """
    valid = [one for one in runs if one.outcome.verdict is not Verdict.UNKNOWN]
    pairs = [(one, own) for one in valid if (own := files.of(one)) and own.seconds]
    held_up = [own for _, own in pairs if own.did and own.did.was_held_up]
    pairs = [(one, own) for one, own in pairs if not (own.did and own.did.was_held_up)]
    seen = [own for _, own in pairs]
    paces = [one.pace for one, _ in pairs if one.pace]
    work, work_interval, why_work = share_of(paces) if paces else (None, None, "no progress")
    per_h = [_per_h(one) for one in seen if one.did]
    ended = [one.did.ended for one in seen if one.did and one.did.ended]
    shares = [one.violated / len(one.seconds) for one in seen]
    why = f"{len(seen)} of the {RUNS_MIN} runs that are needed" if len(seen) < RUNS_MIN else ""
    if why and held_up:
        why = f"in {len(held_up)} of {len(runs)} runs the manager itself had no CPU"
    if why:
        work_interval = None  # that of the seconds of a run knows nothing of other runs
    if not why and not is_alone and work_interval is None:
        why = why_work or "the neighbour's pace is not known"
    n = sum(n for one in seen for n, _ in one.seconds)
    return Row(
        manager=manager,
        load=load,
        is_alone=is_alone,
        is_twin=is_twin,
        neighbour=paces[0].called if paces else "",
        seconds=float(np.mean([len(one.seconds) for one in seen])) if seen else 0.0,
        violated=float(np.mean(shares)) if shares else None,
        violated_interval=interval(shares, sum(len(one.seconds) for one in seen)),
        late=sum(late for one in seen for _, late in one.seconds) / n if n else None,
        work=work,
        work_interval=work_interval,
        changes_per_h=float(np.mean(per_h)) if per_h else None,
        changes_range=(min(per_h), max(per_h)) if per_h else None,
        ended=len(ended),
        ended_why=ended[0] if ended else "",
        runs=len(runs),
        lost=len(runs) - len(seen),
        why=why,
    )


def interval(shares: Sequence[float], seconds: int) -> Interval | None:
    """Student's interval of the mean of a share over runs, within 0 to 1; None of too few.

    Runs that are all alike say less than that: at its ends the mean is as far from 0 or 1 as so
    many seconds can tell (the exact binomial limit).

    >>> interval([0.1, 0.2, 0.3], 30)
    Interval(lo=0.0, hi=0.4484...)
    >>> interval([0.0, 0.0, 0.0], 30)
    Interval(lo=0.0, hi=0.1157...)
    >>> interval([0.0, 0.0], 20) is None
    True
    """
    if len(shares) < RUNS_MIN:
        return None
    mean = float(np.mean(shares))
    half = student(len(shares) - 1) * float(np.std(shares, ddof=1)) / math.sqrt(len(shares))
    least = 1 - ((1 - COVERAGE) / 2) ** (1 / max(1, seconds))
    lo, hi = max(0.0, mean - half), min(1.0, mean + half)
    return Interval(lo=min(lo, 1 - least), hi=max(hi, least))


def _per_h(one: Managed) -> float:
    did = one.did
    return did.changes / did.seconds * HOUR_S if did and did.seconds else 0.0


def misses_alone(rows: Sequence[Row]) -> bool:
    """Whether the service surely misses its target without any job: no manager can keep it then."""
    ends = next((one.violated_interval for one in rows if one.is_alone), None)
    return ends is not None and ends.lo > ALONE_MAX


def best(rows: Sequence[Row]) -> Row | None:
    """Of those not surely violated more than the least, the one that leaves most work.

    Nothing less is asked of a manager than of the service alone, which its seconds may reach too.
    None where too little is known, or where the service alone misses its target.
    """
    return max(_fair(rows), key=lambda one: (one.work or 0.0, -(one.violated or 0.0)), default=None)


def rivals(rows: Sequence[Row]) -> list[Row]:
    """The others that may leave as much work as the best, by intervals that overlap."""
    first = best(rows)
    if first is None or first.work_interval is None:
        return []
    others = ((one, one.work_interval) for one in _fair(rows) if one is not first)
    return [one for one, ends in others if ends and ends.hi >= first.work_interval.lo]


def _fair(rows: Sequence[Row]) -> list[Row]:
    """Those that are not surely violated more than the least."""
    known = [one for one in rows if one.verdict is Verdict.HOLDS and not one.is_alone]
    if misses_alone(rows) or not known:
        return []
    least = min(known, key=lambda one: (one.violated or 0.0, -(one.work or 0.0)))
    own = [one.violated_interval.hi for one in rows if one.is_alone and one.violated_interval]
    most = max([least.violated_interval.hi if least.violated_interval else 1.0, *own])
    alike = [one for one in known if one.violated_interval and one.violated_interval.lo <= most]
    return [one for one in alike if (one.violated or 0.0) <= most] or [least]
