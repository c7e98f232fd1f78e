"""k6's summary: `--summary-export FILE`, or the JSON that `handleSummary` gets."""

from __future__ import annotations

import re
from typing import Any

from sojourn.importers.file import File, count, fault, number, table, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.k6_facts import DURATIONS, FACTS, GRPC, MS, dropped, lacking
from sojourn.importers.series import Series

_MIXED = ("The times of failed requests are in its percentiles.",)
_UNCOUNTED = ("It does not say how many requests failed; their times are in its percentiles.",)
_PERCENTILE = re.compile(r"p\((\d+(?:\.\d+)?)\)")


def is_it(head: str) -> bool:
    """Whether it is a summary of k6."""
    is_object = head.lstrip().startswith("{") and '"type":"Point"' not in head
    return is_object and '"metrics"' in head and '"root_group"' in head


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are ms
    """One series for each protocol: what the summary states, no more."""
    metrics = table(file.document().get("metrics"), "metrics", file.at)
    there = [name for name in DURATIONS if name in metrics]
    if not there:
        raise fault(lacking(set(map(str, metrics))), file.at, "run k6 with an HTTP or gRPC request")
    return [_series(name, metrics, file.at, is_only=len(there) == 1) for name in there]


def _series(name: str, metrics: dict[str, Any], at: str, *, is_only: bool) -> Series:
    own = f"{name}{{expected_response:true}}"  # of requests that succeeded, where k6 has it
    trend = _values(metrics.get(own, metrics[name]), name, at)
    stated: dict[float | None, float] = {}
    for key, value in trend.items():
        q = _quantile(key)
        if q is not None:
            stated[q] = time_ns(value, f"{name} {key}", at, unit_ns=MS)
    if "avg" in trend:
        stated[None] = time_ns(trend["avg"], f"{name} avg", at, unit_ns=MS)
    if trend.get("max") == 0:  # no request had a reply: k6 writes zeros, which are no times
        stated = {}
    all_, failed, rate = None, 0, None
    if "http_reqs" in metrics and name == "http_req_duration":
        requests = _values(metrics["http_reqs"], "http_reqs", at)
        all_ = count(requests.get("count"), "http_reqs count", at)
        rate = number(requests.get("rate"), "http_reqs rate", at)
        failures = _values(metrics.get("http_req_failed", {}), "http_req_failed", at)
        # Of this rate a "pass" is a request that failed.
        failed = count(failures.get("passes", 0), "http_req_failed passes", at)
        if failed > all_:
            raise fault(f"{failed} of {all_} requests failed", at)
    is_counted = name != GRPC and {"http_reqs", "http_req_failed"} <= metrics.keys()
    mixed = _MIXED if failed and own not in metrics else ()
    lost = _values(metrics.get("dropped_iterations", {}), "dropped_iterations", at)
    iterations = number(lost.get("count", 0), "dropped_iterations count", at)
    return Series(
        facts=FACTS,
        name="" if is_only else DURATIONS[name],
        stated=stated,
        requests=None if all_ is None else all_ - failed,
        stated_over=None if own in metrics else all_,
        failed={"not an expected reply": failed} if failed else {},
        is_failed_known=is_counted,
        seconds=all_ / rate if all_ and rate else None,
        most_ns=time_ns(trend["max"], "max", at, unit_ns=MS) or None if "max" in trend else None,
        notes=(mixed if is_counted or own in metrics else _UNCOUNTED) + dropped(iterations),
    )


def _values(metric: Any, name: str, at: str) -> dict[str, Any]:
    """A metric's numbers; `handleSummary` has them one level deeper."""
    numbers = table(metric, name, at)
    inner = numbers.get("values")
    return inner if isinstance(inner, dict) else numbers


def _quantile(key: str) -> float | None:
    if key == "med":
        return 0.5
    named = _PERCENTILE.fullmatch(key)
    return round(float(named[1]) / 100, 9) if named else None


FORMAT = Format(
    name="k6-summary",
    about="k6 run --summary-export FILE, or handleSummary",
    is_it=is_it,
    read=read,
)
