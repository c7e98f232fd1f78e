"""`k6 run --out csv=FILE`: a row for each sample of each metric."""

from __future__ import annotations

from dataclasses import replace

from sojourn.importers.durations import seconds_of
from sojourn.importers.file import File, number, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.k6_facts import MS
from sojourn.importers.k6_samples import DROPPED, Samples
from sojourn.importers.series import Series
from sojourn.importers.tables import rows_of

LEAST_S = 10.0  # of a run for a rate: whole seconds are off by up to 1 s
# Steps of a second, and what a stamp of these years is at least: ns, µs, ms.
_STEPS = ((1e9, 1e17), (1e6, 1e14), (1e3, 1e11))
_WHOLE = (
    "Its time stamps are whole seconds: the order within a second is the file's, and a run below "
    f"{LEAST_S:.0f} s has no rate."
)


def is_it(head: str) -> bool:
    """Whether the head of the table is k6's."""
    return head.startswith("metric_name,timestamp,metric_value,")


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - the unit is in the file
    """Each protocol and scenario is a series."""
    samples, is_whole = Samples(), True
    for at, row in rows_of(file, ("metric_name", "timestamp", "metric_value")):
        metric = row["metric_name"]
        if not samples.has_use(metric):
            continue
        if metric == DROPPED:
            samples.drop(number(row["metric_value"], "metric_value", at))
            continue
        end_s, has_whole = _when(row["timestamp"], at)
        is_whole = is_whole and has_whole
        ns = time_ns(row["metric_value"], "metric_value", at, unit_ns=MS)
        samples.add(metric, row, end_s=end_s, ns=ns, at=at, has_whole=has_whole)
    fix = "give the file of `k6 run --out csv=FILE`"
    made = samples.series(at=file.at, fix=fix, notes=(_WHOLE,) if is_whole else ())
    if not is_whole:
        return made
    return [one if (one.seconds or 0.0) >= LEAST_S else replace(one, seconds=None) for one in made]


def _when(text: str, at: str) -> tuple[float, bool]:
    """A time stamp, s, and whether it has whole seconds, in any form of K6_CSV_TIME_FORMAT."""
    has_whole = "." not in text
    if not text.replace(".", "").isdigit():
        return seconds_of(text, at), has_whole
    stamp = number(text, "timestamp", at)
    per_second = next((per for per, least in _STEPS if stamp >= least), 1.0)
    return stamp / per_second, has_whole and per_second == 1.0


FORMAT = Format(name="k6-csv", about="k6 run --out csv=FILE", is_it=is_it, read=read)
