"""What is steady passes; what grows, drifts or starts cold does not; a short run is not judged."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.random import Generator
from scipy import stats

from sojourn.stats import steady
from sojourn.stats.testing import mg1, queued, taken
from sojourn.stats.times import EMPTY, Floats, Times, from_values

SERVICE_S = 20e-6


def cut(times: Floats, parts: int = 40) -> list[Times]:
    return [from_values(part) for part in np.array_split(times, parts)]


def levels(p50: Sequence[float], tail: Sequence[float] | None = None) -> list[Times]:
    """A slice for each eighth, with this p50 and this p99."""
    both = zip(p50, tail or [2 * p for p in p50], strict=True)
    return [from_values(np.repeat([one, high], [90, 10])) for one, high in both]


def beside(rng: Generator, rho: float, on_s: float, off_s: float, length_s: float = 1.0) -> Floats:
    due_s = np.cumsum(rng.exponential(SERVICE_S / rho, round(rho * length_s / SERVICE_S)))
    work_s = rng.exponential(SERVICE_S, len(due_s))
    return queued(due_s, work_s, taken(rng, on_s, off_s, length_s))


@pytest.mark.parametrize("rho", [0.3, 0.6, 0.9])
def test_a_stable_queue_is_seldom_called_unsteady(rho: float) -> None:
    """At most 5 %: of 60 runs more than 8 would be three sigma."""
    rng = np.random.default_rng(8)
    results = [steady.judge(cut(mg1(rng, rho, 30_000)[5_000:])) for _ in range(60)]
    assert sum(one.is_steady is False or bool(one.cold) for one in results) <= 8


@pytest.mark.parametrize(
    ("rho", "on_s", "off_s"), [(0.3, 6e-3, 42e-3), (0.3, 10e-3, 10e-3), (0.7, 0.03, 0.3)]
)
def test_bursts_of_a_neighbour_are_no_drift(rho: float, on_s: float, off_s: float) -> None:
    rng = np.random.default_rng(9)
    results = [steady.judge(cut(beside(rng, rho, on_s, off_s))) for _ in range(60)]
    assert sum(one.is_steady is False or bool(one.cold) for one in results) <= 8


@pytest.mark.parametrize("rho", [1.05, 1.2, 1.5])
def test_an_overloaded_queue_grows_and_says_from_where_to_where(rho: float) -> None:
    result = steady.judge(cut(mg1(np.random.default_rng(1), rho, 60_000)[10_000:]))
    assert (result.is_steady, result.grows, result.cold) == (False, True, "")
    assert result.reasons[0].startswith("overloaded: the queue grows: p50 rises from ")


def test_a_load_that_a_neighbour_leaves_no_room_for_grows() -> None:
    """Half of the CPU is left, and 70 % of it is asked for."""
    rng = np.random.default_rng(2)
    results = [steady.judge(cut(beside(rng, 0.7, 3e-3, 3e-3))) for _ in range(20)]
    assert sum(one.grows for one in results) >= 19


def test_one_pair_of_eighths_may_be_out_of_order_and_no_more() -> None:
    up = [100.0, 120, 140, 160, 180, 200, 220, 240]
    assert steady.judge(levels(up)).grows
    once = [*up[:3], 180, 160, *up[5:]]
    assert steady.judge(levels(once)).grows
    twice = [*up[:3], 200, 160, 180, *up[6:]]
    assert steady.judge(levels(twice)).is_steady is True


def test_so_ordered_are_independent_eighths_as_seldom_as_is_reported() -> None:
    """Every order of eight, counted."""
    few = 0
    for order in itertools.permutations(range(8)):
        falls = sum(a > b for a, b in itertools.combinations(order, 2))
        few += min(falls, 28 - falls) <= 1
    assert few / math.factorial(8) == pytest.approx(steady.by_chance())


@pytest.mark.parametrize("seed", range(4))
def test_the_order_is_kendall_s_and_the_drift_is_sen_s(seed: int) -> None:
    """A second implementation: scipy's."""
    rng = np.random.default_rng(seed)
    values = np.linspace(100, 300, 8) + rng.normal(0, 12, 8)
    tau = float(stats.kendalltau(np.arange(8), values).statistic)
    drift = float(stats.theilslopes(values).slope) * 7 / float(np.median(values))
    wanted = drift if tau >= 1 - 2 / 28 - 1e-9 else 0.0
    assert steady.trend(values) == pytest.approx(wanted)
    assert steady.trend(values[::-1].copy()) == pytest.approx(-wanted)


def test_a_drift_of_less_than_half_is_what_equal_runs_differ_by() -> None:
    assert steady.trend(np.linspace(100, 160, 8)) == 0.0
    assert steady.trend(np.linspace(100, 180, 8)) == pytest.approx(80 / 140)
    assert steady.judge(levels([100 + 5.0 * k for k in range(8)])).is_steady is True


def test_what_moves_without_growing_has_no_level_but_is_no_overload() -> None:
    down = [240.0, 220, 200, 180, 160, 140, 120, 100]
    result = steady.judge(levels(down))
    assert (result.is_steady, result.grows) == (False, False)
    assert result.reasons[0] == "unstable: p50 moves by -82% over the run (Mann-Kendall)"
    tail = steady.judge(levels([100.0] * 8, [200.0 * k for k in range(1, 9)]))
    assert tail.reasons == ("unstable: p99 moves by +156% over the run (Mann-Kendall)",)
    assert not tail.grows


def test_a_tail_that_turns_infinite_moves_without_bound() -> None:
    times = [np.repeat([100.0, 200.0 + k], [90, 10]) for k in range(8)]
    for part in times[4:]:
        part[90:] = np.inf
    result = steady.judge([from_values(part) for part in times])
    assert result.reasons == ("unstable: p99 moves without bound over the run (Mann-Kendall)",)
    assert steady.trend(np.full(8, np.inf)) == 0.0


@pytest.mark.parametrize(("share", "times"), [(0.1, 3.0), (0.2, 2.0), (0.35, 2.0), (0.2, 0.4)])
def test_a_start_that_differs_from_the_rest_is_cold_and_says_for_how_long(
    share: float, times: float
) -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(100, 5, 8_000)
    values[: round(share * 8_000)] *= times
    result = steady.judge(cut(values))
    assert (result.is_steady, result.reasons) == (True, ())
    match = re.match(
        r"cold start: in the first (\d+) % of the run p99 was ([\d.]+) times", result.cold
    )
    assert match is not None
    assert 100 * share <= float(match[1]) <= 100 * share + 12
    assert float(match[2]) == pytest.approx(times, rel=0.03)


def test_a_start_is_cold_only_if_p50_and_p99_say_so_in_one_direction() -> None:
    flat = [100.0, 101, 99, 100, 101, 99, 100, 101]
    assert steady.judge(levels([300.0, *flat[1:]])).cold
    assert not steady.judge(levels([300.0, *flat[1:]], [400.0] * 8)).cold
    assert not steady.judge(levels([300.0, *flat[1:]], [150.0, *[900.0] * 7])).cold
    assert not steady.judge(levels([120.0, *flat[1:]])).cold, "less than a quarter"
    wide = [300.0, 110, 120, 100, 160, 110, 130, 100]
    assert not steady.judge(levels(wide)).cold, "the rest spans half as much"
    last = [100.0, 101, 99, 100, 101, 99, 100, 300]
    assert not steady.judge(levels(last)).cold


def test_a_single_spike_at_the_start_is_a_burst() -> None:
    """One in forty slices: the p50 of its eighth is that of the rest."""
    values = np.random.default_rng(6).normal(100, 5, 8_000)
    values[:200] *= 50
    assert steady.judge(cut(values)).cold == ""


def test_a_short_run_is_not_judged() -> None:
    assert steady.judge([]).is_steady is None
    assert steady.judge(cut(np.arange(1.0, 5_001), 7)).is_steady is None
    assert steady.judge(cut(np.arange(1.0, 160), 8)).is_steady is None
    assert steady.judge(cut(np.arange(1.0, 161), 8)).is_steady is False
    assert steady.judge([*cut(np.ones(5_000), 8), EMPTY]).is_steady is True


def test_a_run_that_wanders_has_no_level_and_one_that_forgets_has() -> None:
    """Random walks, and AR(1) with 0.8, of which Dickey-Fuller alone doubts every second one."""
    rng = np.random.default_rng(3)
    noise = rng.standard_normal((40, 120))
    walks = noise.cumsum(axis=1)
    forgets = np.empty((40, 120))
    forgets[:, 0] = noise[:, 0]
    for k in range(1, 120):
        forgets[:, k] = 0.8 * forgets[:, k - 1] + noise[:, k]
    assert sum(steady.wanders(100 + walk) for walk in walks) >= 20
    assert sum(steady.wanders(100 + each[-60:]) for each in forgets) <= 6
    assert not any(steady.wanders(100 + each) for each in noise)
    assert not steady.wanders(100 + walks[0][:59]), "no power: says nothing"
    assert not steady.wanders(np.where(np.arange(120) == 5, np.inf, walks[0]))
    assert not steady.wanders(np.full(80, 5.0))


def test_a_wander_has_to_matter() -> None:
    """The same walk, once over a tenth of its level and once over all of it."""
    rng = np.random.default_rng(0)
    walk = next(
        walk
        for _ in range(50)
        if steady.wanders(walk := rng.standard_normal(120).cumsum())
        and not steady.trend(
            np.array([part.mean() for part in np.array_split(walk - walk.min() + 1, 8)])
        )
    )
    share = (walk - walk.min()) / np.ptp(walk)
    near = [from_values(np.repeat([100 + 10 * x, 300.0], [90, 10])) for x in share]
    far = [from_values(np.repeat([100 + 300 * x, 900.0], [90, 10])) for x in share]
    assert steady.judge(near).is_steady is True
    reasons = steady.judge(far).reasons
    assert reasons == ("unstable: p50 wanders without a level (Dickey-Fuller)",)


def test_constant_series_are_steady() -> None:
    assert steady.judge(cut(np.full(8_000, 5.0))).is_steady is True


def test_mser_cuts_a_start_that_differs_and_nothing_else() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(100, 5, 1_000)
    assert steady.mser5(values) <= 100
    values[:200] += 100
    assert 195 <= steady.mser5(values) <= 230


@pytest.mark.parametrize(("n", "batch"), [(3, 1), (19, 5), (20, 5), (83, 5), (64, 1), (101, 1)])
def test_mser_is_the_least_standard_error_over_the_first_half(n: int, batch: int) -> None:
    """White (1997) by its definition: Σ (x − mean)² / left², over every cut."""
    for seed in range(20):
        values = np.random.default_rng(seed).exponential(1.0, n)
        values[: n // 4] += seed % 3
        means = [values[i : i + batch].mean() for i in range(0, n - batch + 1, batch)]
        errors = []
        for at in range(len(means) // 2 + 1):
            left = np.array(means[at:])
            errors.append(float(((left - left.mean()) ** 2).sum()) / len(left) ** 2)
        wanted = batch * int(np.argmin(errors)) if len(means) >= 4 else 0
        assert steady.mser5(values, batch=batch) == wanted
