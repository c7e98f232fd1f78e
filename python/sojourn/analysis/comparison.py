"""Records side by side: each number as a ratio to that of the first record.

The unit is a restart of the service (M15). The records were measured at different times, so drift
of the machine counts as a difference; `sojourn compare` with two commands measures in turn instead.
All judgements of a comparison are one family (Holm).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import scipy

from sojourn.analysis import aa_noise_floor
from sojourn.analysis.comparison_rows import Moved, Ratio, Row
from sojourn.findings.effects import LOST_OR_GREW
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.highest_load import Border, MaxLoad, is_closed
from sojourn.findings.load_point import LoadPoint
from sojourn.half_width import normal
from sojourn.stats import holm
from sojourn.stats.interval import Interval
from sojourn.stats.paired_ratio import Judgement, Limits
from sojourn.stats.unpaired_ratio import RESTARTS_MIN, Unpaired, unpaired
from sojourn.text.numbers import load_share, percentile

QUANTILES = (0.5, 0.99, 0.999)
MEAN, CPU, MAX_LOAD = "mean", "CPU per request", "max load"
ASKED = "asked"  # loads in requests/s: rule of the axis


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
    """

    names: tuple[str, ...]
    differences: tuple[tuple[str, tuple[str, ...]], ...]
    rows: tuple[Row, ...]
    judgement: Judgement
    limits: Limits
    is_across: bool = False
    unfinished: tuple[str, ...] = ()
    moved: tuple[Moved, ...] = ()


@dataclass(frozen=True, slots=True)
class _Place:
    """A service at a load in every record; None where a record has none."""

    service: str
    load: str
    points: tuple[LoadPoint | None, ...]
    services: tuple[ServiceFinding | None, ...]


def compare(names: Sequence[str], findings: Sequence[Findings], limits: Limits) -> Comparison:
    """Two or more records; no row has a ratio if they have nothing in common.

    Args:
        names: of the records.
        findings: what each found; the first is what the others are held against.
        limits: what counts as a difference, and how sure a judgement is.
    """
    services = _services(findings)
    rows = [row for each in services if (row := _max_load(each, limits))]
    rows += [row for place in _places(services) for row in _at_load(place, limits)]
    rows = _judged(rows, limits)
    return Comparison(
        names=tuple(names),
        differences=(),
        rows=tuple(rows),
        judgement=_whole(rows),
        limits=limits,
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
        tables = [{load_name(s, p): p for p in s.points} if s else {} for s in each]
        for load in tables[0]:
            points = tuple(table.get(load) for table in tables)
            places.append(_Place(first.service, load, points, each))
    return places


def load_name(service: ServiceFinding, point: LoadPoint) -> str:
    """A load as people call it: `20000 requests/s` or `70 % load`."""
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
        rows.append(Row(service=place.service, load=place.load, number=name, is_rate=False,
                        sides=tuple(sides)))  # fmt: skip
    return rows


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
        judgement=_first_word(result, limits),
        note=lacking,
    )


def _first_word(result: Unpaired, limits: Limits) -> Judgement:
    """Before Holm: *no difference* is reported here already, for it is no alarm."""
    ends = result.interval
    if ends and 1 / (1 + limits.same) <= ends.lo and ends.hi <= 1 + limits.same:
        return Judgement.SAME
    return Judgement.OPEN


def _lacking(first: Sequence[float], other: Sequence[float]) -> str:
    if not first or not other:
        return "not measured in both"
    if not all(map(math.isfinite, (*first, *other))):
        return LOST_OR_GREW
    fewest = min(len(first), len(other))
    if fewest < RESTARTS_MIN:
        return f"{fewest} of at least {RESTARTS_MIN} restarts"
    return "all restarts are equal"


def _with_doubts(one: Ratio, place: _Place, name: str, number: int, n: tuple[int, int]) -> Ratio:
    """With the noise floor, and without a judgement where two modes or the floor forbid it."""
    point, first = place.points[number], place.points[0]
    if name != CPU and any(p is not None and p.is_bimodal for p in (point, first)):
        return replace(one, judgement=Judgement.OPEN, note="restarts fall into two groups")
    floors = [s.noise_floor for s in (place.services[0], place.services[number]) if s]
    known = [floor for floor in floors if floor and percentile(floor.q) == name]
    if not known or not all(n):
        return one
    spread = math.sqrt((1 / n[0] + 1 / n[1]) / 2)
    gate = max(aa_noise_floor.gate(floor, spread) for floor in known)
    return replace(one, noise=math.exp(gate))


def _max_load(services: tuple[ServiceFinding | None, ...], limits: Limits) -> Row | None:
    """How much load fits within the target, of those that looked for it."""
    each = [most.border if s and (most := s.section(MaxLoad)) else None for s in services]
    first = each[0]
    if first is None or not any(each[1:]) or services[0] is None:
        return None
    sides = [Ratio(value=first.estimate_rps, restarts=first.starts)]
    for border in each[1:]:
        if border is None:
            sides.append(Ratio(value=None, note="not measured in both"))
            continue
        sides.append(_of_borders(first, border, limits))
    service = services[0].service
    return Row(service=service, load="", number=MAX_LOAD, is_rate=True, sides=tuple(sides))


def _of_borders(first: Border, other: Border, limits: Limits) -> Ratio:
    """The ratio of two loads whose ends carry over as variances do (Zou and Donner 2008)."""
    value, ratio = other.estimate_rps, None
    of_a, of_b = first.interval_rps, other.interval_rps
    if first.estimate_rps and value:
        ratio = value / first.estimate_rps
    if ratio is None or not (is_closed(first) and is_closed(other)):
        return Ratio(value=value, restarts=other.starts, ratio=ratio, note="the interval is open")
    down = math.hypot(math.log(value / of_b.lo), math.log(of_a.hi / first.estimate_rps))
    up = math.hypot(math.log(of_b.hi / value), math.log(first.estimate_rps / of_a.lo))
    errors = normal(other.level)  # that the intervals are wide
    wider, middle = normal(1 - limits.alpha) / errors, math.log(ratio)
    towards_1 = down if middle > 0 else up
    return Ratio(
        value=value,
        restarts=other.starts,
        ratio=ratio,
        interval=Interval(lo=math.exp(middle - down * wider), hi=math.exp(middle + up * wider)),
        p=float(2 * scipy.special.ndtr(-(abs(middle) / towards_1 * errors))) if towards_1 else 1.0,
    )


def _judged(rows: Sequence[Row], limits: Limits) -> list[Row]:
    """The rows with *worse* and *better*, the family's error rate held."""
    p_values = {}
    for at, row in enumerate(rows):
        for number, side in enumerate(row.sides):
            if side.ratio is not None and side.note == "":
                p_values[f"{at}/{number}"] = side.p
    sure = holm.adjusted(p_values)
    results = []
    for at, row in enumerate(rows):
        sides = tuple(
            _said(side, sure.get(f"{at}/{number}", 1.0), limits, is_rate=row.is_rate)
            for number, side in enumerate(row.sides)
        )
        results.append(replace(row, sides=sides))
    return results


def _said(side: Ratio, p: float, limits: Limits, *, is_rate: bool) -> Ratio:
    if side.ratio is None or side.note or p > limits.alpha:
        return side
    if side.noise is not None and abs(math.log(side.ratio)) <= math.log(side.noise):
        return replace(side, judgement=Judgement.OPEN, note="no more than equal runs differ by")
    is_worse = (side.ratio > 1) is not is_rate
    return replace(side, judgement=Judgement.WORSE if is_worse else Judgement.BETTER)


def geometric_mean(values: Sequence[float]) -> float | None:
    """Of positive values, which may be infinite; None without any."""
    if not values:
        return None
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _whole(rows: Sequence[Row]) -> Judgement:
    judgements = [side.judgement for row in rows for side in row.sides[1:]]
    for judgement in (Judgement.WORSE, Judgement.BETTER):
        if judgement in judgements:
            return judgement
    is_same = bool(judgements) and all(one is Judgement.SAME for one in judgements)
    return Judgement.SAME if is_same else Judgement.OPEN
