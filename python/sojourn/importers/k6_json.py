"""`k6 run --out json=FILE`: a line for each sample of each metric."""

from __future__ import annotations

from sojourn.importers.durations import seconds_of
from sojourn.importers.file import ALONE, File, fault, number, table, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.k6_facts import MS
from sojourn.importers.k6_samples import DROPPED, Samples
from sojourn.importers.series import Series


def is_it(head: str) -> bool:
    """Whether the first line is one of k6's."""
    first = head.partition("\n")[0]
    return first.startswith("{") and '"metric":' in first and '"type":' in first


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - the unit is in the file
    """Each protocol and scenario is a series."""
    samples = Samples()
    described: set[str] = set()
    for at, row in file.objects():
        metric = row.get("metric")
        if row.get("type") == "Metric" and isinstance(metric, str) and samples.has_use(metric):
            if metric in described:
                raise fault(f"{metric} is described again: it has several runs", at, ALONE)
            described.add(metric)  # k6 describes each once, before its first sample
            continue
        if row.get("type") != "Point" or not isinstance(metric, str) or not samples.has_use(metric):
            continue
        data = table(row.get("data"), "data", at)
        if metric == DROPPED:
            samples.drop(number(data.get("value"), "value", at))
            continue
        tags = data.get("tags")
        samples.add(
            metric,
            tags if isinstance(tags, dict) else {},
            end_s=seconds_of(data.get("time"), at),
            ns=time_ns(data.get("value"), "value", at, unit_ns=MS),
            at=at,
        )
    return samples.series(at=file.at, fix="give the file of `k6 run --out json=FILE`")


FORMAT = Format(name="k6-json", about="k6 run --out json=FILE", is_it=is_it, read=read)
