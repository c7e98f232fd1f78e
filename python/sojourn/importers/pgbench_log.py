"""`pgbench --log`: a line for each transaction.

Its fields: client, number, time (µs), script, end (s, and µs).
With --rate a lag follows (µs), and with --max-tries the number of retries. A time of "skipped" was
late beyond --latency-limit; another word is an error (PostgreSQL 15 and later).
"""

from __future__ import annotations

import re

from sojourn.importers.file import File, fault, number, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.pgbench_facts import FACTS, RATED, UNSURE
from sojourn.importers.requests import Requests
from sojourn.importers.series import Series

_US = 1e3
_PLAIN, _MOST = 6, 8  # fields: with lag, and with retries
_NOTE = "PostgreSQL up to 14 logs no transaction that failed, and this log names none."
_TRY_NS = 10e3  # a retry sends the whole transaction again, which takes longer


def is_it(head: str) -> bool:
    """Whether the first line is one of pgbench's."""
    return bool(re.match(r"\d+ \d+ ([a-z]+|\d+) \d+ \d{9,11} \d{1,6}( \d+){0,2}\r?\n", head))


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are µs
    """One series of all its requests."""
    requests = Requests()
    is_longer = has_lag = False
    for at, line in file.lines():
        fields = line.split(" ")
        if not _PLAIN <= len(fields) <= _MOST:
            what = f"this line has {len(fields)} fields, pgbench's have {_PLAIN} to {_MOST}"
            raise fault(what, at, "the file may be cut short")
        is_longer = is_longer or len(fields) > _PLAIN
        # Only with --rate are transactions skipped.
        has_lag = has_lag or len(fields) == _MOST or fields[2] == "skipped"
        if fields[2].isalpha():
            requests.fail(fields[2])
            continue
        ns = time_ns(fields[2], "time", at, unit_ns=_US)
        if len(fields) > _PLAIN:  # more than the retries for which there was time
            has_lag = has_lag or number(fields[_PLAIN], "lag or retries", at) * _TRY_NS > ns
        end_s = number(fields[4], "end", at) + number(fields[5], "end", at) / 1e6
        requests.add(end_s - ns / 1e9, ns, at)
    facts = RATED if has_lag else UNSURE if is_longer else FACTS
    names_failures = bool(requests.failed.keys() - {"skipped"})
    notes = () if names_failures else (_NOTE,)
    return [requests.series(facts, at=file.at, is_failed_known=names_failures, notes=notes)]


FORMAT = Format(name="pgbench", about="pgbench --log", is_it=is_it, read=read)
