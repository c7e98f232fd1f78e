"""More than was asked for: second clients, and clumps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sojourn.importers import hey, k6_facts
from sojourn.referee import judge
from sojourn.referee.excess import excess
from sojourn.referee.load import Load
from sojourn.referee.requests import Requests, Times
from sojourn.referee.simulated_testing import Server, limited, open_loop, paced, poisson
from sojourn.referee.waits import Floats

S, MS = 1_000_000_000, 1_000_000
HEY = Load(tool="hey", rate_rps=1000, arrivals="paced", facts=hey.FACTS)
USERS = replace(HEY, is_users=True)
STOPPED = Server(stops=((5 * S, 6 * S),))


def together(*every: Requests) -> Requests:
    """What a server sees of several clients at once."""
    start, end, connection = (
        np.concatenate(parts)
        for parts in zip(
            *(
                (one.start_ns, one.end_ns, one.connection + 1000 * at)
                for at, one in enumerate(every)
            ),
            strict=True,
        )
    )
    order = np.argsort(start, kind="stable")
    return Requests(
        start_ns=start[order],
        first_ns=end[order],
        end_ns=end[order],
        connection=connection[order],
    )


def p(of: Times | Floats, q: float) -> float:
    return float(np.quantile(of, q))


@pytest.mark.parametrize("other_rps", [200, 400, 3000])
def test_a_second_client_hides_what_a_tool_leaves_out(other_rps: int) -> None:
    """The tool leaves 1,000 requests out in a stop in which the other client still sends."""
    own = limited(paced(1000, 20), STOPPED, 10, is_catching_up=False)
    other = open_loop(poisson(other_rps, 20, 3), STOPPED)
    assert judge(own, HEY).verdict == "misleading"
    of = judge(together(own, other), HEY)
    assert of.verdict == "unknown"
    assert "another client" in of.unknown[0]
    assert of.users_rps is None


def test_several_requests_in_each_step_are_more_than_the_rate_of_steps() -> None:
    each = np.repeat(paced(1000, 20), 3) + np.tile([0, MS // 10, MS // 5], 19_999)
    of = judge(open_loop(np.sort(each), Server(service_ns=20_000)), replace(HEY, tool="k6"))
    assert of.verdict == "unknown"
    assert "several requests in each step" in of.unknown[0]


@pytest.mark.parametrize("workers", [1, 20, 500])
@pytest.mark.parametrize("clumps", [2, 3, 4, 5, 60])
def test_workers_that_send_at_one_time_send_no_more_than_they_should(
    workers: int, clumps: int
) -> None:
    """Each of them once a second: the first and the last clump are whole."""
    start = np.sort(np.concatenate([paced(1, clumps + 1) + at * MS // 10 for at in range(workers)]))
    assert not excess(open_loop(start, Server(service_ns=1000)), float(workers))


def test_chance_and_bursts_after_stops_are_not_more() -> None:
    runs = 200
    arrivals = [poisson(200, 3, seed) for seed in range(runs)]
    assert sum(bool(excess(open_loop(one, Server()), 200)) for one in arrivals) <= 1, "five sigma"
    assert not excess(limited(paced(1000, 20), STOPPED, 10, is_catching_up=True), 1000)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_requests_are_not_more(n: int) -> None:
    at = np.arange(n, dtype=np.int64) * S
    assert not excess(Requests(start_ns=at, first_ns=at, end_ns=at, connection=at), 1.0)


@pytest.mark.parametrize("factor", [1.1, 1.25, 1.4])
@pytest.mark.parametrize("is_catching_up", [True, False])
def test_users_of_a_lower_rate_than_the_tools_wait_in_the_stop_alone(
    factor: float,
    is_catching_up: bool,  # noqa: FBT001
) -> None:
    """Else all that comes within ten lengths of the stop would be late by its length."""
    seen = limited(paced(1000 * factor, 20), STOPPED, 10, is_catching_up=is_catching_up)
    of = judge(seen, USERS)
    truth = open_loop(paced(1000, 20), STOPPED).total_ns
    assert of.numbers[1].here == pytest.approx(p(truth, 0.9), rel=0.1)
    assert of.numbers[2].here == pytest.approx(p(truth, 0.99), rel=0.1)
    assert of.numbers[3].here == pytest.approx(p(truth, 0.999), rel=0.1)


def ramp(first_rps: float, last_rps: float, seconds: float) -> Times:
    """Times at a rate that rises or falls evenly, as of `ramping-arrival-rate` of k6."""
    at = np.linspace(0, seconds, 20_001)
    steps = np.diff(at) * (first_rps + (last_rps - first_rps) * at[1:] / seconds)
    came = np.concatenate(([0.0], np.cumsum(steps)))
    return np.asarray(np.interp(np.arange(1, int(came[-1])), came, at) * 1e9, np.int64)


@pytest.mark.parametrize(("first_rps", "last_rps"), [(100, 2000), (2000, 100)])
@pytest.mark.parametrize("stop_s", [3, 10, 18])
@pytest.mark.parametrize("is_catching_up", [True, False])
def test_users_of_a_rate_that_ramps_wait_no_longer_than_is_shown_and_in_the_stop_alone(
    first_rps: float,
    last_rps: float,
    stop_s: int,
    is_catching_up: bool,  # noqa: FBT001
) -> None:
    due = ramp(first_rps, last_rps, 20)
    server = Server(stops=((stop_s * S, stop_s * S + 500 * MS),))
    of = judge(
        limited(due, server, 10, is_catching_up=is_catching_up),
        Load(tool="k6", facts=k6_facts.FACTS),
    )
    truth = open_loop(due, server).total_ns
    assert of.is_bound
    for number in of.numbers[2:]:
        assert number.here is not None
        assert number.here >= 0.97 * p(truth, number.q), "an upper bound"
    assert of.numbers[1].here is not None
    assert of.numbers[1].here < MS, "less than a tenth of all came in the stop"
