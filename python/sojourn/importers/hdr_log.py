"""HdrHistogram's interval log (V2): a histogram for each interval and tag."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace

from sojourn.importers.file import File, fault, number
from sojourn.importers.format import Format, Options
from sojourn.importers.groups import short
from sojourn.importers.packed import decoded
from sojourn.importers.series import Facts, Series
from sojourn.stats.times import Times, merge

FACTS = Facts(
    tool="HdrHistogram log",
    clock="not known",
    loop="not known",
    start="From when times were measured, the log does not say: the tool that wrote it knows.",
    load="What made the load, the log does not say.",
    merged="Histograms of intervals are added, which loses nothing.",
    omission="Whether coordinated omission is in it, or was corrected by invented times, the log "
    "does not say.",
)
_LINE = re.compile(r"^(Tag=[^,]*,)?\d+\.\d+,\d+\.\d+,\d+\.\d+,HIST", re.MULTILINE)
OWN = Facts(
    tool="Sojourn log",
    clock="intended",
    loop="open",
    start="Measured from the time at which the request was due by the schedule.",
    load="An open loop: requests are sent when they are due.",
    merged="Histograms of intervals are added, which loses nothing.",
    omission="A stop of the server is in the numbers. Requests of the client's own outages are "
    "only in the series 'all'.",
)
_OWN_MARK, _HOUR_NS = "sojourn times, ns; failed requests as one hour", 3.59e12
_OWN_FAILED = "failed, which count as infinitely slow"
MOST = 100_000  # intervals
UNIT_NS = 1.0


def is_it(head: str) -> bool:
    """Whether it is such a log."""
    return bool(_LINE.search(head))


def read(file: File, options: Options) -> list[Series]:
    """A series for each tag."""
    by_tag: dict[str, list[Times]] = defaultdict(list)
    spans: dict[str, float] = defaultdict(float)
    unit = options.unit_ns or UNIT_NS
    total, is_own, has_more = 0, False, False
    for at, line in file.lines():
        if line.startswith(("#", '"')):
            is_own = is_own or _OWN_MARK in line
            has_more = has_more or (total > 0 and line.startswith("#[StartTime"))
            continue
        tag, start, length, packed = _fields(line, at)
        number(start, "StartTimestamp", at)
        spans[tag] += number(length, "Interval_Length", at)
        by_tag[tag].append(decoded(packed, at, unit_ns=unit))
        total += 1
        if total > MOST or len(by_tag) > 100:
            raise fault("there are more intervals or tags than are read", at, "give a shorter log")
    made = [
        _own(tag, some, spans[tag]) if is_own else _series(tag, some, spans[tag], options)
        for tag, some in by_tag.items()
        if any(t.n for t in some)
    ]
    if not made:
        raise fault("no interval in it has a value", file.at, "run the tool for longer")
    note = "The log has several heads, so its numbers may be of several runs together."
    return [replace(one, notes=(*one.notes, note)) for one in made] if has_more else made


def _fields(line: str, at: str) -> tuple[str, str, str, str]:
    tag = ""
    if line.startswith("Tag="):
        tag, _, line = line.removeprefix("Tag=").partition(",")
    fields = line.split(",")
    if len(fields) != 4 or not re.fullmatch(r"[A-Za-z0-9+/=]+", fields[3].strip()):
        what = "this is no line of start, length, maximum and histogram"
        raise fault(what, at, "the file may be cut short; run the tool again")
    return short(tag), fields[0], fields[1], fields[3].strip()


def _series(tag: str, slices: list[Times], seconds: float, options: Options) -> Series:
    times = merge(slices)
    note = "The log does not say its unit; ns was taken. Give --unit for another."
    return Series(
        facts=FACTS,
        name=tag,
        times=times,
        slices=tuple(slices),
        requests=times.n,
        is_failed_known=False,
        seconds=seconds or None,
        most_ns=float(times.hi_ns.max()),  # bins of several widths end in any order
        notes=() if options.unit_ns else (note,),
    )


def _own(tag: str, slices: list[Times], seconds: float) -> Series:
    """A log of this lab: its unit, its schedule and its value of a failed request are known."""
    parts = tuple(map(_without_failed, slices))
    times = merge(parts)
    return Series(
        facts=OWN,
        name=tag,
        times=times,
        slices=parts,
        requests=times.finite,
        failed={_OWN_FAILED: times.lost} if times.lost else {},
        seconds=seconds or None,
        most_ns=float(times.hi_ns[-1]) if times.finite else None,
    )


def _without_failed(times: Times) -> Times:
    is_done = times.hi_ns < _HOUR_NS
    return Times(
        lo_ns=times.lo_ns[is_done],
        hi_ns=times.hi_ns[is_done],
        count=times.count[is_done],
        lost=int(times.count[~is_done].sum()),
    )


FORMAT = Format(
    name="hdr-log", about="HdrHistogram interval log, version 1.2 or 1.3", is_it=is_it, read=read
)
