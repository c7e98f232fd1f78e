"""`memtier_benchmark --json-out-file FILE`: a histogram for each operation."""

from __future__ import annotations

import re
from typing import Any

from sojourn.importers.durations import quantile
from sojourn.importers.file import File, count, fault, number, table, time_ns
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
_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")
_OTHERS = {"Runtime", "Active Clients"}
_US, _MS = 1e3, 1e6


def is_it(head: str) -> bool:
    """Whether it looks like what memtier wrote."""
    return '"ALL STATS"' in head or bool(re.search(r'"(run_count|clients)"[^{]*"test_time"', head))


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - the unit is in the file
    """A series for each operation; their total where there are several."""
    stats = table(file.document().get("ALL STATS"), "ALL STATS", file.at)
    runtime = stats.get("Runtime")
    seconds = None
    if isinstance(runtime, dict) and "Total duration" in runtime:
        seconds = number(runtime["Total duration"], "Total duration", file.at) / 1e3
    each = {name: one for name, one in stats.items() if name not in _OTHERS}
    series = [
        _series(name, one, seconds, file.at)
        for name, one in each.items()
        if isinstance(one, dict) and one.get("Count")
    ]
    if not series:
        raise fault("it has no operation that ran", file.at, "run memtier for longer")
    single = len([one for one in series if one.name != "Totals"]) == 1
    return [one for one in series if not (single and one.name == "Totals")]


def _series(name: str, operation: dict[str, Any], seconds: float | None, at: str) -> Series:
    inner = table(operation.get("Percentile Latencies"), f"{name}: Percentile Latencies", at)
    stated: dict[float | None, float] = {
        quantile(named[1]): time_ns(value, f"{name} {key}", at, unit_ns=_MS)
        for key, value in inner.items()
        if (named := _PERCENTILE.fullmatch(key))
    }
    for key in ("Average Latency", "Latency"):
        if operation.get(key):  # the Totals' is 0 in versions that do not fill it in
            stated[None] = time_ns(operation[key], f"{name} {key}", at, unit_ns=_MS)
            break
    most = operation.get("Max Latency")
    errors = count(operation.get("Connection Errors", 0), "Connection Errors", at)
    return Series(
        facts=FACTS,
        name=name,
        times=_times(inner, f"{at}: {name}"),
        stated=stated,
        requests=count(operation["Count"], f"{name} Count", at),
        failed={"connection errors": errors} if errors else {},
        seconds=seconds,
        rate_rps=number(operation.get("Ops/sec"), f"{name} Ops/sec", at),
        most_ns=time_ns(most, "Max Latency", at, unit_ns=_MS) if most is not None else None,
    )


def _times(inner: dict[str, Any], at: str) -> Times | None:
    """The histogram, in µs; versions before 1.4 have none."""
    log = inner.get("Histogram log format")
    packed = log.get("Compressed Histogram") if isinstance(log, dict) else None
    return decoded(packed, at, unit_ns=_US) if isinstance(packed, str) and packed else None


FORMAT = Format(
    name="memtier", about="memtier_benchmark --json-out-file FILE", is_it=is_it, read=read
)
