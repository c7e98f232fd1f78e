"""What wrk2 prints with `--latency`: a histogram as a table of percentiles."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from sojourn.importers import runs, wrk
from sojourn.importers.file import ALONE, File, count, fault, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.series import Facts, Series
from sojourn.stats.times import Times

FACTS = Facts(
    tool="wrk2",
    clock="intended",
    loop="open, limited",
    start="Measured from the time at which the request was due by the constant rate.",
    load="A constant rate for each connection, which has one request under way: due requests wait "
    "behind it, and their wait counts.",
    merged="All threads count into one histogram; the first seconds, in which wrk2 calibrates "
    "itself, are not in it.",
    omission="A stop of the server is in the numbers, and so is each stop of wrk2 itself and its "
    "timer of 1 ms: it cannot separate them.",
)
UNCORRECTED = replace(
    FACTS,
    clock="send",
    start="Measured from the send of a request: the second table that -U asks for.",
    omission="Coordinated omission is in it; the corrected table is beside it.",
)
_ROW = re.compile(r"^ +(\d+\.\d+) +\d\.\d+ +(\d+) +(?:\d+\.\d+|inf)$")
_HEAD = "Latency Distribution (HdrHistogram - "
_OF_WRK = "Latency Distribution\n"
_MS = 1e6


def is_it(head: str) -> bool:
    """Whether it looks like what wrk2 printed."""
    return wrk.is_text(head) and ("HdrHistogram" in head or "Thread calibration" in head)


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - units are in the text
    """Of each run the corrected histogram, and with -U the uncorrected one beside it."""
    return runs.each(file.text(), file.at, wrk.HEAD, _run)


def _run(text: str, at: str) -> list[Series]:
    if _OF_WRK in text:
        raise fault("this is a text of wrk, not of wrk2", at, ALONE)
    _, *parts = text.split(_HEAD)
    notes = () if parts else ("Run wrk2 with --latency for its histogram.",)
    series = _without_waits(wrk.common(text, at, FACTS, {}, notes))
    if not parts or not series.stated_over:
        return [series]
    return [_one(part, series, at) for part in parts]


def _without_waits(series: Series) -> Series:
    """Without the timeouts: wrk2 counts a connection that waits every two seconds again."""
    waits = series.failed.get("timeout", 0)
    if not waits:
        return series
    note = (
        f"wrk2 counted {waits:,} timeouts, each connection that waits again every 2 s. They are no "
        "number of requests, and slow replies are in its histogram."
    )
    return replace(
        series,
        failed={why: n for why, n in series.failed.items() if why != "timeout"},
        notes=(*series.notes, note),
    )


def _one(part: str, series: Series, at: str) -> Series:
    times = _times(part.splitlines(), at)
    note = (
        f"The histogram has {times.n:,} of {series.requests or 0:,} requests: those after the "
        "first seconds."
    )
    is_raw = part.startswith("Uncorrected")
    return replace(
        series,
        name="uncorrected" if is_raw else "",
        facts=UNCORRECTED if is_raw else FACTS,
        times=times,
        stated={} if is_raw else series.stated,
        most_ns=float(times.hi_ns[-1]),
        notes=(*series.notes, note),
    )


def _times(lines: list[str], at: str) -> Times:
    """The bins between rows of the table: (previous value, value] holds the counts added."""
    lo, hi, counts = [], [], []
    last_ns, last_count = -1.0, 0
    for line in lines:
        if line.startswith("#"):
            break
        row = _ROW.match(line)
        if not row:
            continue
        ns = time_ns(row[1], "Value", at, unit_ns=_MS)
        total = count(row[2], "TotalCount", at)
        if ns < last_ns or total < last_count:
            raise fault("the table of percentiles does not ascend", at)
        if total > last_count:
            lo.append(last_ns if last_ns >= 0 else ns)  # the first row is the shortest time
            hi.append(ns)
            counts.append(total - last_count)
        last_ns, last_count = ns, total
    else:
        raise fault("the table of percentiles has no end", at, "keep all that wrk2 prints")
    if not counts:
        raise fault("the table of percentiles is empty", at, "run wrk2 for 12 s or longer")
    return Times(lo_ns=np.array(lo), hi_ns=np.array(hi), count=np.array(counts, np.int64))


FORMAT = Format(name="wrk2", about="what wrk2 --latency prints", is_it=is_it, read=read)
