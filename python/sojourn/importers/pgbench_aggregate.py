"""`pgbench --log --aggregate-interval`: sums of each interval, and so no quantile."""

from __future__ import annotations

import re
from collections import Counter

from sojourn.importers.file import File, count, fault, number, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.pgbench_facts import FACTS, RATED
from sojourn.importers.series import Series

_US = 1e3
_LEAST = 6
_LAG, _FAILURES = 6, {10: "skipped", 13: "serialization", 14: "deadlock"}  # since PostgreSQL 15


def is_it(head: str) -> bool:
    """Whether the first line is one of pgbench's: a time, a count, and sums."""
    return bool(re.match(r"\d{9,11} \d+ \d+ \d+ \d+ \d+( \d+){0,12}\r?\n", head))


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are µs
    """One series: how many, their mean, and the longest."""
    total, sum_ns, most_ns, has_lag = 0, 0.0, 0.0, False
    failed: Counter[str] = Counter()
    for at, line in file.lines():
        fields = line.split(" ")
        if len(fields) < _LEAST:
            raise fault(f"this line has {len(fields)} fields, pgbench's have more", at)
        number(fields[0], "start", at)
        total += count(fields[1], "transactions", at)
        sum_ns += time_ns(fields[2], "sum of times", at, unit_ns=_US)
        most_ns = max(most_ns, time_ns(fields[5], "longest time", at, unit_ns=_US))
        has_lag = has_lag or (len(fields) > _LAG and number(fields[_LAG], "sum of lags", at) > 0)
        for place, why in _FAILURES.items():
            if place < len(fields) and (n := count(fields[place], why, at)):
                failed[why] += n
    if not total:
        raise fault("no transaction is counted in it", file.at, "run pgbench for longer")
    return [
        Series(
            facts=RATED if has_lag else FACTS,
            stated={None: sum_ns / total},
            requests=total,
            failed=dict(failed),
            seconds=None,
            most_ns=most_ns,
            notes=(
                "The log has sums of intervals; without --aggregate-interval it has all times.",
            ),
        )
    ]


FORMAT = Format(
    name="pgbench-aggregate", about="pgbench --log --aggregate-interval", is_it=is_it, read=read
)
