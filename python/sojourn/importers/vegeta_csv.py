"""`vegeta encode --to csv`: a row for each request, without a head."""

from __future__ import annotations

import re
from collections import Counter

from sojourn.importers.file import File, count, fault, number, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.groups import Groups
from sojourn.importers.series import Series
from sojourn.importers.tables import CUT, fields_of
from sojourn.importers.vegeta_facts import FIRST, reason, series_of

_FIELDS = (
    12  # time, code, latency, bytes out and in, error, body, attack, number, method, URL, head
)


def is_it(head: str) -> bool:
    """Whether the first row is one of vegeta's."""
    return bool(re.match(r"\d{16,20},\d{1,3},\d+,\d+,\d+,", head))


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are ns
    """A series for each attack, by the name that it has."""
    attacks, begun = Groups(), Counter[int]()
    for at, row in fields_of(file):
        if len(row) != _FIELDS:
            raise fault(f"this row has {len(row)} fields, vegeta's have {_FIELDS}", at, CUT)
        ns = time_ns(row[2], "latency", at, unit_ns=1)
        requests = attacks.of(row[7], at)
        begun[id(requests)] += row[8] == FIRST
        start_s = number(row[0], "timestamp", at) / 1e9
        if why := reason(count(row[1], "code", at), row[5]):
            requests.fail(why, start_s, ns)
        else:
            requests.add(start_s, ns, at)
    return series_of(attacks, begun, file.at)


FORMAT = Format(name="vegeta-csv", about="vegeta encode --to csv RESULTS", is_it=is_it, read=read)
