"""The numbers of a record as OpenMetrics 1.0 text, which Prometheus reads.

A load is one classic histogram. A record has its distribution at chosen shares of the requests, so
a bucket counts the requests that are surely in it: few that tie with its edge may be in the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.load_point import LoadPoint
from sojourn.report import show
from sojourn.report.writers import buckets
from sojourn.report.writers.writer import Writer
from sojourn.text import openmetrics
from sojourn.visible import in_line

TIMES, QUANTILE = "sojourn_time_seconds", "sojourn_time_quantile_seconds"
OFFERED, DONE = "sojourn_offered_rate", "sojourn_completed_rate"  # requests/s
_NS = 1e9


def content(findings: Findings) -> bytes:
    """Each family once, with every service and load in it."""
    points = [(service, point) for service in findings.services for point in service.points]
    lines = openmetrics.head(TIMES, "histogram", "Time from planned arrival to reply.", "seconds")
    lines += [line for service, point in points for line in _histogram(findings, service, point)]
    lines += openmetrics.head(
        QUANTILE, "gauge", "A quantile of it: value, and both ends of its interval.", "seconds"
    )
    lines += [line for service, point in points for line in _quantiles(findings, service, point)]
    for name, about in ((OFFERED, "Load that was planned."), (DONE, "Load that was answered.")):
        lines += openmetrics.head(name, "gauge", about)
        for service, point in points:
            rate = point.offered_rps if name == OFFERED else point.achieved_rps
            lines.append(f"{name}{_labels(findings, service, point)} {_number(rate)}")
    return ("\n".join([*lines, "# EOF"]) + "\n").encode(errors="backslashreplace")


def _histogram(findings: Findings, service: ServiceFinding, point: LoadPoint) -> Iterator[str]:
    total = point.mean.requests
    if not point.distribution or not total:
        return
    for ns, reached in buckets.cumulative(point):
        where = _labels(findings, service, point, le=_number(ns / _NS))
        yield f"{TIMES}_bucket{where} {reached}"
    yield f"{TIMES}_bucket{_labels(findings, service, point, le='+Inf')} {total}"
    if point.mean.value is not None:  # a sum is left out where requests never completed
        own = _labels(findings, service, point)
        yield f"{TIMES}_count{own} {total}"
        yield f"{TIMES}_sum{own} {_number(point.mean.value * total / _NS)}"


def _quantiles(findings: Findings, service: ServiceFinding, point: LoadPoint) -> Iterator[str]:
    for one in (point.mean, *point.quantiles):
        ends = (one.interval.lo, one.interval.hi) if one.interval else (None, None)
        for end, ns in zip(("value", "lo", "hi"), (one.value, *ends), strict=True):
            if ns is not None:
                where = _labels(findings, service, point, number=show.quantile(one.q), end=end)
                yield f"{QUANTILE}{where} {_number(ns / _NS)}"


def _labels(findings: Findings, service: ServiceFinding, point: LoadPoint, **more: str) -> str:
    pairs = {
        "study": findings.study,
        "service": service.service,
        "load": _number(point.fraction),
        "verdict": point.verdict.value,
        **more,
    }
    # The format has no escape for a control character.
    return openmetrics.labels(
        {name: in_line(text.replace("\n", " ")) for name, text in pairs.items()}
    )


def _number(value: float) -> str:
    return "+Inf" if value == math.inf else repr(float(value))


WRITER = Writer(name="openmetrics", about="histograms by load, for Prometheus", content=content)
