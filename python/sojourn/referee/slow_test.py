"""Slow requests are no stops: other users would have been answered at once."""

from __future__ import annotations

import heapq
from dataclasses import replace

import numpy as np
import pytest

from sojourn.importers import hey
from sojourn.referee import judge, words
from sojourn.referee.judgement import Judgement
from sojourn.referee.load import Load
from sojourn.referee.requests import Requests, Times
from sojourn.referee.simulated_testing import Server, closed, every, limited, paced
from sojourn.referee.stops import gaps

S, MS = 1_000_000_000, 1_000_000
SERVICE, SLOW = 50_000, 120 * MS
HEY = Load(tool="hey", rate_rps=1000, arrivals="paced", facts=hey.FACTS)


def concurrent(due_ns: Times, connections: int, *, slow: float = 0.02) -> Requests:
    """A server that answers all at once, but a share of them late; due ones are left out."""
    draw = np.random.default_rng(5)
    idle = [(0, number) for number in range(connections)]
    starts, ends, numbers = [], [], []
    for due in due_ns.tolist():
        at, number = idle[0]
        if at > due:
            continue
        heapq.heappop(idle)
        took = SLOW if draw.random() < slow else SERVICE
        heapq.heappush(idle, (due + took + 20_000, number))
        starts.append(due)
        ends.append(due + took)
        numbers.append(number)
    start, end = np.array(starts, np.int64), np.array(ends, np.int64)
    return Requests(start_ns=start, first_ns=end, end_ns=end, connection=np.array(numbers))


def text(of: Judgement) -> str:
    return "\n".join((*words.lines(of), *(" ".join(row) for row in words.rows(of))))


@pytest.mark.parametrize("connections", [1, 2, 4])
def test_slow_requests_are_not_called_stops(connections: int) -> None:
    """Users of this server wait 50 µs in the median, whatever the connections of the tool."""
    of = judge(concurrent(paced(1000, 20), connections), HEY)
    assert of.gaps.stops
    assert of.gaps.unsure == len(of.gaps.stops)
    here = of.numbers[2].here
    assert here is None or here >= 0.99 * SLOW, "a bound, and users wait 120 ms at p99"
    assert of.verdict != "misleading" or of.limit.is_short
    assert "stood still" not in text(replace(of, unknown=("other",)))
    for number in of.numbers:
        if number.here is not None and number.lo is not None:
            assert number.lo <= max(SERVICE, number.server_here) * 1.01
            assert number.users is None or number.users.value is None or "≤" in text(of)


def test_the_bounds_of_users_waits_hold_what_a_user_waits() -> None:
    """One connection and 300 users/s: the estimate of p50 was 60 ms, and users wait 50 µs."""
    due = np.arange(0, 20 * S, 200_000, dtype=np.int64)
    of = judge(concurrent(due, 1, slow=0.005), replace(HEY, rate_rps=300, is_users=True))
    p50, p90 = of.numbers[:2]
    assert of.gaps.unsure
    assert p50.lo == pytest.approx(SERVICE, rel=0.01)
    assert p90.here is not None
    assert p90.here > 20 * MS
    assert p90.lo == pytest.approx(SERVICE, rel=0.01)
    assert of.verdict == "unknown"
    assert "single requests were slow" in text(of)
    assert "≤" in text(of)


@pytest.mark.parametrize("connections", [3, 50])
@pytest.mark.parametrize("length_ms", [20, 200, 2000])
@pytest.mark.parametrize("is_catching_up", [True, False])
def test_stops_of_a_server_stay_stops(
    connections: int, length_ms: int, *, is_catching_up: bool
) -> None:
    period = max(1000, 5 * length_ms // 2) * MS
    server = Server(service_ns=500_000, stops=every(period, length_ms * MS, 12))
    seen = limited(paced(1000, 12), server, connections, is_catching_up=is_catching_up)
    assert not gaps(seen, 1000).unsure
    assert not judge(closed(5, server, connections), Load()).gaps.unsure
