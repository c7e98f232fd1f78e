"""Whole judgements of simulated loads: verdicts, words, and intervals that cover."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sojourn.errors import Exit
from sojourn.importers import hey, wrk2
from sojourn.referee import judge, words
from sojourn.referee.judgement import Judgement, Loss, Threads
from sojourn.referee.load import Load
from sojourn.referee.requests import Requests, of_columns
from sojourn.referee.simulated_testing import (
    Server,
    closed,
    every,
    limited,
    open_loop,
    paced,
    poisson,
)
from sojourn.referee.usage import Sample

S, MS = 1_000_000_000, 1_000_000
HEY = Load(tool="hey", rate_rps=1000, arrivals="paced", facts=hey.FACTS)
WRK2 = replace(HEY, tool="wrk2", facts=wrk2.FACTS)
STOPPED = Server(stops=every(2 * S, 200 * MS, 20))


def text(of: Judgement) -> str:
    rows = (" ".join(row) for row in words.rows(of))
    return "\n".join((*words.lines(of), *rows, *words.remarks(of)))


def skipping(server: Server) -> Requests:
    return limited(paced(1000, 20), server, 10, is_catching_up=False)


def test_a_tool_that_leaves_requests_out_misleads() -> None:
    of = judge(skipping(STOPPED), HEY)
    assert (of.verdict, of.exit) == ("misleading", Exit.VIOLATED)
    assert of.limit.who == "server"
    assert len(of.gaps.stops) == 10
    p99 = of.numbers[2]
    assert p99.users is not None
    assert p99.server.value is not None
    assert p99.users.value == pytest.approx(180 * MS, rel=0.1)
    assert "Coordinated omission" in text(of)
    assert "stood still 10 times" in text(of)
    assert of.due == pytest.approx(20_000, abs=3), "the load ends in a stop"
    assert of.due is not None
    assert of.omitted == pytest.approx(of.due - of.requests, abs=12)


def test_the_same_tool_without_stops_is_fair() -> None:
    of = judge(skipping(Server()), HEY)
    assert (of.verdict, of.exit, of.limit.who) == ("fair", Exit.OK, "none")
    assert of.shape.kind == "paced"
    assert not of.omitted


def test_a_tool_that_counts_from_the_schedule_is_fair_if_it_catches_up() -> None:
    seen = limited(paced(1000, 20), STOPPED, 10, is_catching_up=True)
    assert judge(seen, WRK2).verdict == "fair"
    assert judge(seen, HEY).verdict == "misleading"
    assert judge(skipping(STOPPED), WRK2).verdict == "misleading", "it counts what it sent"


def test_an_open_loop_is_fair_whatever_the_server_does() -> None:
    of = judge(open_loop(poisson(1000, 20, 1), STOPPED), HEY)
    assert of.verdict == "fair"
    assert of.shape.kind == "poisson"


def test_a_closed_loop_without_a_rate_gets_bounds() -> None:
    of = judge(closed(20, replace(STOPPED, service_ns=500_000), 8), Load())
    assert of.is_bound
    assert of.verdict == "misleading"
    assert of.limit.who == "server"
    assert of.turnaround.share > 0.9
    assert "≤" in text(of)
    assert "not known" in text(of)


def test_without_a_stop_that_counts_users_come_as_the_requests_did() -> None:
    """wrk on a busy machine: 1,800 requests/s came, and users were to come at 2,436."""
    short = Server(service_ns=500_000, stops=every(100 * MS, 40 * MS, 5))
    of = judge(closed(5, short, 16), Load())
    assert not of.gaps.stops
    assert of.users_rps == of.came_rps
    assert "as the requests came" in text(of)
    assert "cannot be seen so" in text(of)


def test_a_tool_with_random_arrivals_reaches_its_rate_but_for_chance() -> None:
    """Some hundred requests of a Poisson process lack more than 2 % in one of three runs."""
    load = Load(tool="sojourn-load", rate_rps=100, arrivals="poisson", facts=wrk2.FACTS)
    runs = [open_loop(poisson(100, 5, seed), Server()) for seed in range(40)]
    assert sum(seen.n < 0.98 * 100 * seen.seconds for seen in runs) >= 8, "or nothing is tested"
    assert sum(judge(seen, load).verdict != "fair" for seen in runs) <= 1, "three sigma"


def test_of_a_connection_for_each_request_nothing_shows_a_closed_loop() -> None:
    """As of ab without -k: each request has a connection of its own, and waits for a reply."""
    seen = closed(5, Server(service_ns=500_000), 8)
    alone = replace(seen, connection=np.arange(seen.n))
    assert judge(seen, Load()).limit.who == "connections"
    of = judge(alone, Load())
    assert (of.limit.who, of.verdict) == ("unknown", "unknown")
    assert "most connections had one request" in text(of)
    slow = judge(alone, Load(rate_rps=100, is_users=True))
    assert (slow.limit.who, slow.verdict) == ("none", "fair")


def test_users_of_a_lower_rate_than_the_tools_are_given_theirs() -> None:
    seen = closed(20, replace(STOPPED, service_ns=100_000), 8)
    of = judge(seen, Load(rate_rps=1000, is_users=True, arrivals="paced"))
    assert not of.is_bound
    truth = open_loop(paced(1000, 20), replace(STOPPED, service_ns=100_000)).total_ns
    for number in of.numbers[2:]:
        assert number.users is not None
        assert number.users.value == pytest.approx(float(np.quantile(truth, number.q)), rel=0.1)
    assert of.numbers[2].server.value is not None
    assert of.numbers[2].server.value < 10 * MS
    assert "far more than the rate of users" in text(of)


def test_a_full_client_is_the_limit_and_waits_are_not_given() -> None:
    seen = limited(paced(1000, 20), Server(service_ns=2_000_000), 1, is_catching_up=True)
    samples = [
        Sample(at_ns=at * S, threads={7: ("main", at * 97 * S // 100, 0)}) for at in range(40)
    ]
    of = judge(seen, HEY, threads=Threads(client=samples))
    assert of.limit.who == "client"
    assert (of.verdict, of.users_rps) == ("misleading", None)
    assert "did not reach 1,000 requests/s" in text(of)
    of = judge(seen, HEY)
    assert (of.limit.who, of.verdict) == ("connections", "misleading")


def test_a_rate_that_is_missed_for_no_reason_is_not_judged() -> None:
    of = judge(open_loop(paced(700, 20), Server()), HEY)
    assert (of.limit.who, of.verdict) == ("unknown", "unknown")


@pytest.mark.parametrize(
    ("seen", "loss", "why"),
    [
        (open_loop(paced(1000, 0.05), Server()), Loss(), "49 requests came"),
        (open_loop(paced(1000, 0.0), Server()), Loss(), "0 requests came"),
        (skipping(Server()), Loss(unknown=("trace: it lost some",)), "it lost some"),
    ],
)
def test_what_is_not_known_is_not_judged(seen: Requests, loss: Loss, why: str) -> None:
    of = judge(seen, HEY, trace=loss)
    assert (of.verdict, of.exit) == ("unknown", Exit.UNKNOWN)
    assert why in text(of)
    assert all(number.users is None for number in of.numbers)


def test_pipelined_requests_are_not_matched() -> None:
    n = 1000
    start = np.arange(n, dtype=np.int64) * MS
    columns = {"start_ns": start, "total_ns": np.full(n, 3 * MS), "connection": start // (40 * MS)}
    columns |= {"drain_ns": 0 * start, "tx_ns": 0 * start}
    of = judge(of_columns(columns), HEY)
    assert of.verdict == "unknown"
    assert "pipelining" in text(of)


def test_a_tool_that_sends_all_at_the_begin_of_each_second_is_not_judged() -> None:
    bursts = np.concatenate([np.arange(1000) * 100_000 + at * S for at in range(10)])
    of = judge(open_loop(bursts.astype(np.int64), Server()), HEY)
    assert of.verdict == "unknown"
    assert "nothing was sent" in text(of)
    assert of.shape.kind in {"clumped", "mixed"}


def test_a_tool_that_sends_in_clumps_may_miss_stops_between_them() -> None:
    """As hey: all its workers send at the same time, each 20 ms."""
    clumps = np.concatenate([np.arange(20) * 20_000 + at * 20 * MS for at in range(1000)])
    short = Server(stops=tuple((at * 500 * MS + MS, at * 500 * MS + 19 * MS) for at in range(40)))
    of = judge(open_loop(clumps.astype(np.int64), short), HEY)
    assert (of.verdict, of.limit.who) == ("unknown", "none")
    assert not of.gaps.stops
    assert of.gaps.blind_ns == pytest.approx(20 * MS, rel=0.05)
    assert "may be missed" in text(of)
    assert "in clumps" in text(of)
    long = limited(clumps.astype(np.int64), STOPPED, 20, is_catching_up=False)
    of = judge(long, HEY)
    assert of.verdict == "misleading"
    assert "Requests came in clumps" in text(of)


def test_records_in_any_order_are_read_in_order_of_arrival() -> None:
    columns = {
        "start_ns": np.array([30, 10, 20]),
        "total_ns": np.array([5, 50, 5]),
        "drain_ns": np.array([1, 40, 9]),
        "tx_ns": np.array([1, 5, 9]),
        "connection": np.array([1, 2, 1]),
    }
    seen = of_columns(columns)
    assert seen.start_ns.tolist() == [10, 20, 30]
    assert seen.end_ns.tolist() == [60, 25, 35]
    assert seen.first_ns.tolist() == [15, 20, 33]
    assert seen.in_flight(np.array([5, 12, 22, 40, 70])).tolist() == [0, 1, 2, 1, 0]
    assert seen.connections == 2
    of = judge(seen, HEY)
    assert of.first_byte_ns[0] == 3
    assert "first byte of replies: p50 3" in text(of)


def test_intervals_of_users_waits_cover() -> None:
    """Random stops; the truth is p90 over many runs, as an open loop sees it."""
    runs, q, at = 30, 0.9, 1
    truths, inside = [], 0
    results = []
    for seed in range(runs):
        draw = np.random.default_rng(seed)
        begins = np.cumsum(draw.uniform(200, 600, 60)) * MS
        stops = tuple((int(b), int(b + draw.uniform(20, 120) * MS)) for b in begins if b < 18 * S)
        server = Server(stops=stops)
        due = poisson(1000, 20, 1000 + seed)
        truths.append(float(np.quantile(open_loop(due, server).total_ns, q)))
        of = judge(limited(due, server, 10, is_catching_up=False), HEY).numbers[at].users
        assert of is not None
        assert of.interval is not None
        results.append(of.interval)
    truth = float(np.median(truths))
    inside = sum(one.lo <= truth <= one.hi for one in results)
    assert inside >= 0.95 * runs - 4 * np.sqrt(0.95 * 0.05 * runs), "four sigma below 95 %"


def test_of_a_load_without_a_request_only_that_is_reported() -> None:
    """The page had each of no connections with one request, and no stop that was seen."""
    of = judge(open_loop(paced(1000, 0.0), Server()), HEY)
    assert of.unknown == ("0 requests came, and 100 are needed",)
    assert [line.partition(":")[0] for line in words.lines(of)] == ["unknown", "asked", "came"]
