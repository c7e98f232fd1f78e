"""Numbers of a dump that have to agree, because it may be altered."""

from __future__ import annotations

from typing import Any

from sojourn.importers.file import count, fault, number, rows, time_ns

AGAIN = "dump again: kill -USR1 $(pidof sojourn-trace)"
NAMES = (("p50", "p50_ns"), ("p99", "p99_ns"), ("p99.9", "p999_ns"))
BLIND_MOST = 30


def requests(document: dict[str, Any], at: str) -> int:
    """How many requests there were, which are all in the bins of its histogram.

    Raises:
        SpecFault: they are not.
    """
    bins = rows(document.get("totals"), "totals", at)
    if any(not isinstance(one, list) or len(one) != 3 for one in bins):
        raise fault("a bin of its histogram is no list of three numbers", at, AGAIN)
    known = count(document.get("requests"), "requests", at)
    if sum(count(one[2], "totals", at) for one in bins) != known:
        raise fault("its bins and its number of requests do not agree", at, AGAIN)
    return known


def quantiles(document: dict[str, Any], at: str) -> dict[str, float | None]:
    """Quantiles by name, ns; None without enough requests.

    Raises:
        SpecFault: a higher one is shorter.
    """
    every = {
        name: None if document.get(key) is None else time_ns(document[key], key, at, unit_ns=1.0)
        for name, key in NAMES
    }
    known = [ns for ns in every.values() if ns is not None]
    if known != sorted(known):
        raise fault("its quantiles do not ascend", at, AGAIN)
    return every


def blind(table: dict[str, Any], at: str) -> dict[str, float]:
    """What is missing, by name.

    Raises:
        SpecFault: it lacks more than there was.
    """
    some = list(table.items())[:BLIND_MOST]
    every = {name[:100]: number(value, "blind", at) for name, value in some}
    if every.get("share", 0.0) > 1:
        raise fault(f"it lacks {every['share']:.3g} times what was slow", at, AGAIN)
    return every
