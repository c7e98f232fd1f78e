"""Loads of several records that are equal in requests/s.

A share of max RPS is an equal load only where max RPS is equal. Where a change lowered max RPS, the
same share would be less load, and hide what the change did (docs/decisions/equal-load.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sojourn.findings.findings import ServiceFinding
from sojourn.findings.load_point import LoadPoint
from sojourn.text.numbers import load_share, percent
from sojourn.units import show_count

EQUAL = 0.01  # of the load; near max RPS a time grows by several times as much
NEAR = 0.1  # of the load; up to here the numbers are beside each other, and some are judged
ASKED = "asked"  # loads in requests/s: rule of the axis

Axes = tuple[tuple[str, tuple[float | None, ...]], ...]


def asked_rps(service: ServiceFinding, point: LoadPoint) -> float:
    """The load as it was planned: what a run offered differs by chance."""
    return point.fraction * service.max_rps if service.max_rps else point.offered_rps


def name(service: ServiceFinding, point: LoadPoint) -> str:
    """A load as people call it: `20000 requests/s`, `12.3k requests/s (70 %)`."""
    if service.max_rps_rule == ASKED:
        return f"{point.offered_rps:.6g} requests/s"
    share = f" ({load_share(point.fraction)})" if service.max_rps else ""
    return f"{show_count(asked_rps(service, point))} requests/s{share}"


def partners(first: ServiceFinding, other: ServiceFinding | None) -> list[LoadPoint | None]:
    """For each load of the first record the one of the other that is nearest, within `NEAR`.

    A load is the partner of one load at the most.
    """
    here = [asked_rps(first, point) for point in first.points]
    there = [asked_rps(other, point) for point in other.points] if other else []
    results: list[LoadPoint | None] = []
    for at, rps in enumerate(here):
        nearest = _nearest(rps, there)
        is_partner = (
            nearest is not None
            and abs(apart(rps, there[nearest])) <= NEAR
            and _nearest(there[nearest], here) == at
        )
        results.append(
            other.points[nearest] if other and is_partner and nearest is not None else None
        )
    return results


def _nearest(rps: float, loads: Sequence[float]) -> int | None:
    """The place of the load whose ratio to this one is nearest to 1; None without any."""
    return min(range(len(loads)), key=lambda at: abs(apart(rps, loads[at])), default=None)


def apart(first_rps: float, other_rps: float) -> float:
    """Logarithm of the ratio of two loads; without end where one of them is none."""
    if first_rps <= 0 or other_rps <= 0:
        return 0.0 if first_rps == other_rps else math.inf
    return math.log(other_rps / first_rps)


def unlike(first_rps: float, other_rps: float) -> float:
    """Logarithm of the ratio of two loads; 0 where they count as equal."""
    distance = apart(first_rps, other_rps)
    return distance if abs(distance) > EQUAL else 0.0


def words(distance: float) -> str:
    """A distance of two loads, as a reason.

    >>> words(0.0488), words(-0.0408)
    ('5.1 % more load than the first record', '4 % less load than the first record')
    """
    ratio = math.exp(distance)
    more = "more" if ratio > 1 else "less"
    return f"{percent(abs(ratio - 1), 1)} {more} load than the first record"


def axes(services: Sequence[Sequence[ServiceFinding | None]]) -> Axes:
    """Max RPS in each record, of services that do not have the same in all.

    Args:
        services: of each, what the records found; the first record has all.
    """
    results = []
    for each in services:
        known = [s.max_rps for s in each if s and s.max_rps and s.max_rps_rule != ASKED]
        if known and max(known) > (1 + EQUAL) * min(known):
            label = next(s.service for s in each if s)
            results.append((label, tuple(s.max_rps if s else None for s in each)))
    return tuple(results)
