"""Times in which a tool fell behind its schedule: the server was slow, and not silent.

A slow server leaves no long gap between arrivals, because each of its replies lets one more request
go. What grows is the lag: by how much the k-th request comes later than the k-th was due. It says
something of the server where connections were busy meanwhile. If it goes back to where it began,
all that was due has been sent: the k-th due request is the k-th that came. If it does not,
requests were left out, and how long their users would have waited is not known.

A pause of the tool itself may lie within such a time, and the server owes nothing for it. What was
due in it is sent later by one tool, and never by another. So pauses are left out of what is owed
where the rest accounts for what came. If more came, the tool makes up for its pauses. Then the
whole time counts, or this surplus would hide what the server held back.

A lag counts beyond the shortest gap that is no chance (`least_ns`), how uneven arrivals usually
are, and five standard deviations of a sum of that many steps. A paced load has next to no deviation
of that kind. That of a Poisson process grows with the root of the number of arrivals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.referee.catching_up import REACH, burst
from sojourn.referee.requests import Requests, Times
from sojourn.referee.stops import Behind, Gaps, busy, decided, late

Floats = NDArray[np.float64]
HELD = 0.5  # of a time with busy connections, and the server held requests back in it
SIGMAS = 5.0
BACK = 0.5  # of the bound: a lag that goes up and down around it is one, not several
DRIFT = 0.02  # of a time, as `limit.REACHED` has it: a tool that is slower by less has its rate
BREAK = 8  # arrivals without busy connections that do not part two times with them
SCALES, TIMES_OVER = (64, 128, 256, 512), 4  # arrivals in a sum; sums at least
LOW, OF_NORMAL = 0.25, 0.3186  # a quantile of distances, and that of a standard normal variable
BLOCK, BLOCKS = 256, 4  # arrivals in which the usual unevenness shows; so many blocks at least


@dataclass(frozen=True, slots=True, kw_only=True)
class _Course:
    """Arrivals outside of stops and pauses, by a clock that leaves those out; shapes (n,).

    Attributes:
        index: of each one among all requests.
        at_ns: when it came.
        lag_ns: by how much it came later than by a schedule that began with the first one.
        busy_ns: time since the arrival before in which connections were busy.
        paused_ns: how much of it was a pause of the tool, which `at_ns` leaves out.
        gap_ns: shorter gaps are chance.
        least_ns: shorter lags are chance or unevenness.
        variance: of the step from one arrival to the next, as far as steps add up, ns².
        between: arrivals without busy connections that do not part two times with them.
        rate_rps: of the schedule.
    """

    index: Times
    at_ns: Times
    lag_ns: Floats
    busy_ns: Times
    paused_ns: Times
    gap_ns: float
    least_ns: float
    variance: float
    between: int
    rate_rps: float

    def bound_ns(self, steps: NDArray[Any] | int) -> Floats:
        """The longest lag that so many steps have by chance."""
        return np.asarray(self.least_ns + SIGMAS * np.sqrt(self.variance * np.asarray(steps)))

    def back_ns(self, steps: NDArray[Any]) -> Floats:
        """The longest lag at which the tool has caught up; clumps alone do not reach it."""
        return np.asarray(BACK * (self.gap_ns + SIGMAS * np.sqrt(self.variance * steps)))


def with_behind(requests: Requests, seen: Gaps, rate_rps: float) -> Gaps:
    """The gaps, and the times between them in which the tool fell behind.

    A stop within such a time is part of it if the tool sent later what it owed.

    Args:
        requests: of one load.
        seen: its stops and pauses at this rate.
        rate_rps: of the schedule.
    """
    if requests.n < 2:
        return seen
    course = _course(requests, seen, rate_rps)
    behind: list[Behind] = []
    done = 0
    for first, last in _busy_runs(course):
        begin = max(first - 1, done)
        while (span := _span(course, begin, last)) is not None:
            behind.append(_described(requests, course, *span))
            begin = done = span[2]
    if not behind:
        return seen
    parts = [(one.last, one.last + one.held) for one in behind if not one.omitted]
    stops = [stop for stop in seen.stops if not any(a <= stop.last < b for a, b in parts)]
    return replace(seen, stops=decided(stops, rate_rps), behind=tuple(behind))


def in_pauses(requests: Requests, seen: Gaps) -> NDArray[np.bool_]:
    """Which requests came after a pause of the tool: a gap without busy connections; shape (n,)."""
    step = np.diff(requests.start_ns, prepend=requests.start_ns[:1])
    return _is_pause(seen, step, _busy_ns(requests))


def _is_pause(seen: Gaps, step: Times, busy_ns: Times) -> NDArray[np.bool_]:
    return np.asarray((step > seen.least_ns) & (busy_ns < HELD * step), np.bool_)


def _course(requests: Requests, seen: Gaps, rate_rps: float) -> _Course:
    step = np.diff(requests.start_ns, prepend=requests.start_ns[:1])
    spent = _busy_ns(requests)
    # While connections were busy at its begin, the tool could not send: that part is no pause.
    paused = np.where(_is_pause(seen, step, spent), step - spent, 0)
    step -= paused
    is_in = np.ones(requests.n, bool)
    for stop in seen.stops:
        is_in[late(stop)] = False
    index = np.asarray(np.flatnonzero(is_in), np.int64)
    at = np.cumsum(step[index])
    lag = at - np.arange(len(at)) * (1e9 / rate_rps)
    return _Course(
        index=index,
        at_ns=at,
        lag_ns=lag,
        busy_ns=np.minimum(spent, step)[index],
        paused_ns=paused[index],
        gap_ns=seen.least_ns,
        least_ns=seen.least_ns + _unevenness_ns(lag),
        variance=_variance(lag, 1e9 / rate_rps),
        between=max(BREAK, busy(requests)),
        rate_rps=rate_rps,
    )


def _busy_ns(requests: Requests) -> Times:
    """Time before each arrival, since the one before it, in which connections were busy."""
    many, start = busy(requests), requests.start_ns
    # After arrival k, k + 1 requests have come: fewer than `many` are left after this reply.
    reply = np.arange(requests.n - 1) + 1 - many
    until = requests.replies_ns[np.maximum(reply, 0)]
    spent = np.clip(until - start[:-1], 0, np.diff(start))
    return np.concatenate((np.zeros(1, np.int64), np.where(reply >= 0, spent, 0)))


def _unevenness_ns(lag: Floats) -> float:
    """How far lags usually go up and down: a tool that sends in clumps is late between them."""
    length = min(BLOCK, max(1, len(lag) // BLOCKS))
    blocks = lag[: len(lag) // length * length].reshape(-1, length)
    return float(np.median(blocks.max(axis=1) - blocks.min(axis=1)))


def _variance(lag: Floats, step_ns: float) -> float:
    """Variance of a step as far as steps add up, ns²; of a Poisson process with few arrivals.

    It is taken from the small distances from the schedule. A slow time makes large ones only.
    """
    results = []
    for many in SCALES:
        if len(lag) >= TIMES_OVER * many:
            distance = float(np.quantile(np.abs(lag[many:] - lag[:-many]), LOW))
            results.append((distance / OF_NORMAL) ** 2 / many)
    return min(results, default=step_ns**2)


def _busy_runs(course: _Course) -> list[tuple[int, int]]:
    """First and last arrivals of times with busy connections that are long enough for a lag."""
    at = course.at_ns
    where = np.flatnonzero(course.busy_ns > HELD * np.diff(at, prepend=0))
    if not len(where):
        return []
    cuts = np.flatnonzero(np.diff(where) > course.between) + 1
    firsts = where[np.concatenate((np.zeros(1, np.int64), cuts))]
    lasts = where[np.concatenate((cuts, np.array([len(where)]))) - 1]
    is_long = at[lasts] - at[firsts - 1] > course.least_ns
    return list(zip(firsts[is_long].tolist(), lasts[is_long].tolist(), strict=True))


def _span(course: _Course, begin: int, last: int) -> tuple[int, int, int] | None:
    """Where the lag first grows beyond chance: from where, up to the most, until when; or None.

    `begin` and `last` are what is looked at; the end may lie after it.
    """
    while (grown := _growth(course, begin, last)) is not None:
        first, over = grown
        end = _caught(course, first, over, last + 1)
        peak = first + int(np.argmax(course.lag_ns[first : (end or last) + 1]))
        begin, at = peak, course.at_ns
        length = int(at[peak] - at[first])
        if course.busy_ns[first + 1 : peak + 1].sum() < HELD * length:
            continue  # the tool itself was late
        reach = int(np.searchsorted(at, at[peak] + REACH * length, side="right"))
        end = end or _caught(course, first, last + 1, reach)
        if end is not None:
            return first, peak, end + burst(at[end : max(reach, end + 1)], course.rate_rps) - 1
        if course.lag_ns[peak] - course.lag_ns[first] > DRIFT * length:
            return first, peak, last
    return None


def _growth(course: _Course, begin: int, last: int) -> tuple[int, int] | None:
    """From where the lag grows, and where it is beyond chance for the first time."""
    lag = course.lag_ns[begin : last + 1]
    if len(lag) < 2:
        return None
    number = np.arange(len(lag))
    low = np.minimum.accumulate(lag)
    since = np.maximum.accumulate(np.where(lag <= low, number, 0))
    over = np.flatnonzero(lag - low > course.bound_ns(number - since))
    return (begin + int(since[over[0]]), begin + int(over[0])) if len(over) else None


def _caught(course: _Course, first: int, begin: int, end: int) -> int | None:
    """The first arrival in a range with the lag of `first` again, but for chance."""
    number = np.arange(begin, max(begin, end))
    back = course.lag_ns[begin:end] - course.lag_ns[first] <= course.back_ns(number - first)
    return begin + int(np.argmax(back)) if back.any() else None


def _described(requests: Requests, course: _Course, first: int, peak: int, end: int) -> Behind:
    last, late = int(course.index[first]), int(course.index[end])
    begin_ns, caught_ns = int(requests.start_ns[last]), int(requests.start_ns[late])
    sent_ns, bound_ns = (late - last) * 1e9 / course.rate_rps, course.bound_ns(late - last)
    pauses = _pauses(course, first, end)
    due_ns = caught_ns - begin_ns - sum(length for _, length in pauses)
    if due_ns - sent_ns < -bound_ns:  # more came than was due outside of pauses
        due_ns = caught_ns - begin_ns
    owed_ns = due_ns - sent_ns
    is_made_up = owed_ns <= bound_ns
    return Behind(
        last=last,
        held=late - last,
        begin_ns=begin_ns,
        caught_ns=caught_ns,
        lag_ns=round(course.lag_ns[peak] - course.lag_ns[first]),
        due_ns=due_ns,
        omitted=0 if is_made_up else max(1, math.floor(owed_ns * course.rate_rps / 1e9)),
        pauses=pauses,
    )


def _pauses(course: _Course, first: int, end: int) -> tuple[tuple[int, int], ...]:
    """Pauses of the tool between two arrivals: the request after each, and its length, ns."""
    at = first + 1 + np.flatnonzero(course.paused_ns[first + 1 : end + 1])
    lengths = course.paused_ns[at].tolist()
    return tuple(zip(course.index[at].tolist(), lengths, strict=True))
