"""Who was the limit: each side, by planted evidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sojourn.referee.held_back import turnaround
from sojourn.referee.limit import Evidence, limit
from sojourn.referee.simulated_testing import Server, closed, limited, open_loop, paced, poisson
from sojourn.referee.stops import Behind, Gaps, Stop
from sojourn.referee.usage import Sample, Usage, thinned, usage

IDLE, FULL = (
    Usage(seconds=10, busiest="a", busiest_wants=share, wants=share, runs=share)
    for share in (0.3, 0.97)
)
QUIET = Gaps(stops=(), paused_ns=0, pauses=0, least_ns=1, blind_ns=1)
REACHED = Evidence(
    rate_rps=1000,
    due=10_000,
    sent=10_000,
    seconds=10,
    seen=QUIET,
    held_share=0.0,
    client=IDLE,
    server=IDLE,
)
MISSED = replace(REACHED, sent=5_000)
FAST = replace(REACHED, rate_rps=None, due=0.0, held_share=0.99)


def stopped(omitted: int) -> Gaps:
    stop = Stop(
        last=10,
        held=1,
        begin_ns=0,
        resume_ns=200_000_000,
        caught_ns=200_000_001,
        in_flight=1,
        due=omitted + 1,
        omitted=omitted,
    )
    return replace(QUIET, stops=(stop,))


def behind(omitted: int) -> Gaps:
    span = Behind(
        last=10,
        held=100,
        begin_ns=0,
        caught_ns=10**9,
        lag_ns=500_000_000,
        due_ns=10**9,
        omitted=omitted,
    )
    return replace(QUIET, behind=(span,))


@pytest.mark.parametrize(
    ("evidence", "who"),
    [
        (REACHED, "none"),
        (replace(REACHED, client=FULL), "none"),  # it spins, and sends what is due
        (replace(REACHED, client=None, server=None), "none"),
        (replace(REACHED, seen=stopped(0)), "server"),
        (replace(REACHED, sent=9_790), "unknown"),
        (replace(REACHED, sent=9_790, is_random=True), "none"),  # two sigma
        (replace(REACHED, sent=9_600, is_random=True), "unknown"),
        (replace(MISSED, client=FULL), "client"),
        (replace(MISSED, server=FULL), "server"),
        (replace(MISSED, client=FULL, server=FULL), "client and server"),
        (replace(MISSED, seen=stopped(5_000)), "server"),
        (replace(MISSED, seen=stopped(5_000), client=FULL), "server"),
        (replace(MISSED, held_share=0.8), "connections"),
        (replace(MISSED, held_share=0.8, seen=stopped(9)), "connections"),
        (replace(REACHED, seen=behind(0)), "server"),
        (replace(MISSED, seen=behind(5_000)), "unknown"),
        (MISSED, "unknown"),
        (replace(FAST, held_share=None), "unknown"),
        (replace(FAST, held_share=None, seen=stopped(9)), "server"),
        (replace(FAST, held_share=None, client=FULL), "client"),
        (replace(FAST, held_share=None, rate_rps=100, due=1_000), "none"),
        (replace(REACHED, held_share=None), "none"),
        (replace(MISSED, held_share=None), "unknown"),
        (FAST, "connections"),
        (replace(FAST, client=FULL), "client"),
        (replace(FAST, server=FULL), "server"),
        (replace(FAST, seen=stopped(9)), "server"),
        (replace(FAST, held_share=0.1), "none"),
    ],
)
def test_the_limit_is_named(evidence: Evidence, who: str) -> None:
    assert limit(evidence).who == who


@pytest.mark.parametrize(
    ("evidence", "is_short"),
    [
        (REACHED, False),
        (FAST, False),
        (MISSED, True),
        (replace(MISSED, server=FULL), True),
        (replace(MISSED, seen=stopped(5_000)), False),
        (replace(MISSED, seen=stopped(500), server=FULL), True),
    ],
)
def test_requests_are_short_where_stops_are_not_the_reason(
    evidence: Evidence,
    is_short: bool,  # noqa: FBT001
) -> None:
    assert limit(evidence).is_short == is_short


def test_requests_that_did_not_come_are_missing() -> None:
    why = limit(replace(MISSED, seen=stopped(5_000))).why
    assert why == "5,000 of 10,000 due requests are missing, and they were due while it stood still"


def test_a_closed_loop_follows_its_replies_and_an_open_one_does_not() -> None:
    server = Server(service_ns=100_000)
    assert turnaround(closed(4, server, 8)).share > 0.95
    assert turnaround(limited(poisson(500, 20, 1), server, 50, is_catching_up=True)).share < 0.1
    one = limited(poisson(500, 40, 2), Server(), 1, is_catching_up=True)
    assert turnaround(one).share < 0.1, "two of five follow within a millisecond by chance"
    assert turnaround(limited(paced(1000, 10), server, 1, is_catching_up=True)).share < 0.1


def test_a_saturated_limited_tool_follows_its_replies() -> None:
    server = Server(service_ns=600_000)
    seen = limited(paced(2000, 10), server, 4, is_catching_up=True)
    assert turnaround(seen).share > 0.9


def test_no_pair_of_requests_says_nothing() -> None:
    seen = open_loop(paced(100, 1), Server())
    assert turnaround(seen).pairs == 0
    assert turnaround(seen).median_ns is None


def test_what_threads_did_is_summed_within_the_load() -> None:
    s = 1_000_000_000
    samples = [
        Sample(at_ns=at * s, threads={1: ("a", at * s // 2, at * s // 4), 2: ("b", 0, 0)}, cpus=2)
        for at in range(6)
    ]
    result = usage(samples, 1 * s, 4 * s)
    assert result.seconds == 3
    assert result.busiest == "a"
    assert result.busiest_wants == pytest.approx(0.75)
    assert result.wants == pytest.approx(0.375)
    assert result.waits == pytest.approx(1 / 3)
    assert usage([], 0, s).seconds == 0
    assert usage(samples, 10 * s, 20 * s).busiest == ""


def test_half_of_the_samples_have_the_same_sum_and_the_longest_queue() -> None:
    s = 1_000_000_000
    samples = [
        Sample(at_ns=at * s, threads={1: ("a", at * s // 2, 0)}, accept_queue=9 * (at == 5))
        for at in range(12)
    ]
    for part in (samples, samples[:11], samples[:1], []):
        few = thinned(part)
        assert [one.at_ns for one in few[:1]] == [one.at_ns for one in part[:1]]
        assert [one.at_ns for one in few[-1:]] == [one.at_ns for one in part[-1:]]
    few = thinned(samples)
    assert len(few) == 7
    assert max(one.accept_queue for one in few) == 9
    assert usage(few, 0, 11 * s) == usage(samples, 0, 11 * s)


@pytest.mark.parametrize(
    ("of", "who"),
    [
        (replace(FAST, client=Usage(), server=Usage()), "unknown"),
        (replace(FAST, client=Usage()), "unknown"),
        (replace(FAST, client=Usage(), server=FULL), "unknown"),
        (replace(FAST, client=FULL, server=Usage()), "client"),
        (replace(FAST, server=Usage()), "unknown"),
        (replace(FAST, held_share=0.0, client=Usage()), "unknown"),
        (replace(FAST, client=None, server=None), "connections"),
        (replace(MISSED, client=Usage()), "unknown"),
        (replace(REACHED, client=Usage()), "none"),
    ],
)
def test_threads_that_no_two_looks_saw_are_not_taken_for_idle(of: Evidence, who: str) -> None:
    result = limit(of)
    assert result.who == who
    assert ("no CPU was full" in result.why) == (who == "connections")
    assert ("not known" in result.why) == (who == "unknown")


def test_a_tool_that_sends_far_more_than_users_come_has_a_limit_of_its_own() -> None:
    assert limit(replace(REACHED, sent=90_000, client=FULL)).who == "client"
    assert limit(replace(REACHED, sent=90_000, held_share=0.99)).who == "connections"
    assert limit(replace(REACHED, sent=14_000, client=FULL)).who == "none"


def test_threads_that_no_sample_has_were_not_seen() -> None:
    s = 1_000_000_000
    assert usage([Sample(at_ns=at * s, threads={}) for at in range(9)], 0, 8 * s).seconds == 0


def test_a_thread_that_begins_counts_from_then_on() -> None:
    s = 1_000_000_000
    samples = [
        Sample(at_ns=0, threads={1: ("a", 5 * s, 0)}),
        Sample(at_ns=s, threads={1: ("a", 5 * s, 0), 2: ("b", s, 0)}),
    ]
    assert usage(samples, 0, s).busiest == "b"
    assert np.isclose(usage(samples, 0, s).busiest_wants, 1.0)


def test_a_thread_that_a_look_missed_has_not_run_for_all_its_life() -> None:
    """It ran for an hour before, and for a tenth of the time since."""
    s = 1_000_000_000
    hour = 3600 * s
    samples = [
        Sample(at_ns=at * s, threads={} if at == 3 else {1: ("a", hour + at * s // 10, 0)})
        for at in range(6)
    ]
    assert usage(samples, 0, 5 * s).busiest_wants == pytest.approx(0.1)
    late = [Sample(at_ns=0, threads={}), *samples[1:]]
    assert usage(late, 0, 5 * s).busiest_wants <= 1, "seen first after a second"
