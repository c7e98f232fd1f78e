"""`pgbench --log`: a line for each transaction.

Its fields: client, number, time (µs), script, end (s, and µs).
With --rate a lag follows. A time of "skipped" was late beyond --latency-limit; another word is an
error (PostgreSQL 15 and later).
"""

from __future__ import annotations

import re

from sojourn.importers.file import File, fault, number, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.pgbench_facts import FACTS, RATED
from sojourn.importers.requests import Requests
from sojourn.importers.series import Series

_US = 1e3
_PLAIN, _MOST = 6, 8  # fields: with lag, and with retries


def is_it(head: str) -> bool:
    """Whether the first line is one of pgbench's."""
    return bool(re.match(r"\d+ \d+ ([a-z]+|\d+) \d+ \d{9,11} \d{1,6}( \d+){0,2}\r?\n", head))


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are µs
    """One series of all its requests."""
    requests = Requests()
    has_lag = False
    for at, line in file.lines():
        fields = line.split(" ")
        if not _PLAIN <= len(fields) <= _MOST:
            what = f"this line has {len(fields)} fields, pgbench's have {_PLAIN} to {_MOST}"
            raise fault(what, at, "the file may be cut short")
        has_lag = has_lag or len(fields) > _PLAIN
        if fields[2].isalpha():
            requests.fail(fields[2])
            continue
        ns = time_ns(fields[2], "time", at, unit_ns=_US)
        end_s = number(fields[4], "end", at) + number(fields[5], "end", at) / 1e6
        requests.add(end_s - ns / 1e9, ns, at)
    return [requests.series(RATED if has_lag else FACTS, at=file.at)]


FORMAT = Format(name="pgbench", about="pgbench --log", is_it=is_it, read=read)
