"""What wrk prints; wrk2's text begins alike (`wrk2`)."""

from __future__ import annotations

import re
from dataclasses import replace

from sojourn.importers import runs
from sojourn.importers.durations import duration_ns, length_s, quantile
from sojourn.importers.file import ALONE, File, count, fault
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
HEAD = re.compile(r"^ *Running .* test @ ", re.MULTILINE)
_LATENCY = re.compile(r"^ +Latency +(\S+) +\S+ +(\S+) +\S+$", re.MULTILINE)
# A unit of one letter has a blank behind it: "1.20s ".
_PERCENTILE = re.compile(r"^ +(\d+(?:\.\d+)?)% +(\S+) *$", re.MULTILINE)
_TOTAL = re.compile(r"^ +(\d+) requests in (\S+),", re.MULTILINE)
_SOCKET = re.compile(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)")
_STATUS = re.compile(r"Non-2xx or 3xx responses: (\d+)")
_RATE = re.compile(r"^Requests/sec: +(\S+)", re.MULTILINE)


def is_it(head: str) -> bool:
    """Whether wrk printed it, and not wrk2."""
    return is_text(head) and not is_wrk2(head)


def is_text(head: str) -> bool:
    """Whether one of the two printed it."""
    return bool(re.match(r"\s*Running .* test @ .*\n +\d+ threads and \d+ connections", head))


def is_wrk2(text: str) -> bool:
    """Whether a text of one of the two has what wrk2 alone prints."""
    return "HdrHistogram" in text or "Thread calibration" in text


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - units are in the text
    """A series for each run: what wrk printed."""
    return runs.each(file.text(), file.at, HEAD, _run)


def _run(text: str, at: str) -> list[Series]:
    if is_wrk2(text):
        raise fault("this is a text of wrk2, not of wrk", at, ALONE)
    percentiles = _PERCENTILE.findall(text)
    if "Latency Distribution" in text and not percentiles:
        raise fault("its latency distribution has no line", at, "keep all that wrk prints")
    stated: dict[float | None, float] = {
        quantile(p): duration_ns(time, f"{p}%", at) for p, time in percentiles
    }
    notes = () if stated else ("Run wrk with --latency for its percentiles.",)
    return [_without_late(common(text, at, FACTS, stated, notes))]


def _without_late(series: Series) -> Series:
    """The replies in time: wrk counts a late one as a request, too, and drops its time."""
    late = series.failed.get("timeout", 0)
    all_ = series.stated_over or 0
    if not late or late > all_:  # wrk 3 counted waits, not replies
        return series
    note = "Replies slower than wrk's --timeout are in no number: they count as failed."
    return replace(
        series,
        requests=max(0, (series.requests or 0) - late),
        stated_over=all_ - late,
        most_ns=series.most_ns if late < all_ else None,
        notes=(*series.notes, note),
    )


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
    return Series(
        facts=facts,
        stated={**stated, None: duration_ns(mean[1], "Latency Avg", at)} if all_ else {},
        requests=all_ - bad,
        stated_over=all_,
        failed=reasons,
        seconds=length_s(total[2], all_, rate[1], at),
        most_ns=duration_ns(mean[2], "Latency Max", at) if all_ else None,
        notes=notes,
    )


FORMAT = Format(name="wrk", about="what wrk --latency prints", is_it=is_it, read=read)
