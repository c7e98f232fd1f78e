"""k6's summary: `--summary-export FILE`, or the JSON that `handleSummary` gets."""

from __future__ import annotations

import re
from typing import Any

from sojourn.importers.durations import quantile
from sojourn.importers.file import File, count, fault, number, rows, table, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.k6_facts import DURATIONS, FACTS, GRPC, MS, dropped, lacking
from sojourn.importers.series import Series

_MIXED = ("The times of failed requests are in its percentiles.",)
_UNCOUNTED = ("It does not say how many requests failed; their times are in its percentiles.",)
_PERCENTILE = re.compile(r"p(?:\((\d+(?:\.\d+)?)\)|(\d+(?:\.\d+)?))")
_NEW = re.compile(r'\s*\{\s*"config":\s*\{\s*"duration":')  # --new-machine-readable-summary


def is_it(head: str) -> bool:
    """Whether it is a summary of k6."""
    is_object = head.lstrip().startswith("{") and '"type":"Point"' not in head
    is_new = bool(_NEW.match(head)) and '"execution"' in head
    return is_new or (is_object and '"metrics"' in head and '"root_group"' in head)


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are ms
    """One series for each protocol: what the summary states, no more."""
    metrics = _metrics(file.document(), file.at)
    there = [name for name in DURATIONS if name in metrics]
    if not there:
        raise fault(lacking(set(map(str, metrics))), file.at, "run k6 with an HTTP or gRPC request")
    return [_series(name, metrics, file.at, is_only=len(there) == 1) for name in there]


def _metrics(whole: dict[str, Any], at: str) -> dict[str, Any]:
    """Each metric by its name; the newer form has a list of them, and other words."""
    results = whole.get("results")
    if not isinstance(results, dict):
        return table(whole.get("metrics"), "metrics", at)
    metrics = {}
    for row in rows(results.get("metrics"), "metrics", at):
        one = table(row, "a metric", at)
        values = table(one.get("values"), "values", at)
        metrics[str(one.get("name"))] = {key: n for key, n in values.items() if n is not None}
    if "http_req_failed" in metrics:
        metrics["http_req_failed"]["passes"] = metrics["http_req_failed"].get("matches", 0)
    if "http_reqs" in metrics:
        run = table(whole.get("config"), "config", at)
        seconds = number(run.get("duration"), "duration", at)
        n = count(metrics["http_reqs"].get("count"), "http_reqs count", at)
        metrics["http_reqs"]["rate"] = n / seconds if seconds else 0.0
    return metrics


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
    return quantile(named[1] or named[2]) if named else None


FORMAT = Format(
    name="k6-summary",
    about="k6 run --summary-export FILE, or handleSummary",
    is_it=is_it,
    read=read,
)
