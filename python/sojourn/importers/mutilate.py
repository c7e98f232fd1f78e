"""What mutilate and mcperf print: percentiles of reads and of updates.

A head names the columns. Where mutilate's two heads differ, that of --scan is wrong: it names
`std` "min" and the shortest time "1st". Neither is read.
"""

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
    merged="All threads count into one histogram. Its bins are up to 10 % wide, and percentiles "
    "are interpolated in them. Requests of agents (-a) are in the rate and not in the times.",
    omission="Coordinated omission is in it: how long a due request waited is in no number, and "
    "with --skip it is never sent.",
)
_US = 1e3
_HEAD = re.compile(r"^#type +(avg .*(?:99th|p99).*)$", re.MULTILINE)
_ROW = re.compile(r"^(read|update) +(\d.*)$", re.MULTILINE)
_TOTAL = re.compile(r"^Total QPS = (\S+) \((\d+) / (\S+)s\)", re.MULTILINE)
_SKIPPED = re.compile(r"^Skipped TXs = (\d+)", re.MULTILINE)
_PERCENT = re.compile(r"p(99)(\d{1,2})|p(\d{1,2})|(\d{1,2})th")  # of mcperf: p5, p99, p999
_SCAN = ["QPS", "target"]  # the last columns with --scan, and with --qps_interval of mcperf


def is_it(head: str) -> bool:
    """Whether it looks like what mutilate printed."""
    return bool(_HEAD.search(head))


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are µs
    """Of each run a series for reads and for updates, or for each rate of --scan."""
    return runs.each(file.text(), file.at, _HEAD, _run)


def _run(text: str, at: str) -> list[Series]:
    head = _HEAD.search(text)
    lines = [(kind, fields.split()) for kind, fields in _ROW.findall(text)]
    if not head or not lines:
        raise fault("it has no head or no line of reads", at, "keep all that mutilate prints")
    names = head[1].split()
    for kind, fields in lines:
        if len(fields) != len(names):
            what = f"a line of {kind} has {len(fields)} numbers, its head {len(names)} names"
            raise fault(what, at, "wait for mutilate's end, and keep all")
    if names[-len(_SCAN) :] == _SCAN:
        return [_scanned(kind, names, fields, at) for kind, fields in lines]
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
            stated=_stated(kind, names, fields, at),
            is_failed_known=False,
            requests=count(total[2], "requests", at) if is_single else None,
            stated_over=count(total[2], "requests", at),
            seconds=number(total[3], "seconds", at),
            rate_rps=number(total[1], "Total QPS", at),
            notes=tuple(notes),
        )
        for kind, fields in ran
    ]


def _scanned(kind: str, names: list[str], fields: list[str], at: str) -> Series:
    rate, target = fields[-len(_SCAN) :]
    return Series(
        facts=FACTS,
        name=f"{kind} at {count(target, 'target', at):,}/s",
        stated=_stated(kind, names, fields, at),
        is_failed_known=False,
        rate_rps=number(rate, "QPS", at),
        notes=("Of a scan mutilate does not say how many requests a rate had.",),
    )


def _stated(kind: str, names: list[str], fields: list[str], at: str) -> dict[float | None, float]:
    """The mean, and each percentile by the name above it."""
    stated: dict[float | None, float] = {}
    for name, value in zip(names, fields, strict=True):
        q = _quantile(name)
        if name == "avg" or q is not None:
            stated[q] = time_ns(value, f"{kind} {name}", at, unit_ns=_US)
    return stated


def _quantile(name: str) -> float | None:
    """What a column is of: `99th`, or `p999` for 0.999."""
    named = _PERCENT.fullmatch(name)
    if not named:
        return None
    whole, more, *plain = named.groups()
    return quantile(f"{whole}.{more}" if more else plain[0] or plain[1])


FORMAT = Format(name="mutilate", about="what mutilate or mcperf prints", is_it=is_it, read=read)
