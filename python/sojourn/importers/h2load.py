"""What h2load prints: minimum, maximum and mean (`h2load_log` has each request)."""

from __future__ import annotations

import re

from sojourn.importers.durations import duration_ns
from sojourn.importers.file import File, count, fault
from sojourn.importers.format import Format, Options
from sojourn.importers.h2load_facts import FACTS
from sojourn.importers.series import Series

_TIME = re.compile(r"^time for request: +(\S+) +(\S+) +(\S+) ", re.MULTILINE)
_DONE = re.compile(r"^finished in (\S+), ", re.MULTILINE)
_REQUESTS = re.compile(
    r"^requests: (\d+) total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed, "
    r"(\d+) errored, (\d+) timeout",
    re.MULTILINE,
)


def is_it(head: str) -> bool:
    """Whether it looks like what h2load printed."""
    return head.lstrip().startswith("starting benchmark...")


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - units are in the text
    """One series of all its requests."""
    text = file.text()
    times, done, requests = _TIME.search(text), _DONE.search(text), _REQUESTS.search(text)
    if not times or not done or not requests:
        raise fault("it ends before the totals", file.at, "wait for h2load's end, and keep all")
    names = ("failed", "errored", "timeout")
    failed = dict(
        zip(names, (count(n, "requests", file.at) for n in requests.groups()[3:]), strict=True)
    )
    return [
        Series(
            facts=FACTS,
            stated={None: duration_ns(times[3], "mean", file.at)},
            requests=count(requests[3], "succeeded", file.at),
            failed={name: n for name, n in failed.items() if n},
            seconds=duration_ns(done[1], "finished in", file.at) / 1e9,
            most_ns=duration_ns(times[2], "max", file.at),
            notes=("h2load prints no percentile; --log-file FILE has each request.",),
        )
    ]


FORMAT = Format(name="h2load", about="what h2load prints", is_it=is_it, read=read)
