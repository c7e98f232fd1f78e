"""Simulated clients of a server that stops: all their times are known."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from sojourn.referee.requests import Requests, Times


@dataclass(frozen=True, kw_only=True)
class Server:
    """One server in order of arrival, with stops.

    Attributes:
        service_ns: of each request.
        stops: begin and end of each, ns, ascending.
        slow: begin and end of each time in which requests take longer, and their time then, ns.
    """

    service_ns: int = 50_000
    stops: tuple[tuple[int, int], ...] = ()
    slow: tuple[tuple[int, int, int], ...] = ()

    def serve(self, ready_ns: int) -> int:
        """When a request that may begin at `ready_ns` is done."""
        took = next(
            (ns for begin, end, ns in self.slow if begin <= ready_ns < end), self.service_ns
        )
        for begin, end in self.stops:
            if begin <= ready_ns < end:
                ready_ns = end
            if ready_ns < begin < ready_ns + took:
                return end + took - (begin - ready_ns)
        return ready_ns + took


def open_loop(due_ns: Times, server: Server) -> Requests:
    """Each is sent when it is due, over a connection of its own."""
    free, ends = 0, []
    for due in due_ns:
        free = server.serve(max(int(due), free))
        ends.append(free)
    return _requests(due_ns, np.array(ends), np.arange(len(due_ns)))


def limited(
    due_ns: Times,
    server: Server,
    connections: int,
    *,
    is_catching_up: bool,
    turn_ns: int = 20_000,
    pause: tuple[int, int] = (0, 0),
) -> Requests:
    """A tool with few connections: a due request waits for a free one, or is left out.

    From begin to end of its `pause`, ns, the tool sends nothing.
    """
    idle = [(0, number) for number in range(connections)]
    starts, ends, numbers, free = [], [], [], 0
    for due in due_ns:
        at, number = idle[0]
        if at > due and not is_catching_up:
            continue
        heapq.heappop(idle)
        start = max(int(due), at)
        start = pause[1] if pause[0] <= start < pause[1] else start
        free = server.serve(max(start, free))
        heapq.heappush(idle, (free + turn_ns, number))
        starts.append(start)
        ends.append(free)
        numbers.append(number)
    return _requests(np.array(starts), np.array(ends), np.array(numbers))


def closed(seconds: float, server: Server, connections: int, turn_ns: int = 20_000) -> Requests:
    """Each connection sends as soon as it has its reply."""
    n = int(seconds * 1e9) // server.service_ns
    made = limited(np.zeros(n, np.int64), server, connections, is_catching_up=True, turn_ns=turn_ns)
    return made.between(0, int(seconds * 1e9))


def paced(rate_rps: float, seconds: float) -> Times:
    """Times at a fixed rate, as of a metronome."""
    return np.asarray(np.arange(1, int(rate_rps * seconds)) * (1e9 / rate_rps), np.int64)


def poisson(rate_rps: float, seconds: float, seed: int) -> Times:
    """Times of a Poisson process."""
    draw = np.random.default_rng(seed)
    times = np.cumsum(draw.exponential(1e9 / rate_rps, int(rate_rps * seconds * 1.2)))
    return np.asarray(times[times < seconds * 1e9], np.int64)


def every(period_ns: int, length_ns: int, seconds: float) -> tuple[tuple[int, int], ...]:
    """Stops at the end of each period."""
    return tuple((at - length_ns, at) for at in range(period_ns, int(seconds * 1e9) + 1, period_ns))


def _requests(start: Times, end: Times, connection: Times) -> Requests:
    order = np.argsort(start, kind="stable")
    return Requests(
        start_ns=start[order].astype(np.int64),
        first_ns=end[order].astype(np.int64),
        end_ns=end[order].astype(np.int64),
        connection=connection[order].astype(np.int64),
    )
