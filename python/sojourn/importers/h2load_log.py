"""`h2load --log-file FILE`: start, status and time of each request, µs."""

from __future__ import annotations

import math
import re

from sojourn.importers.file import File, fault, is_success, number, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.h2load_facts import FACTS
from sojourn.importers.requests import Requests
from sojourn.importers.series import Series

_US = 1e3
_PAUSE_S = 1.0  # a run has a request under way at all times, unless --rps is low


def is_it(head: str) -> bool:
    """Whether the first line is one of h2load's."""
    return bool(re.match(r"\d{16}\t-?\d+\t\d+(\t\d+)?\r?\n", head))


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are µs
    """One series; status -1 is a request that failed."""
    requests = Requests()
    ended_s, pause_s = math.inf, 0.0
    for at, line in file.rows():
        fields = line.split("\t")
        if len(fields) < 3:
            raise fault("this line has no start, status and time", at, "the file may be cut short")
        start_s = number(fields[0], "start", at) / 1e6
        ns = time_ns(fields[2], "time", at, unit_ns=_US)
        if is_success(fields[1]):
            requests.add(start_s, ns, at)
        else:
            why = "no reply" if fields[1] == "-1" else f"status {fields[1]}"
            requests.fail(why, start_s, ns)
        pause_s = max(pause_s, start_s - ended_s)
        end_s = start_s + ns / 1e9
        ended_s = end_s if math.isinf(ended_s) else max(ended_s, end_s)
    note = (
        f"For {pause_s:,.1f} s no request was under way. h2load appends to its log, so the file "
        "may have several runs, and rate and length are then of all."
    )
    return [requests.series(FACTS, at=file.at, notes=(note,) if pause_s > _PAUSE_S else ())]


FORMAT = Format(name="h2load-log", about="h2load --log-file FILE", is_it=is_it, read=read)
