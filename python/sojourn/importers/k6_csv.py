"""`k6 run --out csv=FILE`: a row for each sample of each metric."""

from __future__ import annotations

from sojourn.importers.durations import seconds_of
from sojourn.importers.file import File, fault, number, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.k6_facts import DURATIONS, FACTS, MS, lacking, reason
from sojourn.importers.requests import Requests
from sojourn.importers.series import Series
from sojourn.importers.tables import rows_of


def is_it(head: str) -> bool:
    """Whether the head of the table is k6's."""
    return head.startswith("metric_name,timestamp,metric_value,")


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - the unit is in the file
    """Each protocol is a series."""
    by_metric: dict[str, Requests] = {}
    seen: set[str] = set()
    for at, row in rows_of(file, ("metric_name", "timestamp", "metric_value")):
        metric = row["metric_name"]
        if metric not in DURATIONS:
            if len(seen) < len(DURATIONS) + 20:
                seen.add(metric)
            continue
        into = by_metric.setdefault(metric, Requests())
        ns = time_ns(row["metric_value"], "metric_value", at, unit_ns=MS)
        if row.get("expected_response") == "false":
            into.fail(reason(row))
        else:
            into.add(_when(row["timestamp"], at) - ns / 1e9, ns, at)
    if not by_metric:
        raise fault(lacking(seen), file.at, "give the file of `k6 run --out csv=FILE`")
    note = ("Its time stamps are whole seconds, so the order within a second is the file's.",)
    return [
        one.series(FACTS, at=file.at, name=DURATIONS[m] if len(by_metric) > 1 else "", notes=note)
        for m, one in by_metric.items()
    ]


def _when(text: str, at: str) -> float:
    """A time stamp: whole seconds, or a time of day if K6_CSV_TIME_FORMAT asked for one."""
    return (
        number(text, "timestamp", at) if text.replace(".", "").isdigit() else seconds_of(text, at)
    )


FORMAT = Format(name="k6-csv", about="k6 run --out csv=FILE", is_it=is_it, read=read)
