"""What is known of a number at a load, or in a run: the rule for every mark over load or levels.

A believed number has a solid mark with its interval. One that is only bounded from above (`≤`) or
from below (`≥`) has its arrow. Where no run is believed, what they measured is hollow and decides
nothing. Only where nothing was measured there is no more than a tick on the axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from sojourn.analysis import reasons
from sojourn.findings.load_point import LoadPoint, Run
from sojourn.report import show
from sojourn.report.draw import limits
from sojourn.report.draw.lookup import of_point, of_run
from sojourn.report.draw.table import Record
from sojourn.stats.interval import Estimate, Interval

UNSURE = "the sample does not carry it"


class Sort(StrEnum):
    """How much is known of a number."""

    NUMBER = "number"
    AT_MOST = "at most"
    AT_LEAST = "at least"
    ENDLESS = "never completed"
    DOUBTED = "not valid"
    NOTHING = "not measured"


SURE = frozenset({Sort.NUMBER, Sort.AT_MOST})  # the number itself is valid
IN_CURVE = SURE | {Sort.AT_LEAST, Sort.ENDLESS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of one number.

    Attributes:
        ns: where its mark stands; infinite: at the upper edge; None: it has no place.
        least_ns: of an upper bound, what the number is at least without the client's part; of an
            endless one what it is at least, if that is known.
        interval: 95 %, where the number is believed.
        short: why it is no believed number, in three words; "" if it is one.
        reason: the same in full, and what else is to be known.
    """

    sort: Sort
    ns: float | None = None
    least_ns: float | None = None
    interval: Interval | None = None
    short: str = ""
    reason: str = ""

    @property
    def shown(self) -> str:
        """As a cell: `145 µs`, `≤ 145 µs`, `≥ 1.80 ms`, `never`, `(133 µs)`, `–`."""
        if self.ns is None or self.sort is Sort.NOTHING:
            return "–"
        text = show.time(self.ns)
        match self.sort:
            case Sort.AT_MOST:
                return f"≤ {show.time(self.ns, 1)}"
            case Sort.AT_LEAST:
                return f"≥ {show.time(self.ns, -1)}"
            case Sort.DOUBTED:
                return f"({text})"
        return text

    @property
    def label(self) -> str:
        """As a tooltip: the number, and in words what it is."""
        match self.sort:
            case Sort.AT_MOST:
                added = (self.ns or 0.0) - (self.least_ns or 0.0)
                return f"{self.shown}, up to {show.time(added, 1)} of it the client's"
            case Sort.DOUBTED:
                return f"{self.shown} {self.sort}: {self.short}"
            case Sort.AT_LEAST | Sort.NOTHING:
                return f"{self.shown}: {self.short}"
            case Sort.ENDLESS if self.least_ns:
                return f"{self.shown}; at least {show.time(self.least_ns, -1)}"
        return self.shown

    @property
    def row(self) -> Record:
        """The same as fields of a figure's data."""
        return {
            "known": self.sort.value,
            "mark_ns": self.ns,
            "value_ns": self.ns if self.sort in SURE | {Sort.ENDLESS} else None,
            "at_least_ns": self.ns if self.sort is Sort.AT_LEAST else None,
            "least_ns": self.least_ns,
            "lo_ns": self.interval.lo if self.interval else None,
            "hi_ns": self.interval.hi if self.interval else None,
            "not_believed_ns": self.ns if self.sort is Sort.DOUBTED else None,
            "shown": self.label,
            "interval": show.times(self.interval),
            "reason": self.reason,
        }


def of_load(point: LoadPoint, q: float | None) -> Known:
    """What is known of quantile `q` of a load, or of its mean if None."""
    estimate = of_point(point, q)
    why = _sentence(estimate, point)
    if estimate is not None and estimate.value is not None and point.is_believed:
        least = None
        if math.isinf(estimate.value):
            least, sort = limits.of_load(point, q) if q else None, Sort.ENDLESS
        else:
            sort = Sort.AT_MOST if estimate.lateness_ns else Sort.NUMBER
            least = estimate.value - estimate.lateness_ns if estimate.lateness_ns else None
        return Known(
            sort=sort, ns=estimate.value, least_ns=least, interval=estimate.interval, reason=why
        )
    at_least = limits.of_load(point, q) if q else None
    if at_least is not None:
        return Known(sort=Sort.AT_LEAST, ns=at_least, short=_short(estimate, point), reason=why)
    runs = [run for run in point.runs if run.is_believed == point.is_believed]
    return _doubted(runs, q, short=_short(estimate, point), reason=why)


def of_one(run: Run, q: float | None, point: LoadPoint) -> Known:
    """The same of one run of a load; intervals of a run are not drawn.

    Where it has no number it is at least what its load is: a run alone has no bound with a
    confidence, and two kinds of bounds in one picture would contradict each other.
    """
    value, why = of_run(run, q), show.sentences(run.reasons)
    short = reasons.short(run.reasons[0]) if run.reasons else UNSURE
    if not run.is_believed:
        return _doubted([run], q, short=short, reason=why)
    if value is not None:
        late = dict(run.lateness_ns).get(q, 0.0)
        sort = Sort.AT_MOST if late else Sort.NUMBER
        sort = Sort.ENDLESS if math.isinf(value) else sort
        return Known(sort=sort, ns=value, least_ns=value - late if late else None, reason=why)
    at_least = limits.of_load(point, q) if q else None
    if at_least is not None:
        return Known(sort=Sort.AT_LEAST, ns=at_least, short=UNSURE, reason=why)
    return _doubted([run], q, short=short, reason=why)


def _doubted(runs: Sequence[Run], q: float | None, *, short: str, reason: str) -> Known:
    """What runs measured that are not believed, or too short: the middle one."""
    measured = [ns for run in runs if (ns := _measured(run, q)) is not None]
    if not measured:
        return Known(sort=Sort.NOTHING, short=short, reason=reason)
    return Known(sort=Sort.DOUBTED, ns=median(measured), short=short, reason=reason)


def _measured(run: Run, q: float | None) -> float | None:
    """The run's number, or that of its own sample where it says nothing of the next one."""
    value = of_run(run, q)
    return dict(run.sample).get(q) if value is None and q is not None else value


def _short(estimate: Estimate | None, point: LoadPoint) -> str:
    """In three words; of several runs what most of them share, with the span of its amount."""
    if point.is_believed:
        return reasons.short(estimate.refused) if estimate and estimate.refused else UNSURE
    return spanned([run.reasons[0] for run in point.runs if run.reasons]) or UNSURE


def spanned(texts: Sequence[str]) -> str:
    """What most of these reasons are, in three words, with the span of its amount.

    >>> spanned([f"client stopped: for {share} % of the time" for share in (1.26, 7, 2)])
    'client stopped 1.3–7 %'
    >>> spanned(["poll gap: too long", "poll gap: longer"]), spanned([])
    ('client polled late', '')
    """
    topics = [reasons.topic(reason) for reason in texts]
    if not topics:
        return ""
    usual = max(dict.fromkeys(topics), key=topics.count)
    same = [reason for reason in texts if reasons.topic(reason) == usual]
    ordered = sorted(same, key=lambda reason: reasons.share(reason) or 0.0)
    least, most = reasons.short(ordered[0]), reasons.short(ordered[-1])
    if least == most or not most.endswith(" %"):
        return least
    return f"{least.removesuffix(' %')}–{most.rsplit(' ', 2)[1]} %"


def _sentence(estimate: Estimate | None, point: LoadPoint) -> str:
    refused = estimate.refused if estimate else "not measured"
    return show.sentences((refused, *point.reasons) if point.is_believed else point.reasons)
