"""`vegeta report -type=json`: percentiles of all requests, failed ones too."""

from __future__ import annotations

import re
from typing import Any

from sojourn.importers.durations import quantile
from sojourn.importers.file import File, count, fault, is_success, number, table, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.series import Series
from sojourn.importers.vegeta_facts import FACTS

_SKETCH = "vegeta estimates percentiles from a sketch (t-digest), and not from every time."
_PERCENTILE = re.compile(r"(\d+(?:\.\d+)?)th")


def is_it(head: str) -> bool:
    """Whether it looks like what vegeta reports."""
    return bool(re.match(r'\s*\{\s*"latencies"\s*:', head)) and '"bytes_in":' in head


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are ns
    """One series of what the report states."""
    whole = file.document()
    latencies = table(whole.get("latencies"), "latencies", file.at)
    stated: dict[float | None, float] = {
        quantile(named[1]): time_ns(value, key, file.at, unit_ns=1)
        for key, value in latencies.items()
        if (named := _PERCENTILE.fullmatch(key))
    }
    stated[None] = time_ns(latencies.get("mean"), "mean", file.at, unit_ns=1)
    most_ns = time_ns(latencies.get("max"), "max", file.at, unit_ns=1)
    all_ = count(whole.get("requests"), "requests", file.at)
    failed = _failed(whole, all_, file.at)
    bad = sum(failed.values())
    mixed = ("The times of failed requests are in its percentiles.",) if bad else ()
    return [
        Series(
            facts=FACTS,
            stated=stated,
            requests=all_ - bad,
            stated_over=all_,
            failed=failed,
            seconds=_seconds(whole, file.at),
            rate_rps=number(whole.get("throughput"), "throughput", file.at),
            most_ns=most_ns if all_ else None,
            notes=(*mixed, _SKETCH),
        )
    ]


def _seconds(whole: dict[str, Any], at: str) -> float:
    """Length of the run: vegeta counts the wait for the last reply apart, and in its rate."""
    attack_ns = time_ns(whole.get("duration"), "duration", at, unit_ns=1)
    return (attack_ns + time_ns(whole.get("wait", 0), "wait", at, unit_ns=1)) / 1e9


def _failed(whole: dict[str, Any], all_: int, at: str) -> dict[str, int]:
    """Replies by status, and status 0 where there was none."""
    codes = table(whole.get("status_codes"), "status_codes", at)
    reasons = {
        f"status {code}" if code != "0" else "no reply": count(n, f"status {code}", at)
        for code, n in codes.items()
        if not is_success(code)
    }
    if sum(reasons.values()) > all_:
        raise fault(f"more than {all_} requests failed", at)
    return reasons


FORMAT = Format(name="vegeta-report", about="vegeta report -type=json", is_it=is_it, read=read)
