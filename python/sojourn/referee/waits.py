"""What a user would have waited: from when a request was due to its reply.

A user comes when the schedule says, not when a connection of the tool is free. Outside of stops a
request was sent when it was due. Requests of the burst after a stop were due evenly from its begin
on. So were those of a time in which the tool fell behind and sent later what it owed. Pauses of the
tool within such a time delay no user: without them, the server had done its work sooner. Where a
tool left requests out, users would have come all the same. Each of them gets the first reply after
the silence, and then its turn behind those that came before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sojourn.referee.behind import in_pauses
from sojourn.referee.requests import Requests, Times
from sojourn.referee.slow import waits_at_once_ns
from sojourn.referee.stops import Behind, Gaps, Stop, late

Floats = NDArray[np.float64]
WAITED_MIN = 4  # requests in a silence, from which the time per reply is taken
SHORT = 0.05  # quantile of a short request


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Waits of users, in order of the times at which they were due; shapes (users,).

    Attributes:
        due_ns: intended arrival.
        wait_ns: the estimate.
        lo_ns: without a queue behind a silence; at once where it may be slow requests.
        hi_ns: behind all that the server had when it fell silent.
        is_sent: whether the tool sent this request; if not, the wait is reconstructed.
    """

    due_ns: Times
    wait_ns: Floats
    lo_ns: Floats
    hi_ns: Floats
    is_sent: NDArray[np.bool_]

    @property
    def n(self) -> int:
        """How many users there are."""
        return len(self.due_ns)


def waits(requests: Requests, seen: Gaps) -> Waits:
    """Waits of all who would have come.

    Args:
        requests: of one load.
        seen: its stops, at the rate at which users come.
    """
    due = requests.start_ns.astype(np.float64)
    parts = []
    for stop in seen.stops:
        burst = late(stop)
        grid = stop.begin_ns + _even(stop)
        if not stop.omitted:
            spread = np.linspace(0, len(grid) - 1, stop.held) if len(grid) else grid
            due[burst] = np.interp(spread, np.arange(len(grid)), grid)
        else:
            unsent = len(grid) - stop.held
            due[burst] = np.minimum(due[burst], grid[unsent:])
            parts.append(_omitted(requests, stop, grid[:unsent]))
    for one in seen.made_up:
        due[late(one)] = _due_behind(one)
    wait = requests.end_ns - np.minimum(due, requests.start_ns)
    lo = np.array(wait, np.float64)
    for stop in seen.stops:
        if stop.is_unsure:
            lo[late(stop)] = requests.total_ns[late(stop)]
    sent = (due, wait, lo, wait, np.ones(len(due), bool))
    columns = [np.concatenate(column) for column in zip(sent, *parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    due, estimate, lo, hi, is_sent = (column[order] for column in columns)
    return Waits(due_ns=due.astype(np.int64), wait_ns=estimate, lo_ns=lo, hi_ns=hi, is_sent=is_sent)


def imagined(requests: Requests, seen: Gaps, rate_rps: float) -> Waits:
    """Waits of users who come at a lower rate than a tool that sends as fast as replies come.

    A user in a stop gets the first reply after it, and then his turn. Any other one waits as long
    as the request of the tool that came next. The server answers no more users than requests of the
    tool, so while it answers fewer than users come, each has his turn behind those before him.
    """
    begin = int(requests.start_ns[0])
    end = max([int(requests.start_ns[-1]), *(stop.caught_ns for stop in seen.stops)])
    due = np.arange(begin, end, 1e9 / rate_rps)
    start, last = requests.start_ns, requests.n - 1
    at = np.asarray(np.minimum(np.searchsorted(start, due), last), np.int64)
    place, queues = at.copy(), ~in_pauses(requests, seen)[at]
    place[queues] = np.minimum(_turns(at[queues]), last)
    lo = requests.total_ns[at].astype(np.float64)
    wait = (requests.end_ns[place] - start[at]).astype(np.float64)
    hi, is_sent = wait.copy(), np.ones(len(due), bool)
    for stop in seen.stops:
        inside = slice(*np.searchsorted(due, (stop.begin_ns, stop.resume_ns)))
        _, wait[inside], lo[inside], hi[inside], is_sent[inside] = _omitted(
            requests, stop, due[inside]
        )
        # Those before the stop are served first.
        alone = np.minimum(_turns(at[inside]), last)
        queue = start[np.maximum(place[inside], alone)] - start[alone]
        wait[inside] += queue
        hi[inside] += queue
    return Waits(due_ns=due.astype(np.int64), wait_ns=wait, lo_ns=lo, hi_ns=hi, is_sent=is_sent)


def _turns(at: Times) -> Times:
    """Which request of the tool each user takes: the next one that no user before has taken.

    >>> _turns(np.array([0, 1, 1, 1, 7])).tolist()
    [0, 1, 2, 3, 7]
    """
    number = np.arange(len(at))
    return np.asarray(number + np.maximum.accumulate(at - number), np.int64)


def _even(stop: Stop) -> Floats:
    """When the requests of a stop were due, ns after its begin."""
    step = (stop.caught_ns - stop.begin_ns) / stop.due
    return np.asarray(np.arange(1, stop.due + 1) * step, np.float64)


def _due_behind(one: Behind) -> Floats:
    """When users of a time behind were due, each later by the pauses of the tool before his turn.

    So his wait is the one behind a tool that does not pause; shape (held,), ns.
    """
    paused = np.zeros(one.held)
    for after, length_ns in one.pauses:
        paused[after - one.last - 1] = length_ns
    even = np.linspace(one.begin_ns, one.begin_ns + one.due_ns, one.held + 1)[1:]
    return np.asarray(even + np.cumsum(paused), np.float64)


def _omitted(
    requests: Requests, stop: Stop, due: Floats
) -> tuple[Floats, Floats, Floats, Floats, NDArray[np.bool_]]:
    """Those that the tool never sent."""
    turn = _turn_ns(requests, stop)
    replies = requests.replies_ns
    at = np.searchsorted(replies, due, side="right")
    reply = replies[np.minimum(at, len(replies) - 1)].astype(np.float64)
    last = min(stop.last + 1, requests.n)
    drained = float(requests.end_ns[max(0, last - stop.in_flight) : last].max())
    before = reply <= stop.resume_ns  # due in the silence
    place = np.where(before, np.arange(len(due)), 0) * turn
    lo = np.maximum(reply - due, turn)
    wait = lo + place
    hi = np.maximum(np.where(before, np.maximum(reply, drained), reply) - due, turn) + place
    if stop.is_unsure:
        at_once = waits_at_once_ns(requests, len(due), stop.last)
        lo, wait = np.minimum(at_once, wait), np.maximum(at_once, wait)
    return due, wait, lo, np.maximum(hi, wait), np.zeros(len(due), bool)


def _turn_ns(requests: Requests, stop: Stop) -> float:
    """Time per reply while the server works off what waited for it, ns.

    From those that waited in the silence. With few of them it is a short request's time, because
    what lies between later replies may be the time until the tool sent the next one.
    """
    last = stop.last + 1
    ends = np.sort(requests.end_ns[max(0, last - stop.in_flight) : last])
    waited = ends[ends >= stop.resume_ns]
    if len(waited) >= WAITED_MIN:
        return float(np.median(np.diff(waited)))
    return float(np.quantile(requests.total_ns, SHORT))
