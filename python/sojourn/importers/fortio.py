"""`fortio load -json FILE`: a histogram of wide bins, and one of failures."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from sojourn.importers.durations import quantile
from sojourn.importers.file import File, count, fault, number, rows, table, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.groups import by_reason
from sojourn.importers.series import Facts, Series
from sojourn.stats.times import Times

FACTS = Facts(
    tool="fortio",
    clock="send",
    loop="closed",
    start="Measured from the send of a request.",
    load="A closed loop of threads, each with a pace of its own (-qps): a late one sends at once "
    "and its lateness is in no number. With -qps 0 there is no pause.",
    merged="All threads count into one histogram. Its bins are wide (1 ms unless -r is given), and "
    "fortio interpolates its percentiles in them; here a quantile is the upper edge of its bin.",
    omission="Coordinated omission is in it: while all threads wait, nothing is sent.",
)
_S = 1e9
_PASSED = {"418", "OK", "SERVING"}  # beside 2xx of HTTP: a teapot; of TCP and UDP; of gRPC
_EDGE = 1e-9  # relative: both histograms print the same edges


def is_it(head: str) -> bool:
    """Whether it looks like what fortio wrote."""
    return '"RunType"' in head and '"RequestedQPS"' in head


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are seconds
    """One series of all requests that succeeded."""
    whole, at = file.document(), file.at
    every = table(whole.get("DurationHistogram"), "DurationHistogram", at)
    lo, hi, counts = _bins(every, at)
    total, failed, wanted = _sum(every, at), _failed(whole, at), _count(every, at)
    errors = whole.get("ErrorsDurationHistogram")  # since 1.40
    is_apart = isinstance(errors, dict)
    if isinstance(errors, dict):
        _take_out(counts, lo, hi, errors, at)
        total = max(0.0, total - _sum(errors, at))
        if (bad := _count(errors, at)) != sum(failed.values()):
            failed = {"failed": bad} if bad else {}
    n = int(counts.sum())
    if n + (sum(failed.values()) if is_apart else 0) != wanted:
        raise fault("its bins, its failed requests and its Count do not agree", at)
    is_mixed = bool(failed) and not is_apart
    note = ("The times of failed requests are in its histogram.",) if is_mixed else ()
    used = counts > 0
    most = time_ns(every.get("Max"), "Max", at, unit_ns=_S)
    return [
        Series(
            facts=FACTS,
            times=Times(lo_ns=lo[used], hi_ns=hi[used], count=counts[used]) if n else None,
            stated=_stated(every, total / n if n else None, has_failed=bool(failed), at=at),
            requests=max(0, wanted - sum(failed.values())),
            stated_over=wanted,
            failed=failed,
            is_failed_known=is_apart or isinstance(whole.get("RetCodes"), dict),
            seconds=number(whole.get("ActualDuration"), "ActualDuration", at) / _S,
            most_ns=most if not failed else None,
            notes=note,
        )
    ]


def _stated(
    every: dict[str, Any], mean_ns: float | None, *, has_failed: bool, at: str
) -> dict[float | None, float]:
    """What fortio printed; its percentiles only where no failed request is in them."""
    stated: dict[float | None, float] = {}
    for row in [] if has_failed else rows(every.get("Percentiles") or [], "Percentiles", at):
        one = table(row, "Percentiles", at)
        percent = number(one.get("Percentile"), "Percentile", at)
        stated[quantile(str(percent))] = time_ns(one.get("Value"), "Value", at, unit_ns=_S)
    if mean_ns is not None:
        stated[None] = mean_ns
    return stated


def _sum(histogram: dict[str, Any], at: str) -> float:
    return number(histogram.get("Sum"), "Sum", at, scale=_S)


def _count(histogram: dict[str, Any], at: str) -> int:
    return count(histogram.get("Count"), "Count", at)


def _bins(
    histogram: dict[str, Any], at: str
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Lower and upper edges, ns, and counts."""
    lo, hi, counts = [], [], []
    for row in rows(histogram.get("Data") or [], "Data", at):
        one = table(row, "Data", at)
        lo.append(time_ns(one.get("Start"), "Start", at, unit_ns=_S))
        hi.append(time_ns(one.get("End"), "End", at, unit_ns=_S))
        counts.append(count(one.get("Count"), "Count of a bin", at))
        if hi[-1] < lo[-1] or (len(hi) > 1 and lo[-1] < hi[-2]):
            raise fault("the bins of its histogram do not ascend", at)
    if not counts:
        raise fault("its histogram is empty", at, "run fortio for longer")
    return np.array(lo), np.array(hi), np.array(counts, np.int64)


def _take_out(
    counts: np.ndarray[Any, Any],
    lo: np.ndarray[Any, Any],
    hi: np.ndarray[Any, Any],
    errors: dict[str, Any],
    at: str,
) -> None:
    """Subtract the failed requests: their bins are the same, or begin and end within them."""
    if not errors.get("Data"):
        return
    for start, end, n in zip(*_bins(errors, at), strict=True):
        within = (lo <= start * (1 + _EDGE)) & (end <= hi * (1 + _EDGE))
        where = np.flatnonzero(within & (counts >= n))
        if not where.size:
            raise fault("its failed requests are not among all of them", at)
        counts[where[0]] -= n


def _failed(whole: dict[str, Any], at: str) -> dict[str, int]:
    """Return codes that fortio takes for failures."""
    codes = whole.get("RetCodes")
    return by_reason(
        ("no reply" if code == "-1" else f"code {code}", count(n, f"RetCodes {code[:40]}", at))
        for code, n in (codes.items() if isinstance(codes, dict) else ())
        if not re.fullmatch(r"2\d\d", code) and code not in _PASSED
    )


FORMAT = Format(name="fortio", about="fortio load -json FILE", is_it=is_it, read=read)
