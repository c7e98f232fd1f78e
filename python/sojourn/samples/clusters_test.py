"""Clusters of misses: from windows, from thin samples, and without the disturbed part."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn import samples, spec
from sojourn.errors import StoreFault
from sojourn.plan import Point, next_point
from sojourn.plan.points import Misses
from sojourn.samples import clusters, made
from sojourn.samples.contract import Windows
from sojourn.testing_questions import PLANS

BOUND_NS = 20_000_000.0  # misses further apart than 110 ms are of two clusters
JOB = {"qos_quantile": 0.95, "qos_bound": "20ms"}


@pytest.fixture
def point() -> Point:
    result = next_point(spec.load("max_load_memcached"), [], PLANS)
    assert result is not None
    return result


def windows(k: list[int], disturbed: tuple[int, ...] = ()) -> Windows:
    return Windows.model_validate(made.windows([10] * len(k), k, disturbed=disturbed))


@pytest.mark.parametrize(
    ("between", "sizes"), [(0, (3,)), (9, (3,)), (10, (3,)), (11, (1, 2)), (200, (1, 2))]
)
def test_misses_further_apart_than_an_excursion_are_two_clusters(
    between: int, sizes: tuple[int, ...]
) -> None:
    # Windows of 10 ms that begin 110 ms apart have ten between them: not further than 110 ms.
    result = clusters.of_windows(windows([0, 1, *[0] * between, 2, 0]), BOUND_NS)
    assert result == Misses(requests=10 * (between + 4), over=3, clusters=sizes)


@given(st.lists(st.integers(0, 3), max_size=200), st.sets(st.integers(0, 199)))
def test_clusters_hold_every_miss_once(k: list[int], disturbed: set[int]) -> None:
    marked = tuple(sorted(at for at in disturbed if at < len(k)))
    counted = windows(k, marked)
    whole = clusters.of_windows(counted, BOUND_NS)
    rest = clusters.of_windows(counted, BOUND_NS, is_undisturbed=True)
    assert sum(whole.clusters) == whole.over == sum(k)
    assert rest.over == sum(rest.clusters) == sum(k) - sum(k[at] for at in marked)
    assert rest.requests == 10 * (len(k) - len(marked))
    assert 0 not in whole.clusters


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(1, 10_000))
def test_scaling_keeps_the_total_and_the_shares(sizes: list[int], total: int) -> None:
    result = clusters.scaled(tuple(sizes), total)
    assert sum(result) == total
    if len(result) == len(sizes):
        exact = np.array(sizes) * total / sum(sizes)
        assert (np.abs(np.array(result) - exact) < 1).all()


def test_a_thin_sample_finds_the_same_clusters(point: Point, tmp_path: Path) -> None:
    # 100 requests/s: an excursion of 5 at 1 s and one of 15 at 4 s; every second one was stored.
    times = np.full(600, 1e6)
    times[100:105], times[400:415] = 5e7, 5e7
    folder = made.put(tmp_path, point, made.result(times, job=JOB))
    made.put_raw(folder, times[::2], gap_ns=20_000_000)
    outcome = samples.read(folder)
    assert outcome.over_bound == sum(outcome.clusters) == 20
    assert len(outcome.clusters) == 2
    assert outcome.clusters[1] / 20 == pytest.approx(0.75, abs=0.1)


def test_without_anything_but_a_count_clusters_are_as_large_as_n_over_n_eff() -> None:
    assert clusters.alike(10, 4.0) == (5, 5)
    assert clusters.alike(10, 1.0) == (1,) * 10
    assert clusters.alike(3, 99.0) == (3,)
    assert clusters.alike(0, 99.0) == ()


def test_a_run_s_windows_are_its_misses(point: Point, tmp_path: Path) -> None:
    times = [1e6] * 94 + [20_000_001.0] * 4 + [np.inf] * 2
    n, k = [50, *[0] * 20, 50], [5, *[0] * 20, 1]
    counted = made.windows(n, k, lost=2, disturbed=[0])
    outcome = samples.read(made.put(tmp_path, point, made.result(times, job=JOB, windows=counted)))
    assert (outcome.over_bound, outcome.clusters) == (6, (5, 1)), "1 ns over the bound is over it"
    assert outcome.undisturbed == Misses(requests=50, over=1, clusters=(1,))
    counted["disturbed"] = []
    made.put(tmp_path, point, made.result(times, job=JOB, windows=counted))
    assert samples.read(tmp_path).undisturbed is None


@pytest.mark.parametrize(
    "change", [{"n": [99]}, {"k": [1]}, {"over": 1}, {"disturbed": [1]}, {"k": [0, 0]}]
)
def test_windows_that_do_not_add_up_are_refused(
    point: Point, tmp_path: Path, change: dict[str, object]
) -> None:
    counted = {**made.windows([100], [0]), **change}
    made.put(tmp_path, point, made.result([1e6] * 100, job=JOB, windows=counted))
    with pytest.raises(StoreFault, match="windows"):
        samples.read(tmp_path)
