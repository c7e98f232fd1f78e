"""The noise floor is what equal runs differ by: recovered, exchangeable, and no part of a curve."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sojourn.analysis import aa_noise_floor, runs, service
from sojourn.analysis.runs import Judged
from sojourn.analysis.testing import measured, memcached, run_study, study_of
from sojourn.findings.measurement_error import NoiseFloor
from sojourn.plan import Phase, Point
from sojourn.plan.setting import Setting
from sojourn.testing_questions import answers

Q = 0.99


def one(block: int, scale: float, *, twin: bool, load: float = 0.7) -> Judged:
    """A run whose p99 is about `scale` · 4.6 ms."""
    setting = Setting.of({"load": load, **({"twin": True} if twin else {})})
    point = Point(
        key=f"m/sweep/b{block}/{setting.text}",
        service="m",
        phase=Phase.SWEEP,
        setting=setting,
        offered_rps=1000.0,
        fraction=load,
        repeat=block,
        measure_s=5.0,
        warmup_s=0.0,
        seed=1,
    )
    shares = (np.arange(5000) + 0.5) / 5000
    times = np.random.default_rng(block).permutation(-np.log1p(-shares)) * 1e6 * scale
    return runs.judge(measured(point, times, bound_ns=None), None)


def pairs(sigma: float, count: int, seed: int = 1) -> list[Judged]:
    rng = np.random.default_rng(seed)
    logs = rng.normal(0, sigma, count)
    return [
        run
        for block, log in enumerate(logs)
        for run in (one(block, 1.0, twin=False), one(block, math.exp(log), twin=True))
    ]


def of(judged: list[Judged]) -> NoiseFloor:
    noise_floor = aa_noise_floor.floor(judged, Q)
    assert noise_floor is not None
    return noise_floor


def test_the_spread_of_equal_runs_is_recovered() -> None:
    noise_floor = of(pairs(0.1, 60))
    assert noise_floor.interval.lo < 0.1 < noise_floor.interval.hi
    assert noise_floor.sigma == pytest.approx(0.1, rel=0.3)
    assert noise_floor.gate == pytest.approx(2.0 * noise_floor.sigma, rel=0.01)
    assert len(noise_floor.pairs) == 60


@pytest.mark.parametrize("count", [1, 4])
def test_equal_runs_that_agree_in_all_digits_still_scatter_by_these(count: int) -> None:
    """Else no effect would be within their noise, however small it is."""
    noise_floor = of(pairs(0.0, count))
    assert noise_floor.sigma == pytest.approx(1e-3)
    assert aa_noise_floor.is_within(noise_floor, 1.001)
    assert not aa_noise_floor.is_within(noise_floor, 1.1)


def test_twins_can_be_exchanged() -> None:
    judged = pairs(0.1, 8)
    swapped = [
        replace(
            j,
            measured=replace(
                j.measured,
                outcome=replace(
                    j.measured.outcome,
                    point=replace(
                        j.measured.outcome.point,
                        setting=Setting.of(
                            {"load": 0.7}
                            if aa_noise_floor.is_twin(j)
                            else {"load": 0.7, "twin": True}
                        ),
                    ),
                ),
            ),
        )
        for j in judged
    ]
    there, back = of(judged), of(swapped)
    assert (there.sigma, there.gate) == pytest.approx((back.sigma, back.gate))
    assert [(a, b) for _, a, b in there.pairs] == [(b, a) for _, a, b in back.pairs]


def test_one_pair_says_how_little_it_says() -> None:
    noise_floor = of(pairs(0.1, 1))
    assert noise_floor.gate == pytest.approx(12.7 * noise_floor.sigma, rel=0.01)
    assert noise_floor.interval.hi > 10 * noise_floor.sigma


def test_pairs_are_of_one_block_and_load_and_both_are_believed() -> None:
    assert aa_noise_floor.floor([one(0, 1, twin=False), one(1, 1, twin=True)], Q) is None
    assert aa_noise_floor.floor([one(0, 1, twin=False), one(0, 1, twin=True, load=0.5)], Q) is None
    assert aa_noise_floor.floor([one(0, 1, twin=False)], Q) is None


def test_an_effect_below_the_floor_is_noise_and_one_above_it_is_not() -> None:
    noise_floor = of(pairs(0.05, 20))
    assert aa_noise_floor.is_within(noise_floor, 1.02)
    assert aa_noise_floor.is_within(noise_floor, 1 / 1.02)
    assert not aa_noise_floor.is_within(noise_floor, 1.5)
    assert not aa_noise_floor.is_within(noise_floor, 1 / 1.5)


def test_a_study_with_twins_has_the_same_loads_and_a_floor() -> None:
    plain = study_of(memcached(measure=("sweep",)), profile="quick")
    twice = plain.model_copy(update={"aa": True})
    spec = plain.services[0]
    without, with_ = (
        service.find(run_study(study, capacity_rps=5000.0), spec, answers())
        for study in (plain, twice)
    )
    assert without.noise_floor is None
    assert with_.noise_floor is not None
    assert [p.fraction for p in with_.points] == [p.fraction for p in without.points]
    assert all(len(p.runs) == 1 for p in with_.points), "a twin is no run of the curve"
    assert len(with_.noise_floor.pairs) == 1


def test_a_pair_that_lost_requests_is_not_left_out() -> None:
    """Its p99 is infinite, so equal runs differ by more than any number: a lower one is told."""
    judged = pairs(0.1, 5)
    sample = tuple((q, math.inf if q == Q else value) for q, value in judged[1].run.sample)
    lossy = replace(judged[1], run=replace(judged[1].run, sample=sample))
    noise_floor = of([judged[0], lossy, *judged[2:]])
    assert noise_floor.q < Q
    assert len(noise_floor.pairs) == 5
