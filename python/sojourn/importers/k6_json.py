"""`k6 run --out json=FILE`: a line for each sample of each metric."""

from __future__ import annotations

from sojourn.importers.durations import seconds_of
from sojourn.importers.file import File, fault, number, table, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.k6_facts import DURATIONS, FACTS, MS, lacking, reason
from sojourn.importers.requests import Requests
from sojourn.importers.series import Series

DROPPED = "dropped_iterations"


def is_it(head: str) -> bool:
    """Whether the first line is one of k6's."""
    first = head.partition("\n")[0]
    return first.startswith("{") and '"metric":' in first and '"type":' in first


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - the unit is in the file
    """Each protocol is a series."""
    by_metric: dict[str, Requests] = {}
    seen: set[str] = set()
    dropped = 0.0
    for at, row in file.objects():
        metric = row.get("metric")
        if row.get("type") != "Point" or not isinstance(metric, str):
            continue
        if metric not in DURATIONS and metric != DROPPED:
            if len(seen) < len(DURATIONS) + 20:
                seen.add(metric)
            continue
        data = table(row.get("data"), "data", at)
        if metric == DROPPED:
            dropped += number(data.get("value"), "value", at)
            continue
        tags = data.get("tags")
        tags = tags if isinstance(tags, dict) else {}
        into = by_metric.setdefault(metric, Requests())
        ns = time_ns(data.get("value"), "value", at, unit_ns=MS)
        end_s = seconds_of(data.get("time"), at)
        if tags.get("expected_response") == "false":  # k6 marks each HTTP reply
            into.fail(reason(tags))
        else:
            into.add(end_s - ns / 1e9, ns, at)
    if not by_metric:
        raise fault(lacking(seen), file.at, "give the file of `k6 run --out json=FILE`")
    notes = (f"k6 dropped {dropped:.0f} iterations, because no VU was free.",) if dropped else ()
    return [
        one.series(FACTS, at=file.at, name=DURATIONS[m] if len(by_metric) > 1 else "", notes=notes)
        for m, one in by_metric.items()
    ]


FORMAT = Format(name="k6-json", about="k6 run --out json=FILE", is_it=is_it, read=read)
