"""A server that is slow and never silent: users' waits as an open loop has them, or none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sojourn.importers import hey, wrk2
from sojourn.referee import judge, words
from sojourn.referee.behind import with_behind
from sojourn.referee.judgement import Judgement
from sojourn.referee.load import Load
from sojourn.referee.requests import Requests, Times
from sojourn.referee.simulated_testing import Server, closed, limited, open_loop, paced, poisson
from sojourn.referee.stops import gaps

S, MS = 1_000_000_000, 1_000_000
HEY = Load(tool="hey", rate_rps=1000, arrivals="paced", facts=hey.FACTS)
WRK2 = replace(HEY, tool="wrk2", facts=wrk2.FACTS)
#: For 3 s it stops for 9.5 ms of each 10 ms, so it answers half of what is due.
HALF = Server(
    service_ns=100_000,
    stops=tuple((5 * S + at * 10 * MS, 5 * S + at * 10 * MS + 9_500_000) for at in range(300)),
)
#: The same without a stop: one request takes 2 ms.
SLOW = Server(service_ns=100_000, slow=((5 * S, 8 * S, 2 * MS),))


def assert_tail(of: Judgement, truth: Times, within: float = 0.1) -> None:
    """p90, p99 and p99.9 of users are those of the truth."""
    for number in of.numbers[1:]:
        assert number.here == pytest.approx(float(np.quantile(truth, number.q)), rel=within)


@pytest.mark.parametrize("server", [HALF, SLOW], ids=["stutters", "slow"])
@pytest.mark.parametrize("arrivals", ["paced", "poisson"])
@pytest.mark.parametrize("connections", [3, 10])
def test_a_tool_that_falls_behind_and_catches_up_has_the_waits_of_an_open_loop(
    server: Server, arrivals: str, connections: int
) -> None:
    due = paced(1000, 20) if arrivals == "paced" else poisson(1000, 20, 5)
    seen = limited(due, server, connections, is_catching_up=True)
    of = judge(seen, HEY)
    assert (of.verdict, of.limit.who) == ("misleading", "server")
    assert not of.gaps.stops
    assert len(of.gaps.behind) == 1
    assert of.gaps.behind[0].lag_ns == pytest.approx(1.5 * S, rel=0.1)
    assert of.late == of.gaps.behind[0].held
    assert_tail(of, open_loop(due, server).total_ns, 0.1 if arrivals == "paced" else 0.2)
    assert float(np.quantile(seen.total_ns, 0.99)) < 50 * MS, "or nothing is tested"
    page = "\n".join(words.lines(of))
    assert "was slower than requests were due" in page
    assert "requests fell behind by up to 1." in page


def test_a_tool_that_counts_from_the_schedule_is_fair_in_it() -> None:
    due = paced(1000, 20)
    of = judge(limited(due, HALF, 10, is_catching_up=True), WRK2)
    assert of.verdict == "fair"
    assert_tail(of, open_loop(due, HALF).total_ns)


def test_a_tool_that_leaves_out_what_a_slow_server_delays_is_not_judged() -> None:
    """1.7 % are missing, so the rate counts as reached."""
    slow = Server(slow=((5 * S, 5_700 * MS, 2 * MS),))
    of = judge(limited(paced(1000, 20), slow, 10, is_catching_up=False), HEY)
    assert of.verdict == "unknown"
    assert of.users_rps is None
    assert not of.limit.is_short
    assert "did not send later what it owed" in of.unknown[0]
    assert of.gaps.behind[0].omitted == pytest.approx(340, rel=0.1)


def test_a_stop_in_a_slow_time_is_part_of_it_and_one_before_is_not() -> None:
    stops = ((2_000 * MS, 2_200 * MS), (6_000 * MS, 6_100 * MS))
    server = replace(SLOW, stops=stops)
    due = paced(1000, 20)
    of = judge(limited(due, server, 10, is_catching_up=True), HEY)
    assert [stop.omitted for stop in of.gaps.stops] == [0]
    assert len(of.gaps.behind) == 1
    assert of.gaps.behind[0].omitted == 0
    assert_tail(of, open_loop(due, server).total_ns)


def test_a_tool_that_is_late_by_itself_is_not_behind_for_the_server() -> None:
    due = paced(1000, 20)
    late = 6 * S + np.arange(1200) * 200_000
    start = np.concatenate((due[due < 5 * S], late, due[due > 6_240 * MS])).astype(np.int64)
    assert not judge(open_loop(start, Server()), HEY).gaps.behind


#: 100 requests are due in 100 ms, and half of them are served: the server makes 50 ms late.
BRIEF = Server(service_ns=100_000, slow=((5 * S, 5_100 * MS, 2 * MS),))
#: The tool itself then sends nothing for 200 ms, while it still owes those 50 requests.
PAUSE = (5_100 * MS, 5_300 * MS)


@pytest.mark.parametrize("is_dropped", [True, False], ids=["dropped", "sent later"])
def test_a_pause_of_the_tool_in_a_slow_time_is_not_the_servers(
    is_dropped: bool,  # noqa: FBT001
) -> None:
    """What was due in the pause is never sent, or sent in a burst after it.

    Outside of it 100 requests are due while the server is slow. So many come in the first case, and
    300 in the second: the server owes none, and no user waits for the pause.
    """
    users = paced(1000, 20)
    due = np.where(users < PAUSE[0], users, users + 200 * MS) if is_dropped else users
    seen = limited(due, BRIEF, 4, is_catching_up=True, pause=PAUSE)
    of = judge(seen, WRK2)
    assert of.verdict == "fair"
    assert [one.omitted for one in of.gaps.behind] == [0]
    assert of.gaps.behind[0].lag_ns == pytest.approx(50 * MS, rel=0.2)
    assert sum(ns for _, ns in of.gaps.behind[0].pauses) == pytest.approx(200 * MS, rel=0.05)
    truth = float(np.quantile(open_loop(users, BRIEF).total_ns, 0.999))
    assert of.numbers[3].here == pytest.approx(truth, rel=0.1)


def test_a_tool_that_leaves_out_owes_for_the_slow_time_and_not_for_its_pause() -> None:
    """The server delays 150 requests in 300 ms, and 200 more are due in the tool's pause."""
    server = Server(service_ns=100_000, slow=((5 * S, 5_500 * MS, 2 * MS),))
    pause = (5_200 * MS, 5_400 * MS)
    of = judge(limited(paced(1000, 20), server, 4, is_catching_up=False, pause=pause), HEY)
    assert sum(one.omitted for one in of.gaps.behind) == pytest.approx(150, rel=0.1)
    assert of.verdict == "unknown"


def test_what_a_tool_sends_later_for_its_pause_does_not_pay_for_a_slow_server() -> None:
    """The server delays 150 requests that are never sent; 200 of a pause are, in a burst."""
    due, pause = paced(1000, 20), (5_300 * MS, 5_500 * MS)
    server = Server(service_ns=100_000, slow=((5 * S, pause[0], 2 * MS),))
    closed_loop = limited(due, server, 4, is_catching_up=False).start_ns
    outside = closed_loop[(closed_loop < pause[0]) | (closed_loop >= pause[1])]
    late = due[(due >= pause[0]) & (due < pause[1])]
    asked = np.sort(np.concatenate((outside, late)))
    seen = limited(asked, server, 4, is_catching_up=True, pause=pause)
    of = judge(seen, WRK2)
    assert sum(one.omitted for one in of.gaps.behind) == pytest.approx(150, rel=0.1)
    assert of.verdict == "unknown"


def test_quiet_runs_of_few_connections_are_not_behind() -> None:
    runs = 40
    wrong = 0
    for seed in range(runs):
        due = poisson(1000, 4, seed)
        seen = limited(due, Server(service_ns=500_000), 3, is_catching_up=True)
        wrong += bool(with_behind(seen, gaps(seen, 1000), 1000).behind)
    assert wrong <= 0.01 * runs + 5 * np.sqrt(0.01 * runs), "five sigma"


def test_users_of_a_lower_rate_wait_behind_each_other_while_the_server_is_slow() -> None:
    seen = closed(20, SLOW, 8)
    of = judge(seen, Load(rate_rps=1000, is_users=True, arrivals="paced"))
    assert not of.gaps.stops
    assert_tail(of, open_loop(paced(1000, 20), SLOW).total_ns)
    assert of.verdict == "misleading"


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_few_requests_are_not_behind(n: int) -> None:
    start = np.arange(n, dtype=np.int64) * MS
    seen = Requests(start_ns=start, first_ns=start + 9, end_ns=start + 9, connection=start)
    assert not with_behind(seen, gaps(seen, 1000), 1000).behind
