"""`oha --output-format json`: percentiles of all replies, and counts by status."""

from __future__ import annotations

import re
from typing import Any

from sojourn.importers.durations import quantile
from sojourn.importers.file import File, count, fault, is_success, number, table, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.oha_facts import FACTS, MIXED, cut_off, reasons
from sojourn.importers.series import Series

_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d{1,6})?)")
_S = 1e9
KINDS_MOST = 10_000  # of errors; each has its text


def is_it(head: str) -> bool:
    """Whether it looks like what oha wrote."""
    return head.lstrip().startswith("{") and '"successRate"' in head and '"sizePerSec"' in head


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are seconds
    """One series: of the replies with status 2xx if oha wrote them apart, else of all."""
    whole, at = file.document(), file.at
    summary = table(whole.get("summary"), "summary", at)
    statuses = _counts(whole, "statusCodeDistribution", at)
    errors = _counts(whole, "errorDistribution", at)
    own = whole.get("latencyPercentilesSuccessful")  # --stats-success-breakdown
    is_apart = isinstance(own, dict)
    replies = sum(statuses.values())
    passed = tuple(code for code in statuses if is_success(code))
    failed = reasons(statuses, errors, passed=passed)
    bad = replies - sum(statuses[code] for code in passed)
    over = _apart(statuses) if is_apart else replies
    # Where no reply is in them, oha writes null.
    percentiles = table(own if is_apart else whole.get("latencyPercentiles"), "percentiles", at)
    stated = _stated(percentiles, at) if over else {}
    if over and not is_apart:
        stated[None] = time_ns(summary.get("average"), "average", at, unit_ns=_S)
    most = summary.get("slowest") if not bad else None
    seconds = number(summary.get("total"), "total", at)
    return [
        Series(
            facts=FACTS,
            stated=stated,
            requests=replies - bad,
            stated_over=over,
            failed=failed,
            seconds=seconds or None,
            most_ns=time_ns(most, "slowest", at, unit_ns=_S) if most is not None else None,
            notes=((MIXED,) if bad and not is_apart else ()) + cut_off(errors),
        )
    ]


def _apart(statuses: dict[str, int]) -> int:
    """Replies that oha takes for successful: 2xx alone."""
    return sum(n for code, n in statuses.items() if code.startswith("2"))


def _stated(percentiles: dict[str, Any], at: str) -> dict[float | None, float]:
    return {
        quantile(named[1]): time_ns(value, key, at, unit_ns=_S)
        for key, value in percentiles.items()
        if (named := _PERCENTILE.fullmatch(key))
    }


def _counts(whole: dict[str, Any], name: str, at: str) -> dict[str, int]:
    rows = table(whole.get(name), name, at)
    if len(rows) > KINDS_MOST:
        raise fault(f"{name} has more than {KINDS_MOST:,} kinds", at)
    return {key: count(n, f"{name} {key[:40]}", at) for key, n in rows.items()}


FORMAT = Format(name="oha-json", about="oha --output-format json", is_it=is_it, read=read)
