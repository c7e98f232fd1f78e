"""Clusters: which runs count, and by how much clustered misses count less."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sojourn.plan import evidence
from sojourn.plan.evidence import Trial, sizes, trials
from sojourn.plan.points import Course, Misses, Outcome, Phase, Point, Verdict
from sojourn.plan.rehearsal import imagine
from sojourn.plan.setting import Setting

BOUND_S = 1e-3


def trial(
    rps: float, *, requests: int = 100_000, clusters: tuple[float, ...] = (), life: str = "a"
) -> Trial:
    return Trial(
        rps=rps,
        requests=requests,
        over=round(sum(clusters)),
        clusters=clusters,
        seconds=2.0,
        life=life,
    )


def outcome(phase: Phase = Phase.SEARCH, rps: float | None = 50_000.0) -> Outcome:
    point = Point(
        key=f"s/{phase}/p00",
        service="s",
        phase=phase,
        offered_rps=rps,
        measure_s=2.0,
        warmup_s=0.0,
        seed=1,
        overrides=(("qos_bound", "1000000ns"),),
    )
    return imagine(point, bound_ns=1e6)


def test_without_a_miss_a_cluster_is_as_large_as_an_excursion_of_five_bounds() -> None:
    assert sizes([trial(50_000)], BOUND_S).at(50_000) == (5 * BOUND_S * 50_000, 0.0)


def test_one_size_seen_often_is_the_size() -> None:
    seen = [trial(50_000, requests=10**8, clusters=(40.0,) * 5_000)]
    size, count = sizes(seen, BOUND_S).at(50_000)
    assert count == 5_000
    assert size == pytest.approx(40, rel=0.02)


def test_the_size_is_the_variance_of_a_count_of_clusters_over_that_of_single_misses() -> None:
    rng = np.random.default_rng(7)
    drawn = rng.choice([10.0, 100.0, 400.0], size=3_000)
    counts = [rng.choice(drawn, size=n).sum() for n in rng.poisson(30, size=20_000)]
    size, _ = sizes([trial(50_000, requests=10**8, clusters=tuple(drawn))], BOUND_S).at(50_000)
    # A compound Poisson count: variance over mean is E[D²]/E[D]; its estimate errs by about 1.5 %.
    assert size == pytest.approx(np.var(counts) / np.mean(counts), rel=0.06)


def test_the_size_by_hand_an_imagined_excursion_joins_and_the_largest_counts_twice() -> None:
    """E[D²]/E[D] of 250 (five bounds at 50k), 600, 1000 and once more 1000² above the line."""
    size, count = sizes([trial(50_000, clusters=(600.0, 1_000.0))], BOUND_S).at(50_000)
    assert size == pytest.approx((250**2 + 600**2 + 2 * 1_000**2) / (250 + 600 + 1_000))
    assert count == 2
    # Seen at a load of e^0.15 times as much, each counts e^(-1/2).
    less = math.exp(-0.5)
    far = sizes([trial(50_000 * math.exp(0.15), clusters=(600.0, 1_000.0))], BOUND_S)
    size, count = far.at(50_000)
    above = 250**2 + less * (600**2 + 2 * 1_000**2)
    assert size == pytest.approx(above / (250 + less * 1_600))
    assert count == pytest.approx(2 * less)
    assert sizes([], 1e-9).at(1_000)[0] == 1.0  # a request is at least itself


def test_clusters_count_the_less_the_further_off_their_load_is() -> None:
    seen = sizes([trial(50_000, clusters=(1_000.0,) * 9)], BOUND_S)
    near, far = seen.at(50_000), seen.at(25_000)
    assert near[1] == 9
    assert far[1] < 0.01
    assert far[0] < near[0] / 4


def test_an_overloaded_run_says_nothing_about_sizes() -> None:
    seen = sizes([trial(50_000, clusters=(20_000.0,))], BOUND_S)
    assert seen.at(50_000)[1] == 0.0


@pytest.mark.parametrize(
    ("clusters", "wanted"),
    [((15_000.0,), 1), ((5_000.0,) * 3, 3), ((100.0,) * 200, 5), ((90_000.0,), 5)],
)
def test_one_long_stall_counts_once_and_a_run_late_throughout_no_more_than_five_times(
    clusters: tuple[float, ...], wanted: int
) -> None:
    run = trial(50_000, clusters=clusters)
    assert run.is_overloaded
    assert run.excursions == wanted


def test_a_run_is_overloaded_from_a_tenth_and_late_throughout_from_half() -> None:
    assert not trial(50_000, clusters=(9_999.0,)).is_overloaded
    assert trial(50_000, clusters=(10_000.0,)).is_overloaded
    assert trial(50_000, clusters=(49_999.0,)).excursions == 1
    assert trial(50_000, clusters=(50_000.0,)).excursions == 5
    assert trial(50_000, clusters=(25_000.0,)).share == 0.25


def test_only_believable_open_loop_runs_of_the_asked_phases_count() -> None:
    stored = outcome()
    others = (
        replace(stored, verdict=Verdict.UNKNOWN),
        replace(stored, over_bound=None),
        outcome(Phase.PEAK, None),
        outcome(Phase.SCHEDULED),
        replace(stored, requests=0),
    )
    assert len(trials([stored, *others])) == 1
    assert len(trials([stored, *others], (Phase.SCHEDULED,))) == 1


def test_undisturbed_windows_replace_the_whole_run_only_when_asked() -> None:
    clean = Misses(requests=90, over=1, clusters=(1,))
    run = replace(outcome(), requests=100, over_bound=9, clusters=(9,), undisturbed=clean)
    assert trials([run])[0].clusters == (9.0,)
    assert trials([run], undisturbed=True)[0].requests == 90


def test_an_undisturbed_run_is_as_long_as_what_is_left_of_it() -> None:
    """A search ended after 8 starts and 22 s of load, of which 2 s were undisturbed."""
    apart = Misses(requests=25, over=1, clusters=(1,))
    run = replace(outcome(), requests=100, over_bound=9, clusters=(9,), undisturbed=apart)
    assert trials([run])[0].seconds == 2.0
    assert trials([run], undisturbed=True)[0].seconds == 0.5
    whole = replace(run, undisturbed=Misses(requests=100, over=9, clusters=(9,)))
    assert trials([whole], undisturbed=True)[0].seconds == 2.0


def test_a_run_that_was_cold_or_has_no_level_is_no_evidence_and_a_growing_queue_is() -> None:
    """Of a cold start 12 % missed, of the same load warm 0.1 %: as settled it bounds the border."""
    each = {course: replace(outcome(), course=course) for course in Course}
    assert trials([each[Course.COLD], each[Course.MOVES]]) == ()
    assert trials([each[Course.COLD]], undisturbed=True) == ()
    assert len(trials([each[Course.STEADY], each[Course.GROWS]])) == 2


def test_a_run_of_which_only_the_mean_size_is_known_is_cut_into_pieces_of_it() -> None:
    run = replace(outcome(), over_bound=90, clusters=(), correlation=30.0)
    assert trials([run])[0].clusters == (30.0, 30.0, 30.0)
    assert math.isclose(sum(trials([run])[0].clusters), 90)


@pytest.mark.parametrize(
    ("over", "correlation", "wanted"), [(90_000, 1.0, 5), (20_000, 1.0, 5), (20_000, 10_000.0, 2)]
)
def test_an_overloaded_run_is_cut_into_no_more_pieces_than_are_counted(
    over: int, correlation: float, wanted: int
) -> None:
    """A minute above capacity misses a million times, and a plan looks at each piece."""
    run = replace(outcome(), over_bound=over, clusters=(), correlation=correlation)
    [result] = trials([run])
    assert result.is_overloaded
    assert len(result.clusters) == result.excursions == wanted
    assert sum(result.clusters) == over


def test_sizes_of_a_run_are_added_up_once() -> None:
    run = trial(50_000, requests=10**6, clusters=tuple(map(float, range(1, 300))))
    before = evidence._cached.cache_info()
    every = [sizes([replace(run)], BOUND_S) for _ in range(3)]
    assert every[0] == every[1] == every[2]
    assert evidence._cached.cache_info().hits >= before.hits + 2


def test_runs_that_differ_in_clusters_alone_are_apart() -> None:
    """Clusters are not in the hash, because a run may have very many."""
    one, other = trial(50_000, clusters=(60.0, 40.0)), trial(50_000, clusters=(100.0,))
    assert one != other
    assert hash(one) == hash(other)


def test_sizes_are_those_of_every_cluster_weighted_by_its_load() -> None:
    runs = [
        trial(rps, requests=10**6, clusters=tuple(20.0 * n for n in range(1, number)))
        for rps, number in ((30_000, 9), (48_000, 4), (50_000, 2), (55_000, 30))
    ]
    rps, first = 50_000, 5 * BOUND_S * 50_000
    weighted = [
        (math.exp(-0.5 * (math.log(run.rps / rps) / evidence.NEAR) ** 2), size)
        for run in runs
        for size in run.clusters
    ]
    squares = first**2 + sum(w * d * d for w, d in weighted)
    squares += max([first**2, *(w * d * d for w, d in weighted)])
    size = squares / (first + sum(w * d for w, d in weighted))
    assert sizes(runs, BOUND_S).at(rps) == pytest.approx((size, sum(w for w, _ in weighted)))


def test_a_run_that_is_void_but_for_its_side_is_evidence_from_that_side() -> None:
    late = replace(outcome(), verdict=Verdict.UNKNOWN, over_surely=0)
    void = replace(outcome(), verdict=Verdict.UNKNOWN)
    [result] = trials([late, void])
    assert result.surely == 0
    assert trials([outcome()])[0].surely is None


@pytest.mark.parametrize(("surely", "wanted"), [(60, 10), (100, 50), (40, 0), (None, None)])
def test_of_undisturbed_misses_only_those_are_sure_that_cannot_be_the_disturbed_ones(
    surely: int | None, wanted: int | None
) -> None:
    """Of 100 misses 50 were in disturbed windows, and all of these may be the service's own."""
    half = Misses(requests=900, over=50, clusters=(50,))
    run = replace(outcome(), requests=1_000, over_bound=100, undisturbed=half, over_surely=surely)
    assert trials([run], undisturbed=True)[0].surely == wanted
    assert trials([run])[0].surely == surely


def test_of_a_run_that_stops_of_the_server_void_only_undisturbed_misses_are_sure() -> None:
    """27 such runs of 35 made "no load" of a service that takes 740 requests/s undisturbed."""
    apart = Misses(requests=37, over=8, clusters=(8,))
    run = replace(outcome(), requests=282, over_bound=18, undisturbed=apart, over_surely=13)
    void = replace(run, verdict=Verdict.UNKNOWN, reasons=("server stopped: 60 % were disturbed",))
    assert trials([void])[0].surely == 8
    assert trials([void], undisturbed=True)[0].surely == 3
    assert trials([replace(void, over_surely=5)])[0].surely == 5
    assert trials([replace(void, failed=11)])[0].surely == 11, "no stop cuts a reply off"
    assert trials([replace(void, failed=99)])[0].surely == 13, "no more than there are"
    many = replace(void, reasons=("client 2 of 4: server stopped: 60 % were disturbed",))
    assert trials([many])[0].surely == 8
    late = replace(
        void, reasons=("client stopped: 60 %",), undisturbed=replace(apart, requests=200)
    )
    assert trials([late])[0].surely == 13


@pytest.mark.parametrize(
    ("requests", "neighbour", "wanted"), [(140, "none", 8), (141, "none", 13), (140, "spin", 13)]
)
def test_one_rule_for_misses_that_stops_of_the_server_reached(
    requests: int, neighbour: str, wanted: int
) -> None:
    """A service without CPUs of its own has no void runs, so its reasons do not name the stops."""
    apart = Misses(requests=requests, over=8, clusters=(8,))
    point = replace(outcome().point, setting=Setting.of(neighbour=neighbour))
    run = replace(outcome(), point=point, requests=282, over_bound=18, undisturbed=apart)
    held = replace(run, verdict=Verdict.HOLDS, over_surely=13)
    assert trials([held])[0].surely == wanted
    assert trials([replace(held, verdict=Verdict.VIOLATED)])[0].surely == wanted


def test_of_failed_requests_only_those_count_in_a_part_that_cannot_lie_outside() -> None:
    """Of 100 misses 50 were in disturbed windows; 60 failed, so at least 10 of them outside."""
    half = Misses(requests=900, over=50, clusters=(50,))
    run = replace(outcome(), requests=1_000, over_bound=100, undisturbed=half, failed=60)
    assert trials([run], undisturbed=True)[0].failed == 10
    assert trials([run])[0].failed == 60
    assert trials([replace(run, failed=40)], undisturbed=True)[0].failed == 0
    assert trials([replace(run, failed=400)])[0].failed == 100, "no more than there are"
