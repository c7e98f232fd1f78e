"""Records of one study in order of time: series of numbers, and their steps.

The unit is a record. A number of a record is the geometric mean over restarts of the service, with
Student's interval of the logarithms; a highest load with an open end is no number, and makes a gap.
Where no load fits it is 0: a gap there would hide the change that matters most.
All series of a history are one family: a change is reported once its evidence suffices together
with any set of the others (`change_points.adjusted`). After a change the series begins anew with
the next record.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sojourn.analysis.border_rows import MAX_LOAD
from sojourn.analysis.comparison import (
    CPU,
    MEAN,
    QUANTILES,
    geometric_mean,
    load_name,
    values,
)
from sojourn.analysis.equal_loads import ASKED, EQUAL
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.highest_load import MaxLoad, is_closed
from sojourn.half_width import student
from sojourn.stats import change_points, restarts
from sojourn.stats.interval import Interval
from sojourn.stats.paired_ratio import Judgement
from sojourn.stats.symmetry_bets import VARIANCE_LEAST
from sojourn.stats.times import Floats
from sojourn.text.numbers import percentile

NUMBERS = ("mean", "p50", "p99", "p999", "cpu", "max")
_QUANTILES = dict(zip(("p50", "p99", "p999"), QUANTILES, strict=True))
_CALLED = {"mean": MEAN, "cpu": CPU, "max": MAX_LOAD} | {
    name: percentile(q) for name, q in _QUANTILES.items()
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One record, as a place in time.

    Attributes:
        name: of its folder, or of the row.
        started: UTC, ISO 8601; "" if not known.
        commit, label: texts from CI, made by strangers; "" if not known.
        version: of the lab that wrote it.
    """

    name: str
    started: str = ""
    commit: str = ""
    label: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A number of one record: ns, requests/s, or what a table holds; may be `inf`."""

    value: float
    interval: Interval | None = None
    restarts: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A step of one series.

    Attributes:
        since: place of the first record after it, most likely.
        seen: place of the record at which the evidence sufficed.
        before, after: medians of the records on either side.
        ratio: of these; `inf` where the numbers have no end.
        judgement: worse, better, or open where the table does not say which is which.
        evidence: capital at that time; 1/alpha was needed.
    """

    since: int
    seen: int
    before: float
    after: float
    ratio: float
    judgement: Judgement
    evidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One number in all records.

    Attributes:
        service: how people call it; "" of a table.
        load: "70 % load"; "" of a number that is about all loads.
        number: "p99", …
        unit: "ns", "requests/s", or "" where it is not known.
        values: of each record; None where a record has none.
        changes: in the order of time.
    """

    service: str
    load: str
    number: str
    unit: str
    values: tuple[Value | None, ...]
    changes: tuple[Change, ...] = ()

    @property
    def name(self) -> str:
        """`memcached p99 at 70 % load`."""
        at = f" at {self.load}" if self.load else ""
        return f"{self.service} {self.number}{at}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All of it.

    Attributes:
        study: its name.
        machine: on which all records were made; "" of a table.
        entries: oldest first.
        series: in the order of services, loads and numbers.
        skipped: (record, why) that are not in it.
        alpha: chance that a history without a change ever has one reported.
        axes: (service, least and greatest max RPS of the records) where 100 % load is not the same
            in all: then one share is several loads.
    """

    study: str
    machine: str
    entries: tuple[Entry, ...]
    series: tuple[Series, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    alpha: float = 0.05
    axes: tuple[tuple[str, float, float], ...] = ()


def series_of(records: Sequence[Findings], numbers: Sequence[str]) -> list[Series]:
    """A series for each service, load and number that any record has.

    Args:
        records: what each found, oldest first.
        numbers: of `NUMBERS`.
    """
    places: dict[tuple[str, str, str], dict[int, Value]] = {}
    for at, one in enumerate(records):
        for service in one.services:
            for load, number, value in _values(service, numbers):
                places.setdefault((service.service, load, number), {})[at] = value
    return [
        Series(
            service=service,
            load=load,
            number=number,
            unit="requests/s" if number == MAX_LOAD else "ns",
            values=tuple(known.get(at) for at in range(len(records))),
        )
        for (service, load, number), known in places.items()
    ]


def axes_of(records: Sequence[Findings]) -> tuple[tuple[str, float, float], ...]:
    """Services whose max RPS is not the same in all records, with the least and the greatest."""
    known: dict[str, list[float]] = {}
    for one in records:
        for service in one.services:
            if service.max_rps and service.max_rps_rule != ASKED:
                known.setdefault(service.service, []).append(service.max_rps)
    return tuple(
        (label, min(each), max(each))
        for label, each in known.items()
        if max(each) > (1 + EQUAL) * min(each)
    )


def _values(service: ServiceFinding, numbers: Sequence[str]) -> Iterator[tuple[str, str, Value]]:
    """(load, number, value) of one record's service."""
    for point in service.points:
        for name in numbers:
            if name != "max":
                of_restarts = values(point, _CALLED[name], _QUANTILES.get(name))
                if (value := geometric_mean(of_restarts)) is not None:
                    ends = _interval(of_restarts)
                    one = Value(value=value, interval=ends, restarts=len(of_restarts))
                    yield load_name(service, point), _CALLED[name], one
    border = most.border if (most := service.section(MaxLoad)) else None
    if "max" in numbers and border is not None:
        if is_closed(border):
            ends, starts = border.interval_rps, border.starts
            yield "", MAX_LOAD, Value(value=border.estimate_rps, interval=ends, restarts=starts)
        elif border.interval_rps.hi <= 0:
            yield "", MAX_LOAD, Value(value=0.0, restarts=border.starts)


def _interval(of_restarts: Sequence[float]) -> Interval | None:
    """Student's interval of the logarithms; None with fewer than three restarts, or without end."""
    if not all(map(math.isfinite, of_restarts)) or len(of_restarts) < restarts.INTERVAL_NEEDS:
        return None
    logs = np.log(of_restarts)
    error = math.sqrt(max(float(logs.var(ddof=1)), VARIANCE_LEAST) / len(logs))
    half, middle = student(len(logs) - 1) * error, float(logs.mean())
    return Interval(lo=math.exp(middle - half), hi=math.exp(middle + half))


def with_changes(every: Sequence[Series], alpha: float) -> tuple[Series, ...]:
    """The series with their changes; all of them are one family.

    Args:
        every: series of equal length.
        alpha: chance that any is reported in a history without a change.
    """
    numbers = [_numbers(one) for one in every]
    evidences = [_Evidence(one, 0) for one in numbers]
    changes: list[list[Change]] = [[] for _ in every]
    for at in range(max(map(len, numbers), default=0)):
        sure = change_points.adjusted([one.log_capital[at] for one in evidences])
        for n, one in enumerate(sure):
            if one >= math.log(1 / alpha):
                changes[n].append(_change(every[n], numbers[n], evidences[n], at, one))
                evidences[n] = _Evidence(numbers[n], at + 1)
    return tuple(replace(one, changes=tuple(its)) for one, its in zip(every, changes, strict=True))


def _numbers(series: Series) -> Floats:
    return np.array([math.nan if one is None else one.value for one in series.values], float)


class _Evidence:
    """Of one series from one record on; before it, and without a value, nothing is added."""

    def __init__(self, numbers: Floats, start: int) -> None:
        """Look at all records from `start` on."""
        self.start = start
        known = np.flatnonzero(~np.isnan(numbers[start:])) + start
        evidence = change_points.evidence(numbers[known])
        self.log_capital = np.zeros(len(numbers))
        self.since = np.zeros(len(numbers), np.intp)
        for at, place in enumerate(known):
            self.log_capital[place:] = evidence.log_capital[at]
            # The place of the first value after the change; the candidate counts values.
            self.since[place:] = known[min(int(evidence.since[at]), len(known) - 1)]


def _change(
    series: Series, numbers: Floats, evidence: _Evidence, at: int, log_evidence: float
) -> Change:
    since = int(evidence.since[at])
    before = float(np.nanmedian(numbers[evidence.start : since]))
    after = float(np.nanmedian(numbers[since : at + 1]))
    ratio = after / before if math.isfinite(before) and before else math.nan
    return Change(
        since=since,
        seen=at,
        before=before,
        after=after,
        ratio=ratio,
        judgement=_judgement(series.unit, is_more=after > before),
        evidence=math.exp(log_evidence),
    )


def _judgement(unit: str, *, is_more: bool) -> Judgement:
    if not unit:  # of a table, which does not say which is worse
        return Judgement.OPEN
    is_rate = unit == "requests/s"
    return Judgement.BETTER if is_more is is_rate else Judgement.WORSE


def entry(name: str, manifest: Mapping[str, object]) -> Entry:
    """What a record says about itself; a manifest is a foreign file."""
    made = manifest.get("ci")
    known = made if isinstance(made, Mapping) else {}
    return Entry(
        name=name,
        started=_text(manifest.get("started")),
        commit=_text(known.get("commit")),
        label=_text(known.get("label")),
        version=_text(manifest.get("sojourn")),
    )


def _text(value: object) -> str:
    return value[:200] if isinstance(value, str) else ""
