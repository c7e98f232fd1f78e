"""`fortio load -json FILE`: a histogram of wide bins, and percentiles read off it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.importers.durations import quantile
from sojourn.importers.file import File, count, fault, number, rows, table, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.series import Facts, Series
from sojourn.stats.times import Times

FACTS = Facts(
    tool="fortio",
    clock="send",
    loop="closed",
    start="Measured from the send of a request.",
    load="A closed loop of threads with a limiter (-qps): a thread that is late sends at once, "
    "and its lateness is in no number. With -qps 0 there is no pause.",
    merged="All threads count into one histogram. Its bins are wide, so fortio's own percentiles "
    "are interpolated in them; here a quantile is the upper edge of its bin.",
    omission="Coordinated omission is in it: while all threads wait, nothing is sent.",
)
_S = 1e9


def is_it(head: str) -> bool:
    """Whether it looks like what fortio wrote."""
    return '"RunType"' in head and '"RequestedQPS"' in head


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are seconds
    """One series of all its requests."""
    whole = file.document()
    histogram = table(whole.get("DurationHistogram"), "DurationHistogram", file.at)
    stated: dict[float | None, float] = {}
    for row in rows(histogram.get("Percentiles") or [], "Percentiles", file.at):
        one = table(row, "Percentiles", file.at)
        percent = number(one.get("Percentile"), "Percentile", file.at)
        stated[quantile(str(percent))] = time_ns(one.get("Value"), "Value", file.at, unit_ns=_S)
    stated[None] = time_ns(histogram.get("Avg"), "Avg", file.at, unit_ns=_S)
    failed = _failed(whole, file.at)
    all_ = count(histogram.get("Count"), "Count", file.at)
    seconds = time_ns(whole.get("ActualDuration"), "ActualDuration", file.at, unit_ns=1) / _S
    # Errors have times of their own, which fortio counts apart and with the others.
    notes = ("The times of failed requests are in its histogram.",) if failed else ()
    return [
        Series(
            facts=FACTS,
            times=_times(histogram, file.at),
            stated=stated,
            requests=max(0, all_ - sum(failed.values())),
            failed=failed,
            seconds=seconds,
            most_ns=time_ns(histogram.get("Max"), "Max", file.at, unit_ns=_S),
            notes=notes,
        )
    ]


def _times(histogram: dict[str, Any], at: str) -> Times:
    lo, hi, counts = [], [], []
    for row in rows(histogram.get("Data"), "Data", at):
        one = table(row, "Data", at)
        if not (n := count(one.get("Count"), "Count of a bin", at)):
            continue
        lo.append(time_ns(one.get("Start"), "Start", at, unit_ns=_S))
        hi.append(time_ns(one.get("End"), "End", at, unit_ns=_S))
        counts.append(n)
        if hi[-1] < lo[-1] or (len(hi) > 1 and lo[-1] < hi[-2]):
            raise fault("the bins of its histogram do not ascend", at)
    if not counts:
        raise fault("its histogram is empty", at, "run fortio for longer")
    return Times(lo_ns=np.array(lo), hi_ns=np.array(hi), count=np.array(counts, np.int64))


def _failed(whole: dict[str, Any], at: str) -> dict[str, int]:
    """Return codes that are no success: HTTP other than 2xx, gRPC other than SERVING."""
    codes = whole.get("RetCodes")
    return {
        f"code {code}": count(n, f"RetCodes {code}", at)
        for code, n in (codes.items() if isinstance(codes, dict) else ())
        if not (code.startswith("2") and len(code) == 3) and code not in {"SERVING", "OK"}
    }


FORMAT = Format(name="fortio", about="fortio load -json FILE", is_it=is_it, read=read)
