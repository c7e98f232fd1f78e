"""`memtier_benchmark --json-out-file FILE`: a histogram for each operation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sojourn.importers.durations import quantile
from sojourn.importers.file import ALONE, File, count, fault, number, table, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.packed import decoded
from sojourn.importers.series import Facts, Series
from sojourn.stats.times import Times

FACTS = Facts(
    tool="memtier",
    clock="send",
    loop="closed",
    start="Measured from the write of a request into the connection's buffer.",
    load="A closed loop: each connection has --pipeline requests under way and waits for replies, "
    "with --rate-limiting, too.",
    merged="All threads count into one histogram.",
    omission="Coordinated omission is in it: requests that a stop of the server put off are "
    "missing.",
)
_CUT = "p99.99"  # a name of six letters: memtier cuts p99.999 to it
_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")
_OTHERS = {"Runtime", "Active Clients"}
_RUN = re.compile(r"RUN #(\d{1,6}) RESULTS")  # of --print-all-runs
_AVERAGE = re.compile(r"AGGREGATED AVERAGE RESULTS \((\d{1,6} runs)\)")
_ENDS = {"best run": "BEST RUN RESULTS", "worst run": "WORST RUN RESULTS"}
SERIES_MOST = 20
TOTALS = "Totals"
_ERRORS = "Connection Errors"
_ERROR_REPLIES = (
    "memtier counts a reply that says an error as any other reply: its time is in all numbers."
)
_INTERRUPTED = "The run was interrupted, so it is shorter than it was to be."
_US, _MS = 1e3, 1e6


def is_it(head: str) -> bool:
    """Whether it looks like what memtier wrote."""
    return '"ALL STATS"' in head or bool(re.search(r'"(run_count|clients)"[^{]*"test_time"', head))


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - the unit is in the file
    """A series for each operation of each run; their total where there are several."""
    whole = file.document()
    if "ALL STATS" in whole:
        made = _run(whole, "ALL STATS", "", file.at)
    else:
        made = _of_several(whole, file.at)
    if not made:
        raise fault("it has no operation that ran", file.at, "run memtier for longer")
    return made


def _of_several(whole: dict[str, Any], at: str) -> list[Series]:
    """With --run-count: every run if the file has them and they are few, else best and worst.

    Last comes memtier's average.
    """
    each = {f"run {named[1]}": key for key in whole if (named := _RUN.fullmatch(key))}
    ends = {name: key for name, key in _ENDS.items() if key in whole}
    if not each and not ends:
        raise fault("ALL STATS is missing", at, "wait for memtier's end")
    if not ends and len(each) > SERIES_MOST:
        raise fault(f"it has more than {SERIES_MOST} runs", at, ALONE)
    average = _average(whole, at)
    if each and len(each) <= SERIES_MOST:
        made = [*_all(whole, each, at), *average]
        if len(made) <= SERIES_MOST or not ends:
            return made
    note = "Of several runs the best and the worst are shown, by memtier's requests/s."
    best = [replace(one, notes=(*one.notes, note)) for one in _all(whole, ends, at)]
    return [*best, *average]


def _average(whole: dict[str, Any], at: str) -> list[Series]:
    """Memtier's average of its runs; [] if the file has none.

    Counts and histograms are sums over the runs; rates and the mean time are means of theirs
    (`run_stats::aggregate_average`). Its length is 0 or a sum, by version, so none is taken.
    """
    named = next(filter(None, map(_AVERAGE.fullmatch, whole)), None)
    if named is None:
        return []
    key, runs = named[0], named[1]
    note = (
        f"Its times are those of all {runs} together; its rate is the mean of their rates. "
        "A mean time that memtier printed is the mean of theirs."
    )
    return [
        replace(one, seconds=None, notes=(*one.notes, note))
        for one in _run(whole, key, f"average of {runs}", at)
    ]


def _all(whole: dict[str, Any], runs: Mapping[str, str], at: str) -> list[Series]:
    return [one for name, key in runs.items() for one in _run(whole, key, name, at)]


def _run(whole: dict[str, Any], key: str, run: str, at: str) -> list[Series]:
    stats = table(whole.get(key), key, at)
    runtime = stats.get("Runtime")
    seconds = None
    if isinstance(runtime, dict) and "Total duration" in runtime:
        seconds = number(runtime["Total duration"], "Total duration", at) / 1e3
    each = {name: one for name, one in stats.items() if name not in _OTHERS}
    series = [
        _series(name, one, seconds, at)
        for name, one in each.items()
        if isinstance(one, dict) and one.get("Count")
    ]
    operations = [one for one in series if one.name != TOTALS]
    if len(operations) == 1:  # memtier counts errors of connections in its totals alone
        failed = _failed(each.get(TOTALS), at)
        series = [replace(operations[0], failed=failed or operations[0].failed)]
    cut = isinstance(runtime, dict) and str(runtime.get("Interrupted")).lower() == "true"
    notes = (_INTERRUPTED,) if cut else ()
    return [
        replace(one, name=f"{run} {one.name}".lstrip(), notes=(*one.notes, *notes))
        for one in series
    ]


def _failed(operation: Any, at: str) -> dict[str, int]:
    errors = operation.get(_ERRORS, 0) if isinstance(operation, dict) else 0
    n = count(errors, _ERRORS, at)
    return {"connection errors": n} if n else {}


def _series(name: str, operation: dict[str, Any], seconds: float | None, at: str) -> Series:
    inner = table(operation.get("Percentile Latencies"), f"{name}: Percentile Latencies", at)
    times = _times(inner, f"{at}: {name}")
    stated: dict[float | None, float] = {
        quantile(named[1]): time_ns(value, f"{name} {key}", at, unit_ns=_MS)
        for key, value in inner.items()
        if (named := _PERCENTILE.fullmatch(key)) and (times is not None or key != _CUT)
    }
    for key in ("Average Latency", "Latency"):
        if operation.get(key):  # the Totals' is 0 in versions that do not fill it in
            stated[None] = time_ns(operation[key], f"{name} {key}", at, unit_ns=_MS)
            break
    most = operation.get("Max Latency")
    return Series(
        facts=FACTS,
        name=name,
        times=times,
        stated=stated,
        requests=count(operation["Count"], f"{name} Count", at),
        failed=_failed(operation, at),
        is_failed_known=False,
        seconds=seconds,
        rate_rps=number(operation.get("Ops/sec"), f"{name} Ops/sec", at),
        most_ns=time_ns(most, "Max Latency", at, unit_ns=_MS) if most is not None else None,
        notes=(_ERROR_REPLIES,),
    )


def _times(inner: dict[str, Any], at: str) -> Times | None:
    """The histogram, in µs; versions before 1.4 have none."""
    log = inner.get("Histogram log format")
    packed = log.get("Compressed Histogram") if isinstance(log, dict) else None
    return decoded(packed, at, unit_ns=_US) if isinstance(packed, str) and packed else None


FORMAT = Format(
    name="memtier", about="memtier_benchmark --json-out-file FILE", is_it=is_it, read=read
)
