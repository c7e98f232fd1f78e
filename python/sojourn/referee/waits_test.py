"""What users would have waited, compared with simulated clients with known waits."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.referee.requests import Requests, Times
from sojourn.referee.simulated_testing import Server, every, limited, open_loop, paced, poisson
from sojourn.referee.stops import gaps
from sojourn.referee.waits import Floats, waits

RATE, SECONDS = 2000, 20.0
MS = 1_000_000


def quantile(values: Times | Floats, q: float) -> float:
    return float(np.quantile(values, q))


def users(requests: Requests) -> Floats:
    return waits(requests, gaps(requests, RATE)).wait_ns


@pytest.mark.parametrize("length_ms", [20, 200, 2000])
@pytest.mark.parametrize("arrivals", ["paced", "poisson"])
@pytest.mark.parametrize("connections", [3, 10, 50])
@pytest.mark.parametrize("tool", ["catches up", "leaves out"])
def test_users_waits_are_those_of_an_open_loop(
    length_ms: int, arrivals: str, connections: int, tool: str
) -> None:
    due = paced(RATE, SECONDS) if arrivals == "paced" else poisson(RATE, SECONDS, 7)
    period = max(1000, 5 * length_ms // 2) * MS
    server = Server(stops=every(period, length_ms * MS, SECONDS))
    truth = open_loop(due, server).total_ns
    seen = limited(due, server, connections, is_catching_up=tool == "catches up")
    for q in (0.99, 0.999):
        assert quantile(users(seen), q) == pytest.approx(quantile(truth, q), rel=0.1), q
    if length_ms >= 200 and connections == 3:
        assert quantile(seen.total_ns, 0.99) < 0.1 * quantile(truth, 0.99), "or nothing is tested"


def test_who_is_left_out_is_counted_as_many() -> None:
    server = Server(stops=((5_000 * MS, 5_500 * MS),))
    due = paced(RATE, SECONDS)
    seen = limited(due, server, 10, is_catching_up=False)
    stopped = gaps(seen, RATE)
    assert len(stopped.stops) == 1
    assert sum(stop.omitted for stop in stopped.stops) == pytest.approx(len(due) - seen.n, abs=5)
    result = waits(seen, stopped)
    assert result.n == pytest.approx(len(due), abs=5)
    assert (~result.is_sent).sum() == stopped.stops[0].omitted
    assert (result.lo_ns <= result.wait_ns).all()
    assert (result.wait_ns <= result.hi_ns).all()
    assert (np.diff(result.due_ns) >= 0).all()


def test_a_tool_that_catches_up_leaves_no_one_out() -> None:
    server = Server(stops=((5_000 * MS, 5_500 * MS),))
    seen = limited(paced(RATE, SECONDS), server, 10, is_catching_up=True)
    stopped = gaps(seen, RATE)
    assert [stop.omitted for stop in stopped.stops] == [0]
    assert stopped.stops[0].held == pytest.approx(1100, rel=0.05)  # 110 came due meanwhile


def test_an_open_loop_is_left_as_it_is() -> None:
    server = Server(stops=every(1000 * MS, 200 * MS, SECONDS))
    seen = open_loop(poisson(RATE, SECONDS, 3), server)
    assert not gaps(seen, RATE).stops
    assert (users(seen) == seen.total_ns).all()


def test_a_pause_of_the_tool_is_no_stop_of_the_server() -> None:
    due = paced(RATE, SECONDS)
    with_pause = due[(due < 5_000 * MS) | (due > 6_000 * MS)]
    stopped = gaps(open_loop(with_pause, Server()), RATE)
    assert not stopped.stops
    assert stopped.pauses == 1
    assert stopped.paused_ns == pytest.approx(1_000 * MS, rel=0.01)


def test_a_pause_in_which_replies_come_is_no_stop_of_the_server() -> None:
    """The tool does not send, although twenty slow replies come one after the other."""
    due = paced(RATE, 4)
    start = due[(due < 2_000 * MS) | (due > 3_000 * MS)]
    end = start + MS // 20
    last = int(np.searchsorted(start, 2_000 * MS))
    end[last - 20 : last] = 2_000 * MS + np.arange(1, 21) * 50 * MS
    seen = Requests(start_ns=start, first_ns=end, end_ns=end, connection=np.arange(start.size))
    assert not gaps(seen, RATE).stops
    assert gaps(seen, RATE).pauses == 1


def test_quiet_poisson_runs_have_stops_as_rarely_as_stated() -> None:
    runs = 300
    wrong = 0
    for seed in range(runs):
        seen = gaps(open_loop(poisson(500, 4, seed), Server(service_ns=1_900_000)), 500)
        wrong += bool(seen.stops or seen.pauses)
    assert wrong <= 0.01 * runs + 5 * np.sqrt(0.01 * runs), "five sigma"
