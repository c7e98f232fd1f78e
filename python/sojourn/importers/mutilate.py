"""What mutilate prints: percentiles of reads and of updates."""

from __future__ import annotations

import re

from sojourn.importers import runs
from sojourn.importers.durations import quantile
from sojourn.importers.file import File, count, fault, number, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.series import Facts, Series

FACTS = Facts(
    tool="mutilate",
    clock="send",
    loop="not known",
    start="Measured from the send of a request.",
    load="Without -q a closed loop: each connection has -d requests under way. With -q requests "
    "are due at random times and wait while -d are under way. The text does not say which.",
    merged="All threads count into one histogram. Its bins are 10 % wide, and percentiles are "
    "interpolated in them. Requests of agents (-a) are in the rate and not in the times.",
    omission="Coordinated omission is in it: how long a due request waited is in no number, and "
    "with --skip it is never sent.",
)
_US = 1e3
_HEAD = re.compile(r"^#type +avg .*99th.*$", re.MULTILINE)
_ROW = re.compile(r"^(read|update) +(\d.*)$", re.MULTILINE)
_TOTAL = re.compile(r"^Total QPS = (\S+) \((\d+) / (\S+)s\)", re.MULTILINE)
_SKIPPED = re.compile(r"^Skipped TXs = (\d+)", re.MULTILINE)
# Where both of mutilate's heads and its numbers agree: with --scan the head names `std` "min".
_COLUMNS = {0: None, 3: "5", 4: "10", 5: "90", 6: "95", 7: "99"}
_SCAN = 10  # columns: rate and target follow


def is_it(head: str) -> bool:
    """Whether it looks like what mutilate printed."""
    return bool(_HEAD.search(head))


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are µs
    """Of each run a series for reads and for updates, or for each rate of --scan."""
    return runs.each(file.text(), file.at, _HEAD, _run)


def _run(text: str, at: str) -> list[Series]:
    lines = [(kind, fields.split()) for kind, fields in _ROW.findall(text)]
    if not lines:
        raise fault("it has no line of reads", at, "wait for mutilate's end, and keep all")
    if len(lines[0][1]) == _SCAN:
        return [_scanned(kind, fields, at) for kind, fields in lines]
    total, skipped = _TOTAL.search(text), _SKIPPED.search(text)
    if not total:
        raise fault("it ends before the totals", at, "wait for mutilate's end, and keep all")
    ran = [(kind, fields) for kind, fields in lines if number(fields[0], kind, at)]
    if not ran:
        raise fault("no request in it has a time", at, "run mutilate for longer")
    is_single = len(ran) == 1
    late = count(skipped[1], "Skipped TXs", at) if skipped else 0
    notes: list[str] = []
    if late:
        notes.append(f"mutilate skipped {late:,} requests, because others were late.")
    if not is_single:
        notes.append("It does not say how many of the requests are reads: rates are of both.")
    return [
        Series(
            facts=FACTS,
            name="" if is_single else kind,
            stated=_stated(kind, fields, at),
            is_failed_known=False,
            requests=count(total[2], "requests", at) if is_single else None,
            seconds=number(total[3], "seconds", at),
            rate_rps=number(total[1], "Total QPS", at),
            notes=tuple(notes),
        )
        for kind, fields in ran
    ]


def _scanned(kind: str, fields: list[str], at: str) -> Series:
    if len(fields) != _SCAN:
        raise fault(f"a line of {kind} has {len(fields)} numbers, not {_SCAN}", at)
    return Series(
        facts=FACTS,
        name=f"{kind} at {count(fields[9], 'target', at):,}/s",
        stated=_stated(kind, fields, at),
        is_failed_known=False,
        rate_rps=number(fields[8], "QPS", at),
        notes=("Of a scan mutilate does not say how many requests a rate had.",),
    )


def _stated(kind: str, fields: list[str], at: str) -> dict[float | None, float]:
    if len(fields) < len(_COLUMNS) + 2:
        raise fault(f"its line of {kind} is cut short", at, "keep all that mutilate prints")
    return {
        percent if percent is None else quantile(percent): time_ns(
            fields[column], f"{kind} {percent or 'avg'}", at, unit_ns=_US
        )
        for column, percent in _COLUMNS.items()
    }


FORMAT = Format(name="mutilate", about="what mutilate prints", is_it=is_it, read=read)
