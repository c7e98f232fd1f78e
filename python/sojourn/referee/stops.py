"""Stops of the server that delayed a load tool, and pauses of the tool.

While all connections of a tool wait for replies, it sends nothing. So a stop shows as a gap between
arrivals in which no reply leaves although requests are in the server. A gap without requests in the
server is the tool's own pause, whatever made it. A tool that opens connections as it needs them has
no such gaps: it sends in time, and its requests wait in the server where they are seen.

A gap counts if it is longer than a Poisson process of the same rate would show once in a hundred
runs: (ln n + ln 100) / rate. Shorter stops cannot be seen in arrivals (`blind_ns`).

Nothing comes after a stop in which the load ends. It is one if connections were busy when the last
request came, and the next reply left later than such a gap is long. Users are taken to come until
then.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from sojourn.referee.catching_up import before_rps, burst, later_rps, reach
from sojourn.referee.requests import Requests
from sojourn.referee.slow import MUCH as UNSURE
from sojourn.referee.slow import is_unsure

CHANCE = 0.01  # of a gap this long in a whole run of a Poisson process
SILENT = 0.5  # of a gap; without a reply for so long, the server stood still
MUCH = 0.1  # of the time in pauses, and stops may be missed in them
USUAL = 0.9  # quantile of a usual pause
CAUGHT_UP = 0.1  # of what was due in all gaps: as much may lack, and twice its root
BUSY = 0.75  # of the most requests that were ever under way: connections are busy


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """A time in which the server answered nothing and the tool could not send.

    Attributes:
        last: index of the last request before it.
        held: how many requests after it were sent late: those in the burst that follows. 0: none
            came, because the load ended in it.
        begin_ns: arrival of the last request before it.
        resume_ns: first reply after the silence.
        caught_ns: arrival of the last request of the burst; `resume_ns` if none came.
        in_flight: requests in the server meanwhile.
        due: requests that were due from `begin_ns` to `caught_ns`.
        omitted: of these, those that were never sent; `decided` sets it.
        is_unsure: it may be slow requests, and no stop (`slow`).
    """

    last: int
    held: int
    begin_ns: int
    resume_ns: int
    caught_ns: int
    in_flight: int
    due: int
    omitted: int = 0
    is_unsure: bool = False

    @property
    def length_ns(self) -> int:
        """From the last request to the first reply."""
        return self.resume_ns - self.begin_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """A time in which the server was slow and not silent, and the tool fell behind its schedule.

    Attributes:
        last: index of the last request that came in time.
        held: how many requests after it came late.
        begin_ns: arrival of the last request in time.
        caught_ns: arrival of the last one that was late.
        lag_ns: by how much the latest of them was late.
        due_ns: time in which they were due: until `caught_ns`, less the pauses if what was due in
            those was never sent.
        omitted: requests that were due meanwhile and not sent; 0: all of them were sent later.
        pauses: of the tool itself: index of the first request after each, and its length, ns.
    """

    last: int
    held: int
    begin_ns: int
    caught_ns: int
    lag_ns: int
    due_ns: int
    omitted: int
    pauses: tuple[tuple[int, int], ...] = ()


def late(one: Stop | Behind) -> slice:
    """The requests that were sent late in it."""
    return slice(one.last + 1, one.last + 1 + one.held)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """What the gaps between arrivals were.

    Attributes:
        stops: of the server, in order.
        paused_ns: sum of the gaps in which the server had nothing to do.
        pauses: how many of those.
        least_ns: shorter gaps are not looked at.
        blind_ns: shorter stops may be in no number: as `least_ns`, or as long as usual pauses where
            pauses take much of the time.
        behind: times in which the tool fell behind between stops, in order.
    """

    stops: tuple[Stop, ...]
    paused_ns: int
    pauses: int
    least_ns: int
    blind_ns: int
    behind: tuple[Behind, ...] = ()

    @property
    def made_up(self) -> tuple[Behind, ...]:
        """Times in which the tool fell behind and sent later what it owed."""
        return tuple(one for one in self.behind if not one.omitted)

    @property
    def is_open(self) -> bool:
        """Whether the load ended in a stop."""
        return any(not stop.held for stop in self.stops)

    @property
    def unsure(self) -> int:
        """How many of the stops may be slow requests: all of them, or none."""
        return sum(stop.is_unsure for stop in self.stops)

    @property
    def how(self) -> str:
        """What the server did in them, as far as that is known."""
        return "answered nothing" if self.unsure else "stood still"

    @property
    def late(self) -> list[tuple[int, int]]:
        """Which requests were sent late, in order: index of the first, and of the next in time."""
        spans: list[Stop | Behind] = [*self.stops, *self.made_up]
        return sorted((sent.start, sent.stop) for sent in map(late, spans))


def least_ns(n: int, rate_rps: float) -> int:
    """The shortest gap that is no chance, ns."""
    return round((math.log(max(n, 1)) + math.log(1 / CHANCE)) / rate_rps * 1e9)


def gaps(requests: Requests, rate_rps: float, floor_ns: int = 0, *, is_known: bool = True) -> Gaps:
    """All stops and pauses.

    Args:
        requests: of one load.
        rate_rps: at which they were due.
        floor_ns: shorter gaps are no stops, whatever the rate.
        is_known: the rate is; else it is a mean, and as many were due in a stop as came before it
            or long after it, if that is more.
    """
    least = max(floor_ns, least_ns(requests.n, rate_rps))
    wide = np.flatnonzero(np.diff(requests.start_ns) > least)
    silences = [_silence(requests, int(at)) for at in wide]
    pauses = [at for at, silence in zip(wide, silences, strict=True) if silence is None]
    starts = [
        (int(at), silence)
        for at, silence in zip(wide, silences, strict=True)
        if silence is not None
    ]
    stops: list[Stop] = []
    for at, (resume_ns, in_flight) in starts:
        if stops and at < stops[-1].last + stops[-1].held:
            continue  # the tool had not caught up: it is part of the stop before
        stops.append(_stop(requests, at, resume_ns, in_flight, rate_rps, is_known=is_known))
    final = _final(requests, least, rate_rps, is_known=is_known)
    whole = _alike([*stops, *([final] if final else [])])
    start = requests.start_ns
    paused = np.array([start[at + 1] - start[at] for at in pauses], np.int64)
    is_much = paused.sum() > MUCH * (start[-1] - start[0]) if len(start) else False
    return Gaps(
        stops=decided(whole, rate_rps),
        paused_ns=int(paused.sum()),
        pauses=len(pauses),
        least_ns=least,
        blind_ns=int(np.quantile(paused, USUAL)) if is_much else least,
    )


def _silence(requests: Requests, at: int) -> tuple[int, int] | None:
    """When the first reply after a silence left, and how many waited for it; None: no silence."""
    begin, end = int(requests.start_ns[at]), int(requests.start_ns[at + 1])
    replies = requests.replies_ns
    first, last = np.searchsorted(replies, (begin, end), side="right")
    marks = np.concatenate(([begin], replies[first:last], [end]))
    widest = int(np.argmax(np.diff(marks)))
    if marks[widest + 1] - marks[widest] < SILENT * (end - begin):
        return None
    waiting = int(requests.in_flight(marks[widest : widest + 1])[0])
    resume = first + widest  # the reply that ends the silence, which may come after the gap
    if waiting < 1 or resume >= len(replies):
        return None
    return int(replies[resume]), waiting


def _stop(
    requests: Requests,
    at: int,
    resume_ns: int,
    waiting: int,
    rate_rps: float,
    *,
    is_known: bool,
) -> Stop:
    start = requests.start_ns
    begin, gap = int(start[at]), int(start[at + 1] - start[at])
    usual = max(rate_rps, later_rps(start, at))
    if not is_known:
        rate_rps = usual = max(usual, before_rps(start, at, gap))
    held = burst(start[at + 1 : reach(start, at)], usual)
    caught = int(start[at + held])
    due = max(held, math.floor((caught - begin) * rate_rps / 1e9))
    return Stop(
        last=at,
        held=held,
        begin_ns=begin,
        resume_ns=resume_ns,
        caught_ns=caught,
        in_flight=waiting,
        due=due,
        is_unsure=is_unsure(requests, at, begin, resume_ns),
    )


def _alike(stops: list[Stop]) -> list[Stop]:
    """Stops of one server: where much of what users wait may be slow requests, all may be."""
    waits = np.array([float(stop.length_ns) ** 2 for stop in stops])  # of users, in proportion
    unsure = np.array([stop.is_unsure for stop in stops], bool)
    is_much = bool(waits[unsure].sum() > UNSURE * waits.sum())
    return [replace(stop, is_unsure=is_much) for stop in stops]


def busy(requests: Requests) -> int:
    """With how many requests under way connections are busy: nearly the most there ever were."""
    return max(1, math.ceil(BUSY * requests.most_in_flight))


def _final(requests: Requests, least: int, rate_rps: float, *, is_known: bool) -> Stop | None:
    """The stop in which the load ended; None: it did not."""
    if not requests.n:
        return None
    begin, replies = int(requests.start_ns[-1]), requests.replies_ns
    next_reply = int(np.searchsorted(replies, begin, side="right"))
    waiting = requests.n - next_reply
    if waiting < busy(requests) or replies[next_reply] - begin <= least:
        return None
    resume = int(replies[next_reply])
    if not is_known:
        rate_rps = max(rate_rps, before_rps(requests.start_ns, requests.n - 1, resume - begin))
    due = math.floor((resume - begin) * rate_rps / 1e9)
    return Stop(
        last=requests.n - 1,
        held=0,
        begin_ns=begin,
        resume_ns=resume,
        caught_ns=resume,
        in_flight=waiting,
        due=due,
        is_unsure=is_unsure(requests, requests.n - 1, begin, resume),
    )


def decided(stops: Iterable[Stop], rate_rps: float) -> tuple[Stop, ...]:
    """Stops with what was left out in them: a tool leaves out or sends later, the same at all.

    What was due in a stop at the end of the load was not sent, whatever the tool does after others.
    """
    every = [replace(stop, omitted=stop.due - stop.held) for stop in stops]
    if not _leaves_out([stop for stop in every if stop.held], rate_rps):
        every = [replace(stop, omitted=0) if stop.held else stop for stop in every]
    return tuple(every)


def _leaves_out(stops: list[Stop], rate_rps: float) -> bool:
    """Whether a tool leaves out what it could not send, or sends it later.

    How many requests come while it catches up is random, so as many may lack by chance.
    """
    expected = sum(stop.length_ns for stop in stops) * rate_rps / 1e9
    missing = sum(stop.omitted for stop in stops)
    return missing > max(3.0, CAUGHT_UP * expected + 2 * math.sqrt(expected))
