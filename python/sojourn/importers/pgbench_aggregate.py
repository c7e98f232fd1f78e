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
_LAG, _SKIPPED = 6, 10
_DETAILED = ("serialization", "deadlock", "other error")
_FAILURES = {_SKIPPED: "skipped", **dict(enumerate(_DETAILED, 13))}
_OLD = 11  # fields of PostgreSQL 14 and older, where the number of transactions has skipped ones


def is_it(head: str) -> bool:
    """Whether the first line is one of pgbench's: a time, a count, and sums."""
    return bool(re.match(r"\d{9,11} \d+ \d+ \d+ \d+ \d+( \d+){0,12}\r?\n", head))


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are µs
    """One series: how many, their mean, and the longest."""
    total, sum_ns, most_ns, has_lag, width = 0, 0.0, 0.0, False, 0
    failed: Counter[str] = Counter()
    for at, line in file.rows():
        fields = line.split(" ")
        if len(fields) < _LEAST:
            raise fault(f"this line has {len(fields)} fields, pgbench's have more", at)
        width = width or len(fields)
        if len(fields) != width:
            what = f"this line has {len(fields)} fields, the first one {width}"
            raise fault(what, at, "the file may be cut short")
        number(fields[0], "start", at)
        total += _succeeded(fields, at)
        sum_ns += number(fields[2], "sum of times", at, scale=_US)
        most_ns = max(most_ns, time_ns(fields[5], "longest time", at, unit_ns=_US))
        # Versions up to 14 write no lags without --rate, later ones zeros.
        is_old = _LAG < len(fields) <= _OLD
        lag = number(fields[_LAG], "sum of lags", at) if len(fields) > _LAG else 0.0
        has_lag = has_lag or is_old or lag > 0
        for place, why in _FAILURES.items():
            if place < len(fields) and (n := count(fields[place], why, at)):
                failed[why] += n
    if not total and not failed:
        raise fault("no transaction is counted in it", file.at, "run pgbench for longer")
    return [
        Series(
            facts=RATED if has_lag else FACTS,
            stated={None: sum_ns / total} if total else {},
            requests=total,
            failed=dict(failed),
            # Without --failures-detailed they are 0 whatever failed.
            is_failed_known=any(why in failed for why in _DETAILED),
            seconds=None,
            most_ns=most_ns if total else None,
            notes=(
                "The log has sums of intervals; without --aggregate-interval it has all times.",
            ),
        )
    ]


def _succeeded(fields: list[str], at: str) -> int:
    """Transactions of an interval that have a time."""
    n = count(fields[1], "transactions", at)
    if len(fields) != _OLD:
        return n
    skipped = count(fields[_SKIPPED], "skipped", at)
    if skipped > n:
        raise fault(f"{skipped} of {n} transactions were skipped", at)
    return n - skipped


FORMAT = Format(
    name="pgbench-aggregate", about="pgbench --log --aggregate-interval", is_it=is_it, read=read
)
