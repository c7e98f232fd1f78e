"""What h2load prints: a mean, and percentiles where it is newer."""

from __future__ import annotations

import re

from sojourn.importers import runs
from sojourn.importers.durations import coarse, digit_ns, duration_ns, length_s, quantile
from sojourn.importers.file import File, count, fault
from sojourn.importers.format import Format, Options
from sojourn.importers.h2load_facts import FACTS
from sojourn.importers.series import Series
from sojourn.units import show_length

_HEAD = re.compile(r"^starting benchmark\.\.\.", re.MULTILINE)
_COLUMNS = re.compile(r"^ +(min +max +\S.*)$", re.MULTILINE)
_TIME = re.compile(r"^(?:time for request|request +): +(\S.*)$", re.MULTILINE)
_MIDDLES = ("mean", "median")
_QUANTILE = re.compile(r"p(\d{1,2}(?:\.\d{1,6})?)")
_DONE = re.compile(r"^finished in (\S+), (\S+) req/s", re.MULTILINE)
_REQUESTS = re.compile(
    r"^requests: (\d+) total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed, "
    r"(\d+) errored, (\d+) timeout",
    re.MULTILINE,
)
_OTHER_STATUS = "status not 2xx or 3xx"
_MIXED = "The times of replies with another status are in its numbers."
SAMPLE_MOST = 1_000_000  # requests; `MAX_SAMPLES` in its h2load.cc
_SAMPLED = (
    f"h2load chooses up to {SAMPLE_MOST:,} requests at random for its numbers, so the longest time "
    "is not known."
)
_TAIL = 0.01  # of the whole length: less is rounding
_SHORTER = (
    "h2load took {} and counts {} of them (-D): its warm-up and the wait for the last "
    "replies are in no rate."
)
_NO_PERCENTILE = "h2load printed no percentile; --log-file FILE has each request."


def is_it(head: str) -> bool:
    """Whether it looks like what h2load printed."""
    return head.lstrip().startswith("starting benchmark...")


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - units are in the text
    """A series for each run."""
    return runs.each(file.text(), file.at, _HEAD, _run)


def _run(text: str, at: str) -> list[Series]:
    columns, times = _COLUMNS.search(text), _TIME.search(text)
    done, requests = _DONE.search(text), _REQUESTS.search(text)
    if not columns or not times or not done or not requests:
        raise fault("it ends before the totals", at, "wait for h2load's end, and keep all")
    row = dict(zip(columns[1].split(), times[1].split(), strict=False))  # "+/- sd" is two words
    failed = _failed(requests, at)
    bad = failed.get(_OTHER_STATUS, 0)
    succeeded = count(requests[3], "succeeded", at)
    stated = _stated(row, at)
    notes: tuple[str, ...] = () if len(stated) > 1 else (_NO_PERCENTILE,)
    over = succeeded + bad
    if over:
        notes += coarse("h2load", _digits(row, at))
    is_sampled = over > SAMPLE_MOST
    if is_sampled:
        notes = (*notes, _SAMPLED)
    # Replies of any status are in its rate: `req_success` in its h2load.cc.
    counted_s = length_s(done[1], over, done[2], at)
    whole_s = duration_ns(done[1], "length", at) / 1e9
    if abs(counted_s - whole_s) > _TAIL * whole_s:
        notes = (*notes, _SHORTER.format(show_length(whole_s), show_length(counted_s)))
    return [
        Series(
            facts=FACTS,
            stated=stated,
            requests=succeeded,
            stated_over=min(over, SAMPLE_MOST),
            failed=failed,
            seconds=counted_s,
            most_ns=duration_ns(row["max"], "max", at) if over and not is_sampled else None,
            notes=(*notes, _MIXED) if bad else notes,
        )
    ]


def _digits(row: dict[str, str], at: str) -> list[tuple[float, float]]:
    """The mean and each percentile, and what its last digit is worth, ns."""
    names = [name for name in row if name in _MIDDLES or _QUANTILE.fullmatch(name)]
    return [(duration_ns(row[n], n, at), digit_ns(row[n], n, at)) for n in names]


def _stated(row: dict[str, str], at: str) -> dict[float | None, float]:
    """The mean, and what percentiles there are."""
    if "mean" not in row:
        raise fault("its table of times has no mean", at, "keep all that h2load prints")
    stated: dict[float | None, float] = {None: duration_ns(row["mean"], "mean", at)}
    if "median" in row:
        stated[0.5] = duration_ns(row["median"], "median", at)
    for name, value in row.items():
        if named := _QUANTILE.fullmatch(name):
            stated[quantile(named[1])] = duration_ns(value, name, at)
    return {q: ns for q, ns in stated.items() if ns}  # what was rounded to 0 is no time


def _failed(requests: re.Match[str], at: str) -> dict[str, int]:
    """By reason: h2load counts a timeout among the errors, too, and an error among the failed."""
    failed, errored, late = (count(n, "requests", at) for n in requests.groups()[3:])
    errored = min(errored, failed)
    late = min(late, errored)
    reasons = {_OTHER_STATUS: failed - errored, "errored": errored - late, "timeout": late}
    return {why: n for why, n in reasons.items() if n}


FORMAT = Format(name="h2load", about="what h2load prints", is_it=is_it, read=read)
