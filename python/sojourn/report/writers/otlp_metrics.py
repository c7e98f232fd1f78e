"""OpenTelemetry metrics of a record: a histogram a load, gauges of each run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.load_point import LoadPoint, Run
from sojourn.report import show
from sojourn.report.writers import buckets, otlp
from sojourn.report.writers.writer import Writer

DELTA = 1  # a histogram counts the requests of the study, and of nothing before
Point = dict[str, Any]


def content(findings: Findings) -> bytes:
    """Each metric once, with a data point for each load or run."""
    points = [(service, point) for service in findings.services for point in service.points]
    runs = [(service, point, run) for service, point in points for run in point.runs]
    span = {
        "startTimeUnixNano": str(otlp.begin_ns(findings)),
        "timeUnixNano": str(otlp.end_ns(findings)),
    }
    histograms = [one for service, point in points for one in _histogram(service, point)]
    metrics = [
        {
            "name": "sojourn.time",
            "description": "Time from planned arrival to reply.",
            "unit": "s",
            "histogram": {
                "aggregationTemporality": DELTA,
                "dataPoints": [one | span for one in histograms],
            },
        },
        _gauge("sojourn.time.quantile", "s", _quantiles(points), span),
        _gauge("sojourn.run.quantile", "s", _run_quantiles(runs), span),
        _gauge("sojourn.run.mean", "s", _of_runs(runs, lambda run: _s(run.mean_ns)), span),
        _gauge("sojourn.run.offered", "{request}/s", _of_runs(runs, lambda r: r.offered_rps), span),
        _gauge("sojourn.run.done", "{request}/s", _of_runs(runs, lambda r: r.achieved_rps), span),
    ]
    return otlp.line(findings, "resourceMetrics", "scopeMetrics", metrics)


def _gauge(name: str, unit: str, points: Iterator[Point], span: Point) -> dict[str, Any]:
    return {"name": name, "unit": unit, "gauge": {"dataPoints": [one | span for one in points]}}


def _histogram(service: ServiceFinding, point: LoadPoint) -> Iterator[Point]:
    """Counts between the edges at which the record has the distribution."""
    total = point.mean.requests
    if not point.distribution or not total:
        return
    pairs = buckets.cumulative(point)
    reached = [0, *(n for _, n in pairs)]
    counts = [after - before for before, after in pairwise(reached)]
    made: Point = {
        "attributes": _about(service, point),
        "count": str(total),
        "explicitBounds": [ns / otlp.NS for ns, _ in pairs],
        "bucketCounts": [str(n) for n in (*counts, total - reached[-1])],
    }
    mean = point.mean.value
    if mean is not None and math.isfinite(mean):
        made["sum"] = mean * total / otlp.NS
    yield made


def _quantiles(points: list[tuple[ServiceFinding, LoadPoint]]) -> Iterator[Point]:
    for service, point in points:
        for one in (point.mean, *point.quantiles):
            ends = (one.interval.lo, one.interval.hi) if one.interval else (None, None)
            for end, ns in zip(("value", "lo", "hi"), (one.value, *ends), strict=True):
                if ns is not None:
                    more = {"number": show.quantile(one.q), "end": end}
                    yield {
                        "attributes": _about(service, point, **more),
                        "asDouble": otlp.double(ns / otlp.NS),
                    }


def _run_quantiles(runs: list[tuple[ServiceFinding, LoadPoint, Run]]) -> Iterator[Point]:
    for service, point, run in runs:
        for q, ns in run.quantiles:
            if ns is not None:
                more = {
                    "number": show.quantile(q),
                    "run": run.key,
                    "run.verdict": run.verdict.value,
                }
                yield {
                    "attributes": _about(service, point, **more),
                    "asDouble": otlp.double(ns / otlp.NS),
                }


def _of_runs(
    runs: list[tuple[ServiceFinding, LoadPoint, Run]], value: Callable[[Run], float | None]
) -> Iterator[Point]:
    for service, point, run in runs:
        if (number := value(run)) is not None:
            more = {"run": run.key, "run.verdict": run.verdict.value}
            yield {"attributes": _about(service, point, **more), "asDouble": otlp.double(number)}


def _s(ns: float | None) -> float | None:
    return None if ns is None else ns / otlp.NS


def _about(service: ServiceFinding, point: LoadPoint, **more: str) -> list[dict[str, Any]]:
    return otlp.attributes(
        {
            "service": service.service,
            "load": float(point.fraction),
            "verdict": point.verdict.value,
            **more,
        }
    )


WRITER = Writer(
    name="otlp", about="metrics of loads and runs, as OpenTelemetry's JSON", content=content
)
