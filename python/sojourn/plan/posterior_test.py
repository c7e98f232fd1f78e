"""The posterior: exact by a second way of computing it, and right where the answer is plain."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sojourn.plan import evidence, posterior
from sojourn.plan.curve import LEVEL, Curve, Floats, curve
from sojourn.plan.evidence import Trial
from sojourn.plan.evidence_test import trial
from sojourn.plan.posterior import Posterior, border

PEAK = 100_000.0


def posterior_of(*runs: tuple[float, tuple[float, ...]]) -> Posterior:
    """Runs at (share of the peak, clusters), each from a start of its own."""
    trials = tuple(
        trial(share * PEAK, requests=round(2 * share * PEAK), clusters=clusters, life=str(n))
        for n, (share, clusters) in enumerate(runs)
    )
    return border(trials, peak_rps=PEAK, bound_s=1e-3, q=0.99)


def clean(share: float) -> tuple[float, tuple[float, ...]]:
    return share, ()


def over(share: float) -> tuple[float, tuple[float, ...]]:
    """A run that misses with a third of its requests."""
    return share, (0.66 * share * PEAK,)


def test_forward_backward_agrees_with_summing_over_every_path() -> None:
    rng = np.random.default_rng(3)
    loads, habits, slopes, levels = 4, 2, 2, 3

    def chances(*shape: int) -> Floats:
        drawn = rng.random(shape)
        return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True), np.float64)

    prior = Curve(
        grid=np.ones(loads),
        floor=np.zeros(loads),
        first=chances(levels),
        rises=chances(slopes, levels, levels),
        turns=chances(slopes, slopes),
        spreads=np.zeros((slopes, habits, levels, 1)),
        below=np.zeros((2, slopes, habits, levels)),
        weights=chances(habits),
        logit=np.zeros(1),
        edges=np.zeros(levels + 1),
    )
    likely = rng.random((loads, slopes, habits, levels))
    likely[2] = 1.0
    texts = {j: likely[j] for j in range(loads) if j != 2}  # of that load no run says anything
    states, evidences = posterior._forward_backward(prior, texts, habits=habits)
    for habit in range(habits):
        total = np.zeros((loads, slopes, levels))
        each = list(itertools.product(range(slopes), range(levels)))
        for path in itertools.product(each, repeat=loads):
            p = prior.first[path[0][1]] / slopes
            for j, (slope, level) in enumerate(path):
                if j:
                    was, below = path[j - 1]
                    # The level rises at the slope it had, then the slope turns.
                    p *= prior.rises[was, below, level] * prior.turns[was, slope]
                p *= likely[j, slope, habit, level]
            for j, state in enumerate(path):
                total[(j, *state)] += p
        whole = total[0].sum()
        assert evidences[habit] == pytest.approx(math.log(whole))
        assert states[:, :, habit] == pytest.approx(total / whole)


def test_one_pass_over_the_curve_says_what_the_median_start_and_what_one_start_carries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passes, solved = [], posterior._forward_backward

    def counted(*args: Any, **names: Any) -> tuple[Floats, Floats]:
        passes.append(1)
        return solved(*args, **names)

    monkeypatch.setattr(posterior, "_forward_backward", counted)
    result = posterior_of(*[clean(0.701)] * 8, *[over(0.801)] * 4)
    assert passes == [1]
    assert 0 < result.of_one.load_at(0.1) < result.load_at(0.5)
    assert len(passes) == 1


def test_rows_of_chances_add_to_one() -> None:
    prior = curve(0.99)
    for table in (prior.rises, prior.turns, prior.spreads):
        assert table.sum(axis=-1) == pytest.approx(np.ones(table.shape[:-1]))
    assert prior.weights.sum() == pytest.approx(1)
    assert prior.first.sum() == pytest.approx(1)


def test_the_probability_never_rises_with_load() -> None:
    result = posterior_of(clean(0.5), over(0.9), (0.7, (300.0, 900.0)), (0.6, (2_000.0,)))
    assert all(a >= b for a, b in itertools.pairwise(result.holds))
    assert all(0 <= p <= 1 for p in result.holds)


def test_clean_runs_below_and_overloaded_ones_above_enclose_the_border() -> None:
    result = posterior_of(*[clean(0.7)] * 8, *[over(0.8)] * 4)
    lo, hi = result.interval()
    assert 0.66 * PEAK < lo < hi < 0.84 * PEAK
    assert lo < result.load_at(0.5) < hi


def test_the_order_of_runs_does_not_matter() -> None:
    runs = [clean(0.5), over(0.9), (0.7, (300.0, 900.0)), clean(0.65)]
    assert posterior_of(*runs).holds == pytest.approx(posterior_of(*reversed(runs)).holds)


def test_the_answer_scales_with_the_peak() -> None:
    once = posterior_of(clean(0.5), over(0.9), (0.7, (300.0,)))
    tenfold = tuple(
        trial(10 * share * PEAK, requests=round(2 * share * PEAK), clusters=clusters)
        for share, clusters in (clean(0.5), over(0.9), (0.7, (300.0,)))
    )
    # Ten times the load within a tenth of the bound: an excursion holds as many requests.
    result = border(tenfold, peak_rps=10 * PEAK, bound_s=1e-4, q=0.99)
    assert result.load_at(0.5) == pytest.approx(10 * once.load_at(0.5))


def test_where_nothing_failed_the_top_is_open_and_where_nothing_held_the_bottom() -> None:
    assert posterior_of(*[clean(1.2)] * 12).interval()[1] == math.inf
    low = posterior_of(*[over(0.13)] * 6).interval()
    assert low[0] == 0
    assert low[1] < 0.2 * PEAK


def test_where_the_highest_load_surely_holds_it_is_the_end_that_is_known() -> None:
    result = Posterior(rps=(1_000.0, 2_000.0), holds=(0.99, 0.96))
    assert result.interval() == (2_000, math.inf)
    assert Posterior(rps=(1_000.0, 2_000.0), holds=(0.04, 0.01)).interval() == (0, 0)


def test_one_short_run_without_a_miss_decides_nothing() -> None:
    result = posterior_of(clean(0.7))
    assert result.holds_at(0.7 * PEAK) < 0.95


def test_the_same_misses_in_fewer_clusters_decide_less() -> None:
    together = posterior_of(*[(0.5, (350.0, 350.0))] * 6, *[over(0.9)] * 3)
    apart = posterior_of(*[(0.5, (7.0,) * 100)] * 6, *[over(0.9)] * 3)
    assert apart.holds_at(0.5 * PEAK) > together.holds_at(0.5 * PEAK)


def test_restarts_that_contradict_each_other_widen_the_interval() -> None:
    agreed = posterior_of(*[clean(0.7)] * 6, *[over(0.8)] * 6).interval()
    torn = posterior_of(*[clean(0.7), over(0.7), clean(0.8), over(0.8)] * 3).interval()
    assert torn[1] / torn[0] > agreed[1] / agreed[0]


def test_a_probe_is_kept_on_the_grid_where_an_end_is_open() -> None:
    result = posterior_of(*[clean(1.2)] * 12)
    assert result.load_at(0.99) == math.inf
    assert result.within(0.99) == result.rps[-1]
    assert posterior_of(*[over(0.13)] * 6).within(0.01) >= result.rps[0]


def test_a_higher_floor_leaves_fewer_levels_that_hold_exactly_as_many_as_it_takes() -> None:
    """Levels and floor add up: a floor that is higher by one level needs one level less."""
    prior = curve(0.99)
    seen = evidence.sizes((), 1e-3)
    flat = replace(prior, floor=np.zeros_like(prior.floor))
    as_is = posterior._solve(flat, (), (), seen)[0][0]
    raised = posterior._solve(replace(flat, floor=flat.floor + LEVEL), (), (), seen)[0][0]
    fewer = posterior._solve(replace(flat, edges=flat.edges + LEVEL), (), (), seen)[0][0]
    assert raised == pytest.approx(fewer)
    assert (raised < as_is).all()
    assert (np.diff(as_is) <= 1e-12).all()
    # With the floor that rises with load the border comes earlier than without.
    assert (posterior._solve(prior, (), (), seen)[0][0][1:] < as_is[1:]).all()


def test_before_anything_is_seen_levels_rise_by_the_chain_of_the_prior() -> None:
    """A second way: the chain by powers, slope and level as one state."""
    prior = curve(0.99)
    seen = evidence.sizes((), 1e-3)
    slopes, levels = len(prior.turns), len(prior.first)
    now = np.tile(prior.first / slopes, (slopes, 1))
    wanted = []
    for j in range(len(prior.grid)):
        if j:
            risen = np.array([now[s] @ prior.rises[s] for s in range(slopes)])
            now = prior.turns.T @ risen
        below = np.concatenate([[0.0], np.cumsum(now.sum(axis=0))])
        wanted.append(np.interp(-prior.floor[j], prior.edges, below))
    result = posterior._solve(prior, (), (), seen)[0][0]
    assert result == pytest.approx(np.array(wanted), abs=1e-9)
    assert levels == 56


@pytest.mark.parametrize("p", [0.05, 0.3, 0.5, 0.9])
def test_the_load_at_a_probability_lies_between_two_of_the_grid_in_the_logarithm(p: float) -> None:
    """Below the border with probability (ln x − ln 1000)/ln 4: at p it is 1000 · 4^p."""
    grid = tuple(1_000.0 * 4 ** (k / 4) for k in range(5))
    result = Posterior(rps=grid, holds=(1.0, 0.75, 0.5, 0.25, 0.0))
    assert result.load_at(p) == pytest.approx(1_000 * 4**p)
    assert result.within(p) == pytest.approx(1_000 * 4**p)
    assert result.holds_at(1_000 * 4**p) == pytest.approx(1 - p)
    assert result.interval() == pytest.approx((1_000 * 4**0.05, 1_000 * 4**0.95))
    assert result.interval(0.5) == pytest.approx((1_000 * 4**0.25, 1_000 * 4**0.75))


def test_a_load_without_a_request_counts_as_the_lowest_of_the_grid() -> None:
    result = posterior_of(clean(0.5), over(0.9))
    assert result.holds_at(0.0) == result.holds_at(result.rps[0]) == result.holds[0]


def test_open_ends_begin_exactly_where_the_grid_says_no_more() -> None:
    result = Posterior(rps=(1_000.0, 2_000.0), holds=(0.75, 0.25))
    assert result.load_at(0.25) == 0
    assert result.load_at(0.25 + 1e-9) == pytest.approx(1_000)
    assert result.load_at(0.75) == pytest.approx(2_000)
    assert result.load_at(0.75 + 1e-9) == math.inf
    assert (result.within(0.05), result.within(0.95)) == (1_000, 2_000)


def test_misses_are_a_binomial_count_of_clusters() -> None:
    """(1 − s)^(hits/D) · s^(misses/D), over its largest."""
    logit = np.linspace(-6, 2, 50)
    share = 1 / (1 + np.exp(-logit))
    run = trial(50_000, requests=10_000, clusters=(50.0,) * 6)

    def likelihood(logit: Floats, run: Trial, size: float) -> Floats:
        prior = SimpleNamespace(logit=logit, floor=np.zeros(1))
        sizes = SimpleNamespace(at=lambda _: (size, 0.0))
        result = posterior._likelihoods(prior, [run, run], [0, 0], sizes, 1.0)  # type: ignore[arg-type]
        assert (result[0] == result[1]).all()
        return np.asarray(result[0], np.float64)

    for size in (1.0, 30.0):
        log = 300 / size * np.log(share) + 9_700 / size * np.log(1 - share)
        values = likelihood(logit, run, size)
        assert values == pytest.approx(np.exp(log - log.max()), rel=1e-9)
    # A size is no more than the run holds; an overloaded run counts as its excursions.
    whole = likelihood(logit, run, 1e9)
    assert whole == pytest.approx(likelihood(logit, run, 10_000.0))
    late = trial(50_000, requests=10_000, clusters=(4_000.0,))
    assert likelihood(logit, late, 1.0) == pytest.approx(likelihood(logit, late, 4_000.0))


def test_runs_lie_at_the_nearest_load_of_the_grid() -> None:
    prior = curve(0.99)
    runs = [
        trial(float(prior.grid[k]) * PEAK * nudge)
        for k, nudge in ((0, 0.5), (0, 1.01), (7, 0.99), (7, 1.01), (len(prior.grid) - 1, 3.0))
    ]
    assert posterior._places(prior, runs, PEAK) == [0, 0, 7, 7, len(prior.grid) - 1]
    assert np.diff(np.log(prior.grid)) == pytest.approx(np.log(1.025))


def one_sided(trials: tuple[Trial, ...], surely: float = 0.0) -> Posterior:
    """Of the misses a share `surely` is the service's own whatever the client did."""
    upper = tuple(replace(one, surely=round(surely * one.over)) for one in trials)
    return border(upper, peak_rps=PEAK, bound_s=1e-3, q=0.99)


def runs_at(share: float, *, missed: float, count: int) -> tuple[Trial, ...]:
    requests = round(2 * share * PEAK)
    sizes = (50.0,) * round(missed * requests / 50)
    return tuple(
        trial(share * PEAK, requests=requests, clusters=sizes, life=str(n)) for n in range(count)
    )


def test_misses_that_the_client_may_have_caused_do_not_speak_against_a_load() -> None:
    late = runs_at(0.5, missed=0.05, count=6)
    as_they_are = border(late, peak_rps=PEAK, bound_s=1e-3, q=0.99).holds_at(0.5 * PEAK)
    assert as_they_are < 0.05
    assert 0.2 < one_sided(late).holds_at(0.5 * PEAK) < 0.95, "neither is shown"


def test_misses_beyond_all_that_the_client_added_speak_against_a_load() -> None:
    late = runs_at(0.5, missed=0.05, count=6)
    assert one_sided(late, surely=0.9).holds_at(0.5 * PEAK) < 0.05
    assert one_sided(late, surely=1.0) == border(late, peak_rps=PEAK, bound_s=1e-3, q=0.99)


def test_a_load_that_holds_in_spite_of_the_client_holds() -> None:
    held = runs_at(0.5, missed=0.0005, count=6)
    as_they_are = border(held, peak_rps=PEAK, bound_s=1e-3, q=0.99).holds_at(0.5 * PEAK)
    assert one_sided(held).holds_at(0.5 * PEAK) > 0.95
    assert one_sided(held).holds_at(0.5 * PEAK) == pytest.approx(as_they_are, abs=0.03)


def test_every_share_between_the_two_counts_explains_a_run_equally_well() -> None:
    prior = curve(0.99)
    [late] = runs_at(0.5, missed=0.05, count=1)
    late = replace(late, surely=round(0.2 * late.over))
    at = posterior._places(prior, [late], PEAK)
    likely = posterior._likelihoods(prior, [late], at, evidence.sizes([late], 1e-3), 1.0)[0]
    share = 1 / (1 + np.exp(-(prior.logit + prior.floor[at[0]])))
    inside = (share >= 0.0101) & (share <= 0.0499)
    assert inside.any()
    assert likely[inside] == pytest.approx(1.0)
    assert np.all(np.diff(likely[share < 0.01]) > 0)
    assert np.all(np.diff(likely[share > 0.05]) <= 0)
    alone = [replace(late, surely=None, over=late.surely or 0)]
    below = posterior._likelihoods(prior, alone, at, evidence.sizes([late], 1e-3), 1.0)[0]
    ratio = likely[share < 0.01] / below[share < 0.01]
    assert ratio == pytest.approx(ratio[0]), "below both as if only the lower count were known"
