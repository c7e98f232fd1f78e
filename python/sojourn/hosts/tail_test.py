"""Who is named for slow requests, and how often a good client is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats

from sojourn.hosts.tail import (
    FALSE_RATE,
    QUANTILES,
    TIMES,
    Tail,
    again,
    as_many,
    in_all_parts,
    last_bin,
    named,
    tails,
    unequal,
)

SLICES, REQUESTS = 40, 8_000  # of each client
Counts = NDArray[np.int64]


def sent(draw: Generator, clients: int) -> Counts:
    return draw.poisson(REQUESTS / SLICES, (clients, SLICES))


def by_lot(draw: Generator, requests: Counts) -> Counts:
    """Slow requests that are independent."""
    return draw.binomial(requests, 0.01)


def by_stalls(draw: Generator, requests: Counts) -> Counts:
    """Slow requests of which most come one behind the other on a stalled connection."""
    beyond = draw.binomial(requests, 0.002)
    for _ in range(draw.poisson(10)):
        at = draw.integers(len(requests)), draw.integers(SLICES)
        beyond[at] = min(requests[at], beyond[at] + draw.geometric(1 / 20))
    return beyond


def by_moments(draw: Generator, requests: Counts) -> Counts:
    """Slow requests of moments in which the server stood still, for whoever asked then."""
    share = np.where(draw.random(SLICES) < 0.1, 0.09, 0.001)
    return draw.binomial(requests, share)


def held(
    draw: Generator, requests: Counts, slow: Callable[[Generator, Counts], Counts]
) -> dict[float, tuple[Tail, ...]]:
    """The tests of a point, at all quantiles; what is above one is above those below it too."""
    beyond, result = np.zeros_like(requests), {}
    for q in QUANTILES:
        beyond = np.minimum(requests, beyond + slow(draw, requests))
        result[q] = tails(requests, beyond)
    return result


@pytest.mark.parametrize("slow", [by_lot, by_stalls, by_moments])
@pytest.mark.parametrize("clients", [2, 4, 8])
def test_good_clients_are_named_no_more_often_than_stated(
    clients: int, slow: Callable[[Generator, Counts], Counts]
) -> None:
    draw, points = np.random.default_rng(31), 600
    false = 0
    for _ in range(points):
        requests = sent(draw, clients)
        false += bool(named(held(draw, requests, slow)))
    # More would come once in a thousand such tests if the rate were exactly the stated one.
    assert false <= stats.binom.ppf(0.999, points, FALSE_RATE)


@pytest.mark.parametrize("clients", [2, 4, 8])
@pytest.mark.parametrize("which", [0, -1])
def test_a_client_with_four_times_as_many_is_named_each_time(clients: int, which: int) -> None:
    for seed in range(20):
        draw = np.random.default_rng(seed)
        requests, share = sent(draw, clients), np.full((clients, 1), 0.005)
        share[which] = 0.02
        assert which % clients in named({0.99: tails(requests, draw.binomial(requests, share))})


def test_the_highest_quantile_at_which_a_client_is_named_is_reported() -> None:
    requests = np.full((2, SLICES), 250)
    beyond = np.array([[25] * SLICES, [5] * SLICES])
    once = np.array([[0] * SLICES, [0] * SLICES])
    once[0, 3] = 100
    slow, moment = tails(requests, beyond), tails(requests, once)
    assert named({0.99: moment, 0.95: slow, 0.9: slow}) == {0: 0.95}


def test_of_two_clients_the_one_with_all_is_named_though_its_share_is_just_twice() -> None:
    requests = np.full((2, SLICES), 250)
    beyond = np.array([[5] * SLICES, [0] * SLICES])
    first, second = tails(requests, beyond)
    assert first.is_named
    assert first.factor == float("inf")
    assert not second.is_named


def test_who_was_stalled_once_is_not_named() -> None:
    """However unlikely by lot: one stalled connection is one event, not two hundred."""
    requests, beyond = np.full((4, SLICES), 125), np.ones((4, SLICES), np.int64)
    beyond[2, 7] = 120
    result = tails(requests, beyond)[2]
    assert result.factor is not None
    assert result.factor > TIMES
    assert result.p is not None
    assert result.p < 1e-9
    assert not result.is_named


def test_one_and_a_half_times_as_many_are_no_reason_to_name_anyone() -> None:
    requests = np.full((2, SLICES), 10_000)
    beyond = np.array([[150] * SLICES, [100] * SLICES])
    result = tails(requests, beyond)[0]
    assert result.p is not None
    assert result.p < FALSE_RATE
    assert result.steadiness > 6
    assert not result.is_named


def test_of_one_client_or_of_no_slow_requests_no_one_is_named() -> None:
    requests = np.full((1, SLICES), 100)
    assert tails(requests, requests)[0].factor is None
    none = np.zeros((3, SLICES), np.int64)
    assert not named({0.99: tails(np.full((3, SLICES), 100), none)})
    assert not named({0.99: tails(none, none)})


def long_stalls(draw: Generator, requests: Counts) -> Counts:
    """Slow requests of which most come in stalls that last for up to twelve slices."""
    beyond = draw.binomial(requests, 0.002)
    for _ in range(draw.poisson(4)):
        one, first = draw.integers(len(requests)), int(draw.integers(SLICES))
        for at in range(first, min(SLICES, first + int(draw.integers(1, 13)))):
            beyond[one, at] = min(requests[one, at], beyond[one, at] + draw.poisson(20))
    return beyond


@pytest.mark.parametrize("clients", [2, 4, 8])
def test_a_few_long_stalls_do_not_name_a_good_client(clients: int) -> None:
    """One of two is unequal in every eighth point, and slow in all parts of the run in few."""
    false = apart = 0
    points, draw = 400, np.random.default_rng([clients, 6])
    for _ in range(points):
        result = held(draw, sent(draw, clients) // clients, long_stalls)
        false += bool(named(result))
        apart += bool(unequal(result))
    assert false <= 0.09 * points
    assert false + apart <= 0.18 * points
    assert clients > 2 or apart > 0.02 * points, "they are not hidden either"


def test_who_is_named_at_one_quantile_is_not_unequal_at_another() -> None:
    good = Tail(beyond=1, factor=1.0, p=None, steadiness=0.0, is_unequal=False, is_named=False)
    apart = replace(good, is_unequal=True)
    slow = replace(apart, is_named=True)
    every = {0.99: (apart, apart, good), 0.95: (slow, apart, good), 0.9: (good, good, good)}
    assert named(every) == {0: 0.95}
    assert unequal(every) == {1: 0.99}


def test_a_run_of_few_slices_has_fewer_parts() -> None:
    requests = np.full((2, 4), 1000)
    beyond = np.array([[50, 52, 49, 51], [10, 10, 10, 10]])
    assert in_all_parts(beyond - requests * 0.03)[0] < 1e-3
    assert in_all_parts(beyond[:, :1] - 30.0) == [1.0, 1.0]


@pytest.mark.parametrize("clients", [4, 8])
def test_a_client_that_stops_now_and_then_is_named_each_time(clients: int) -> None:
    """Ten stops of a hog in forty slices: too few slices to be steady, too many for one stall."""
    for seed in range(20):
        draw = np.random.default_rng(seed)
        requests = sent(draw, clients)
        beyond = draw.binomial(requests, 0.001)
        beyond[0, 1::4] += 30
        assert tails(requests, beyond)[0].steadiness < 3.4
        assert set(named({0.99: tails(requests, beyond)})) == {0}


@pytest.mark.parametrize("clients", [2, 4, 8])
def test_where_half_of_the_clients_are_slow_these_are_named(clients: int) -> None:
    for seed in range(20):
        draw = np.random.default_rng(seed)
        requests, share = sent(draw, clients), np.full((clients, 1), 0.005)
        share[: clients // 2] = 0.06
        result = named({0.99: tails(requests, draw.binomial(requests, share))})
        assert set(result) == set(range(clients // 2))


@pytest.mark.parametrize("weights", [(1, 3, 3, 3), (4, 1, 1, 1), (9, 1)])
@pytest.mark.parametrize("which", [0, 1])
def test_clients_with_unequal_shares_of_the_load_are_held_against_their_own(
    weights: tuple[int, ...], which: int
) -> None:
    for seed in range(20):
        draw = np.random.default_rng(seed)
        parts = np.array(weights)[:, None] / sum(weights)
        requests = draw.poisson(3 * REQUESTS / SLICES * parts, (len(weights), SLICES))
        good, share = draw.binomial(requests, 0.01), np.full((len(weights), 1), 0.005)
        assert not named({0.99: tails(requests, good)})
        share[which] = 0.1
        assert set(named({0.99: tails(requests, draw.binomial(requests, share))})) == {which}


def test_equal_times_at_the_quantile_are_slow_together() -> None:
    """All requests of a slow client have one time: none lies above it, and it is slow."""
    assert last_bin(np.array([600, 0, 400]), 0.99) == 1
    assert last_bin(np.array([985, 5, 6, 4]), 0.99) == 1
    assert last_bin(np.array([985, 0, 9, 6]), 0.99) == 2


def test_episodes_are_drawn_as_a_whole() -> None:
    requests = np.full((4, SLICES), 100)
    beyond = np.zeros((4, SLICES), np.int64)
    beyond[0, :20] = 10
    surplus = beyond - beyond.sum(axis=0) / 4
    assert again(requests, beyond, surplus[0], 0) == pytest.approx(0.25, rel=0.05), "one stall"
    beyond[0] = 0
    beyond[0, ::4] = 10
    surplus = beyond - beyond.sum(axis=0) / 4
    assert again(requests, beyond, surplus[0], 0) == pytest.approx(0.25**10, rel=0.5)
    assert again(requests, beyond, surplus[1], 1) == 1.0


@pytest.mark.parametrize("share", [0.001, 0.005, 0.0099, 0.01, 0.0101, 0.012])
def test_the_probability_of_as_many_is_that_of_a_draw_on_both_sides_of_its_mean(
    share: float,
) -> None:
    n, all_n = 300_000, 1_200_000
    x, all_x = round(share * n), all_n // 100
    wanted = float(stats.hypergeom.sf(x - 1, all_n, all_x, n))
    assert as_many(x, n, all_x, all_n) == pytest.approx(wanted, rel=1e-6, abs=1e-12)
