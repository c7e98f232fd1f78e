"""What wrk prints; wrk2's text begins alike (`wrk2`)."""

from __future__ import annotations

import re

from sojourn.importers.durations import duration_ns, quantile
from sojourn.importers.file import File, count, fault, number
from sojourn.importers.format import Format, Options
from sojourn.importers.series import Facts, Series

FACTS = Facts(
    tool="wrk",
    clock="send",
    loop="closed",
    start="Measured from the send of a request.",
    load="A closed loop: each connection sends its next request when it has the reply.",
    merged="All threads count into one histogram.",
    omission="wrk adds times to its histogram that it did not measure: after a reply slower than "
    "the mean time between requests of a connection, those of the requests it did not send. So "
    "these are guesses at what open load would have seen, and no interval can be given.",
)
_LATENCY = re.compile(r"^ +Latency +(\S+) +\S+ +(\S+) +\S+$", re.MULTILINE)
_PERCENTILE = re.compile(r"^ +(\d+(?:\.\d+)?)% +(\d\S*)$", re.MULTILINE)
_TOTAL = re.compile(r"^ +(\d+) requests in (\S+),", re.MULTILINE)
_SOCKET = re.compile(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)")
_STATUS = re.compile(r"Non-2xx or 3xx responses: (\d+)")
_RATE = re.compile(r"^Requests/sec: +(\S+)", re.MULTILINE)


def is_it(head: str) -> bool:
    """Whether wrk printed it, and not wrk2."""
    return is_text(head) and "HdrHistogram" not in head and "Thread calibration" not in head


def is_text(head: str) -> bool:
    """Whether one of the two printed it."""
    return bool(re.match(r"\s*Running .* test @ ", head))


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - units are in the text
    """One series: what wrk printed."""
    text = file.text()
    percentiles = _PERCENTILE.findall(text)
    stated: dict[float | None, float] = {
        quantile(p): duration_ns(time, f"{p}%", file.at) for p, time in percentiles
    }
    notes = () if stated else ("Run wrk with --latency for its percentiles.",)
    return [common(text, file.at, FACTS, stated, notes)]


def common(
    text: str, at: str, facts: Facts, stated: dict[float | None, float], notes: tuple[str, ...]
) -> Series:
    """What wrk and wrk2 print alike: mean, total, failures, rate."""
    total, mean, rate = _TOTAL.search(text), _LATENCY.search(text), _RATE.search(text)
    if not total or not mean or not rate:
        raise fault(
            "it ends before the totals", at, "wait for the tool's end, and keep all it prints"
        )
    statuses = _STATUS.search(text)
    sockets = _SOCKET.search(text)
    names = ("connect", "read", "write", "timeout")
    each = sockets.groups() if sockets else ("0",) * len(names)
    failed = {name: count(n, f"{name} errors", at) for name, n in zip(names, each, strict=True)}
    bad = count(statuses[1], "Non-2xx", at) if statuses else 0
    all_ = count(total[1], "requests", at)
    if bad > all_:
        raise fault(f"{bad} of {all_} replies have another status than 2xx or 3xx", at)
    reasons = {name: number for name, number in failed.items() if number}
    if bad:
        reasons["status not 2xx or 3xx"] = bad
        notes = (*notes, "The times of replies with another status are in its percentiles.")
    seconds = duration_ns(total[2], "length", at) / 1e9
    whole_rate = number(rate[1], "Requests/sec", at)
    return Series(
        facts=facts,
        stated={**stated, None: duration_ns(mean[1], "Latency Avg", at)},
        requests=all_ - bad,
        stated_over=all_,
        failed=reasons,
        seconds=all_ / whole_rate if whole_rate else seconds,
        most_ns=duration_ns(mean[2], "Latency Max", at),
        notes=notes,
    )


FORMAT = Format(name="wrk", about="what wrk --latency prints", is_it=is_it, read=read)
