"""Records side by side: each number as a ratio to that of the first record.

The unit is a restart of the service (M15). The records were measured at different times, so drift
of the machine counts as a difference; `sojourn compare` with two commands measures in turn instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sojourn.analysis import aa_noise_floor, border_rows, comparison_verdicts, equal_loads
from sojourn.analysis.border_rows import LACKING
from sojourn.analysis.comparison_rows import Moved, Ratio, Row
from sojourn.analysis.equal_loads import ASKED
from sojourn.findings.effects import LOST_OR_GREW
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.load_point import LoadPoint
from sojourn.stats.paired_ratio import Judgement, Limits
from sojourn.stats.unpaired_ratio import RESTARTS_MIN, unpaired
from sojourn.text.numbers import load_share, percentile

QUANTILES = (0.5, 0.99, 0.999)
MEAN, CPU = "mean", "CPU per request"
LATE = "a client was late, so times are upper bounds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All of it.

    Attributes:
        names: of the records, as they were asked for.
        differences: (what, value in each record) that are not the same in all.
        rows: in the order of services, loads and numbers.
        judgement: *worse* if anything is, else *better*, else *no difference* if all is.
        limits: what counts, and how sure.
        is_across: the records are of different machines.
        unfinished: names of records that are not finished.
        moved: by stage, where both records are traced.
        axes: (service, max RPS in each record) where 100 % load is not the same in all.
    """

    names: tuple[str, ...]
    differences: tuple[tuple[str, tuple[str, ...]], ...]
    rows: tuple[Row, ...]
    judgement: Judgement
    limits: Limits
    is_across: bool = False
    unfinished: tuple[str, ...] = ()
    moved: tuple[Moved, ...] = ()
    axes: equal_loads.Axes = ()


@dataclass(frozen=True, slots=True)
class _Place:
    """A service at a load in every record; None where a record has none.

    Attributes:
        apart: of each record, the logarithm of its load over that of the first; 0: they are equal.
    """

    service: str
    load: str
    points: tuple[LoadPoint | None, ...]
    services: tuple[ServiceFinding | None, ...]
    apart: tuple[float, ...]


def compare(names: Sequence[str], findings: Sequence[Findings], limits: Limits) -> Comparison:
    """Two or more records; no row has a ratio if they have nothing in common.

    Args:
        names: of the records.
        findings: what each found; the first is what the others are held against.
        limits: what counts as a difference, and how sure a judgement is.
    """
    services = _services(findings)
    rows = [row for each in services if (row := border_rows.row(each, limits))]
    rows += [row for place in _places(services) for row in _at_load(place, limits)]
    rows = comparison_verdicts.judged(rows, limits)
    return Comparison(
        names=tuple(names),
        differences=(),
        rows=tuple(rows),
        judgement=comparison_verdicts.whole(rows),
        limits=limits,
        axes=equal_loads.axes(services),
    )


def _services(findings: Sequence[Findings]) -> list[tuple[ServiceFinding | None, ...]]:
    """The services of the first record, each with those of the same name in the others.

    Where every record has one service only, these are compared whatever they are called.
    """
    if all(len(one.services) == 1 for one in findings):
        return [tuple(one.services[0] for one in findings)]
    by_name = [{service.service: service for service in one.services} for one in findings]
    return [tuple(names.get(name) for names in by_name) for name in by_name[0]]


def _places(services: Sequence[tuple[ServiceFinding | None, ...]]) -> list[_Place]:
    places = []
    for each in services:
        first = each[0]
        assert first is not None  # noqa: S101  # the services are those of the first record
        others = [equal_loads.partners(first, other) for other in each[1:]]
        for number, point in enumerate(first.points):
            points = (point, *(table[number] for table in others))
            loads = [
                equal_loads.asked_rps(s, p) if s and p else None
                for s, p in zip(each, points, strict=True)
            ]
            apart = tuple(
                0.0 if rps is None else equal_loads.unlike(loads[0] or 0.0, rps) for rps in loads
            )
            name = equal_loads.name(first, point)
            places.append(_Place(first.service, name, points, each, apart))
    return places


def has_equal_load(findings: Sequence[Findings]) -> bool:
    """Whether another record has a load of the first one, whatever became of its runs."""
    places = _places(_services(findings))
    return any(any(place.points[1:]) for place in places)


def load_name(service: ServiceFinding, point: LoadPoint) -> str:
    """A load as one record calls it: `20000 requests/s` or `70 % load`."""
    if service.max_rps_rule == ASKED:
        return f"{point.offered_rps:.6g} requests/s"
    return f"{load_share(point.fraction)} load"


def _at_load(place: _Place, limits: Limits) -> list[Row]:
    numbers: dict[str, float | None] = {MEAN: None}
    numbers |= {percentile(q): q for q in QUANTILES}
    rows = []
    for name in (*numbers, CPU):
        each = [values(point, name, numbers.get(name)) for point in place.points]
        if not any(each):
            continue
        sides = [Ratio(value=geometric_mean(each[0]), restarts=len(each[0]))]
        for number in range(1, len(each)):
            one = _ratio(each[0], each[number], limits)
            sides.append(_with_doubts(one, place, name, number, (len(each[0]), len(each[number]))))
        q = numbers.get(name)
        marked = [
            replace(side, is_carried=_is_carried(point, name, q))
            for side, point in zip(sides, place.points, strict=True)
        ]
        rows.append(Row(service=place.service, load=place.load, number=name, is_rate=False,
                        sides=tuple(marked)))  # fmt: skip
    return rows


def _is_carried(point: LoadPoint | None, name: str, q: float | None) -> bool:
    """Whether the report has this number of the load; CPU time is in no need of many requests."""
    if point is None or name == CPU:
        return True
    each = point.quantiles if q is not None else (point.mean,)
    return any(one.q == q and one.value is not None for one in each)


def values(point: LoadPoint | None, name: str, q: float | None) -> list[float]:
    """The number of each restart; infinite where requests were lost or the queue grew."""
    results: dict[int, float] = {}
    for run in point.runs if point else ():
        value = run.cpu_ns if name == CPU else run.mean_ns if q is None else dict(run.sample).get(q)
        is_lost = run.is_believed and name == MEAN and value is None
        is_endless = point is not None and point.is_overloaded and run.grows and name != CPU
        if is_endless or is_lost:
            results.setdefault(run.repeat, math.inf)
        elif run.is_believed and value:
            results.setdefault(run.repeat, value)
    return list(results.values())


def _ratio(first: Sequence[float], other: Sequence[float], limits: Limits) -> Ratio:
    result = unpaired(first, other, limits.alpha)
    lacking = "" if result.interval else _lacking(first, other)
    return Ratio(
        value=geometric_mean(other),
        restarts=len(other),
        ratio=result.ratio,
        interval=result.interval,
        p=result.p,
        judgement=limits.first_word(result.interval),
        note=lacking,
    )


def _lacking(first: Sequence[float], other: Sequence[float]) -> str:
    if not first or not other:
        return LACKING
    if not all(map(math.isfinite, (*first, *other))):
        return LOST_OR_GREW
    return f"{min(len(first), len(other))} of at least {RESTARTS_MIN} restarts"


def _with_doubts(one: Ratio, place: _Place, name: str, number: int, n: tuple[int, int]) -> Ratio:
    """With the noise floor and the load; no judgement where one of them or two modes forbid it."""
    point, first = place.points[number], place.points[0]
    one = replace(one, apart=place.apart[number])
    if one.apart and name == CPU and not one.note:  # it may rise or fall with load
        return replace(one, judgement=Judgement.OPEN, note=equal_loads.words(one.apart))
    if (doubt := _late(one, first, point, name)) and not one.note:
        return replace(one, judgement=Judgement.OPEN, note=doubt)
    if name != CPU and any(p is not None and p.is_bimodal for p in (point, first)):
        return replace(one, judgement=Judgement.OPEN, note="restarts fall into two groups")
    floors = [s.noise_floor for s in (place.services[0], place.services[number]) if s]
    known = [floor for floor in floors if floor and percentile(floor.q) == name]
    if not known or not all(n):
        return one
    spread = math.sqrt((1 / n[0] + 1 / n[1]) / 2)
    gate = max(aa_noise_floor.gate(floor, spread) for floor in known)
    return replace(one, noise=math.exp(gate))


def _late(one: Ratio, first: LoadPoint | None, point: LoadPoint | None, name: str) -> str:
    """That a late client may be why one side is longer, or not shorter; "" if it is not so.

    A client that was late only lengthens times. So they are upper bounds, and a difference the
    other way is as large at least.
    """
    is_late, was_late = (_is_late(each, name) for each in (point, first))
    is_longer = one.ratio is not None and one.ratio > 1
    is_doubted = is_late if is_longer else was_late
    if is_doubted or ((is_late or was_late) and one.judgement is Judgement.SAME):
        return LATE
    return ""


def _is_late(point: LoadPoint | None, name: str) -> bool:
    """Whether the client may have added more than little to a number of a load's runs."""
    if point is None or name == CPU:
        return False
    q = {percentile(q): q for q in QUANTILES}.get(name)
    return any(run.is_believed and dict(run.lateness_ns).get(q) for run in point.runs)


def geometric_mean(values: Sequence[float]) -> float | None:
    """Of positive values, which may be infinite; None without any."""
    if not values:
        return None
    return math.exp(math.fsum(map(math.log, values)) / len(values))
