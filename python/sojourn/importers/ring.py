"""A dump of `sojourn-trace --ring`: all requests, and causes of slow ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.importers.file import File, count, fault, number, rows, table
from sojourn.importers.format import Format, Options
from sojourn.importers.series import Facts, Series
from sojourn.stats.times import Times
from sojourn.visible import in_line

FACTS = Facts(
    tool="Black box",
    clock="server",
    loop="not known",
    start="Measured in the server's kernel, from a request's bytes at TCP until its reply leaves.",
    load="Whatever load the service had: the black box watches and sends nothing.",
    merged="Every request is in one histogram of bins 0.8 % wide. The slow ones are stored singly.",
    omission="A stop of the server is in it, for the requests that had arrived. What a client held "
    "back because of the stop is not.",
)
_SCHEMA = '"schema":"sojourn.trace.ring/1"'
_CULPRITS = 5  # sentences
_LETTERS = 300


def is_it(head: str) -> bool:
    """Whether it looks like a dump."""
    return _SCHEMA in head.replace(" ", "")[:200]


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are ns
    """One series of all requests; the causes are notes."""
    whole, at = file.document(), file.at
    blind = table(whole.get("blind"), "blind", at)
    lo, hi, counts = _bins(rows(whole.get("totals"), "totals", at), at)
    n = int(counts.sum())
    if n != count(whole.get("requests"), "requests", at):
        raise fault("its bins and its number of requests do not agree", at, "dump again")
    return [
        Series(
            facts=FACTS,
            name=_text(table(whole.get("target"), "target", at).get("name")),
            times=Times(lo_ns=lo, hi_ns=hi, count=counts) if n else None,
            requests=n,
            is_failed_known=False,
            seconds=number(whole.get("duration_ns"), "duration_ns", at) / 1e9,
            notes=(*_about(whole, at), *_culprits(whole, at), _missing(blind, at)),
        )
    ]


def _bins(
    totals: list[Any], at: str
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Lower and upper edges, ns, and counts."""
    lo, hi, counts = [], [], []
    for row in totals:
        if not isinstance(row, list) or len(row) != 3:
            raise fault("a bin of its histogram is no list of three numbers", at, "dump again")
        lo.append(number(row[0], "totals", at))
        hi.append(number(row[1], "totals", at))
        counts.append(count(row[2], "totals", at))
        if hi[-1] < lo[-1] or (len(hi) > 1 and lo[-1] < hi[-2]):
            raise fault("the bins of its histogram do not ascend", at, "dump again")
    return np.array(lo), np.array(hi), np.array(counts, np.int64)


def _about(whole: dict[str, Any], at: str) -> tuple[str, ...]:
    """Why it was dumped, and the answer."""
    cause = table(whole.get("cause"), "cause", at)
    return tuple(
        f"{head}: {text}."
        for head, text in (
            ("Dumped because", _text(cause.get("about"))),
            ("Answer", _text(whole.get("answer"))),
        )
        if text
    )


def _culprits(whole: dict[str, Any], at: str) -> tuple[str, ...]:
    """What took the most time of the slow requests, and where it slept."""
    listed = []
    for row in rows(whole.get("culprits") or [], "culprits", at)[:_CULPRITS]:
        one = table(row, "culprits", at)
        share = number(one.get("share"), "share", at)
        stack = [_text(name) for name in rows(one.get("stack") or [], "stack", at)[:4]]
        where = f" In {' ← '.join(stack)}." if stack else ""
        listed.append(f"{share:.0%} of the slow requests' time: {_text(one.get('about'))}.{where}")
    return tuple(listed)


def _missing(blind: dict[str, Any], at: str) -> str:
    slow, stored = (count(blind.get(key), key, at) for key in ("slow_requests", "stored"))
    from_ms = number(blind.get("slow_from_ns"), "slow_from_ns", at) / 1e6
    return f"{stored:,} of {slow:,} requests of {from_ms:.3g} ms or longer are stored singly."


def _text(value: Any) -> str:
    """A text in one line: a process may have a line break in its name."""
    return in_line(value[:_LETTERS]) if isinstance(value, str) else ""


FORMAT = Format(name="ring", about="a dump of sojourn-trace --ring", is_it=is_it, read=read)
