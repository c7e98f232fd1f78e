"""`oha --output-format json`: percentiles, and the replies by status."""

from __future__ import annotations

import re
from typing import Any

from sojourn.importers.durations import quantile
from sojourn.importers.file import File, count, number, table, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.oha_facts import FACTS
from sojourn.importers.series import Series

_S = 1e9
_DEADLINE = "aborted due to deadline"
_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")


def is_it(head: str) -> bool:
    """Whether it looks like what oha wrote."""
    return head.lstrip().startswith("{") and '"successRate"' in head


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are seconds
    """One series; its histogram has eleven bins, from which no quantile is read."""
    whole = file.document()
    summary = table(whole.get("summary"), "summary", file.at)
    stated: dict[float | None, float] = {}
    for key, value in table(whole.get("latencyPercentiles"), "latencyPercentiles", file.at).items():
        named = _PERCENTILE.fullmatch(key)
        if named and value is not None:
            stated[quantile(named[1])] = time_ns(value, key, file.at, unit_ns=_S)
    if summary.get("average") is not None:
        stated[None] = time_ns(summary["average"], "average", file.at, unit_ns=_S)
    statuses = _counts(whole, "statusCodeDistribution", file.at)
    bad = {f"status {code}": n for code, n in statuses.items() if not "200" <= code < "400"}
    errors = _counts(whole, "errorDistribution", file.at)
    cut = errors.pop(_DEADLINE, 0)
    notes = ["The times of replies with another status are in its percentiles."] if bad else []
    notes += [f"{cut} requests were under way at the end and are not counted."] if cut else []
    slowest = summary.get("slowest")
    return [
        Series(
            facts=FACTS,
            stated=stated,
            requests=sum(statuses.values()) - sum(bad.values()),
            stated_over=sum(statuses.values()),
            failed=bad | errors,
            seconds=number(summary.get("total"), "total", file.at),
            most_ns=None if slowest is None else time_ns(slowest, "slowest", file.at, unit_ns=_S),
            notes=tuple(notes),
        )
    ]


def _counts(whole: dict[str, Any], name: str, at: str) -> dict[str, int]:
    counts = table(whole.get(name, {}), name, at)
    return {str(key)[:80]: count(n, f"{name} {key}", at) for key, n in counts.items()}


FORMAT = Format(name="oha-json", about="oha --output-format json", is_it=is_it, read=read)
