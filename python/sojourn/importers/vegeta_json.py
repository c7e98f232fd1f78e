"""`vegeta encode`: a JSON object for each request, on a line of its own."""

from __future__ import annotations

from collections import Counter

from sojourn.importers.durations import seconds_of
from sojourn.importers.file import File, count, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.groups import Groups
from sojourn.importers.series import Series
from sojourn.importers.vegeta_facts import FIRST, reason, series_of


def is_it(head: str) -> bool:
    """Whether the first line is one of vegeta's."""
    first = head.partition("\n")[0]
    return first.startswith("{") and '"latency":' in first and '"bytes_out":' in first


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are ns
    """A series for each attack, by the name that it has."""
    attacks, begun = Groups(), Counter[int]()
    for at, row in file.objects():
        requests = attacks.of(str(row.get("attack") or ""), at)
        begun[id(requests)] += str(row.get("seq")) == FIRST
        ns = time_ns(row.get("latency"), "latency", at, unit_ns=1)
        why = reason(count(row.get("code", 0), "code", at), str(row.get("error") or ""))
        start_s = seconds_of(row.get("timestamp"), at)
        if why:
            requests.fail(why, start_s, ns)
        else:
            requests.add(start_s, ns, at)
    return series_of(attacks, begun, file.at)


FORMAT = Format(name="vegeta-json", about="vegeta encode RESULTS", is_it=is_it, read=read)
