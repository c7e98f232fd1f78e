"""`ghz --format json`: each request in `details`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sojourn.importers.durations import seconds_of
from sojourn.importers.file import File, count, fault, rows, table, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.groups import by_reason
from sojourn.importers.requests import Requests
from sojourn.importers.series import Facts, Series

FACTS = Facts(
    tool="ghz",
    clock="send",
    loop="closed",
    start="Measured from the begin of the call in gRPC's client to its end.",
    load="A closed loop of workers that share a pacer (--rps): a late call is in no number.",
    merged="All workers are in one list.",
    omission="Coordinated omission is in it: while all workers wait, nothing is sent.",
)
_CLOSED = ("Canceled", "Unavailable")  # of calls whose connection the end of the run closed
ASYNC = replace(
    FACTS,
    loop="open",
    load="An open loop at --rps, because --async was given.",
    omission="A stop of the server is in the numbers; a stop of ghz itself is not.",
)


def is_it(head: str) -> bool:
    """Whether it looks like what ghz wrote."""
    return '"endReason"' in head and '"fastest"' in head


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are ns
    """One series of all its requests."""
    whole, requests = file.document(), Requests()
    details = rows(whole.get("details"), "details", file.at)
    for number, row in enumerate(details):
        at = f"{file.at}: details[{number}]"
        one = table(row, "a request", at)
        ns = time_ns(one.get("latency"), "latency", at, unit_ns=1)
        start_s = seconds_of(one.get("timestamp"), at) - ns / 1e9  # it stamps the end
        status = str(one.get("status", ""))
        if one.get("error") or status != "OK":
            requests.fail(f"status {status or 'unknown'}", start_s, ns)
        else:
            requests.add(start_s, ns, at)
    if not requests.count and not requests.failed:
        raise fault("it has no request in its details", file.at, "run ghz with --format json")
    asked = whole.get("options")
    is_async = isinstance(asked, dict) and asked.get("async") is True
    series = requests.series(ASYNC if is_async else FACTS, at=file.at)
    all_ = count(whole.get("count", len(details)), "count", file.at)
    series = _counted(series, whole, all_, file.at) if all_ > len(details) else series
    return [replace(series, notes=(*series.notes, *_end(series, whole)))]


def _end(series: Series, whole: dict[str, Any]) -> tuple[str, ...]:
    """What the end of the run did to its calls."""
    if whole.get("endReason") == "cancel":
        return ("ghz was interrupted, so the run is shorter than it was to be.",)
    cut = sum(series.failed.get(f"status {name}", 0) for name in _CLOSED)
    if whole.get("endReason") != "timeout" or not cut:
        return ()
    note = (
        f"-z ended the run. Of {cut:,} calls that were cancelled or unavailable some may have been "
        "under way then, one for each worker at most; --duration-stop wait lets them end."
    )
    return (note,)


def _counted(series: Series, whole: dict[str, Any], all_: int, at: str) -> Series:
    """With the numbers of all calls: `details` ends after a million, the counts do not."""
    codes = table(whole.get("statusCodeDistribution"), "statusCodeDistribution", at)
    each = {code: count(n, f"status {code[:40]}", at) for code, n in codes.items()}
    passed = each.pop("OK", 0)
    listed = (series.requests or 0) + sum(series.failed.values())
    note = f"ghz lists the first {listed:,} of {all_:,} calls: of later ones there are no times."
    return replace(
        series,
        requests=passed,
        failed=by_reason((f"status {code}", n) for code, n in each.items()),
        seconds=time_ns(whole.get("total"), "total", at, unit_ns=1) / 1e9 or None,
        notes=(*series.notes, note),
    )


FORMAT = Format(name="ghz", about="ghz --format json", is_it=is_it, read=read)
