"""A client that is in the numbers is noticed by the probe beside it, and one that is not is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sojourn.analysis import probe_client, runs
from sojourn.analysis.testing import measured
from sojourn.findings.measured import Probe
from sojourn.findings.measurement_error import ProbeRow
from sojourn.plan import Phase, Point
from sojourn.plan.setting import Setting
from sojourn.stats.times import from_values

POINT = Point(
    key="m/sweep/b0/load=0.5",
    service="m",
    phase=Phase.SWEEP,
    setting=Setting.of(load=0.5),
    offered_rps=5000.0,
    fraction=0.5,
    measure_s=2.0,
    warmup_s=0.0,
    seed=1,
)


def row(n: int, scale: float = 1.0, *, seed: int = 1, doubts: tuple[str, ...] = ()) -> ProbeRow:
    """A run whose probe asked `n` times and saw times `scale` as long."""
    rng = np.random.default_rng(seed)
    load = rng.exponential(1e6, 10_000)
    probe = Probe(sojourn=from_values(scale * rng.exponential(1e6, n)), doubts=doubts)
    judged = runs.judge(replace(measured(POINT, load, bound_ns=None), probe=probe), None)
    (probe_row,) = probe_client.compare([judged])
    return probe_row


@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_a_biased_client_is_noticed(scale: float) -> None:
    probe_row = row(200, scale)
    assert probe_row.is_apart
    assert "client bias at 50 % load" in probe_client.doubts([probe_row])[0]


def test_an_unbiased_client_is_not_but_by_chance() -> None:
    rows = [row(200, seed=seed) for seed in range(40)]
    assert sum(result.is_apart for result in rows) <= 2, "95 % intervals of both lie apart seldom"


def of_study(seed: int, *, scale: float = 1.0, count: int = 30) -> tuple[ProbeRow, ...]:
    """The rows of a study of so many runs; its first probe saw times `scale` as long."""
    rng = np.random.default_rng(seed)
    load = measured(POINT, rng.exponential(1e6, 10_000), bound_ns=None)
    scales = [scale] + [1.0] * (count - 1)
    probes = (Probe(sojourn=from_values(one * rng.exponential(1e6, 300))) for one in scales)
    judged = runs.judge(load, None)
    each = (replace(judged, measured=replace(load, probe=probe)) for probe in probes)
    return probe_client.compare(list(each))


def test_of_a_study_of_many_runs_none_is_biased_by_chance() -> None:
    """Each run at 95 % by itself says so of 2 % of the runs, so of nearly half of the studies."""
    alarms = sum(any(one.is_apart for one in of_study(seed)) for seed in range(40))
    assert alarms <= 6, "of 40 studies at 5 % each: more in 1 of 300 draws"
    assert [one.is_apart for one in of_study(1, scale=3.0)] == [True] + [False] * 29


def test_the_highest_quantile_is_compared_that_the_probe_can_bound() -> None:
    assert row(20).q == 0.5
    assert row(200).q == 0.95
    assert row(3000).q == 0.99


def test_what_cannot_be_compared_says_why() -> None:
    few = row(3)
    assert few.q is None
    assert "too few" in few.why
    late = row(200, 3.0, doubts=("timely: too late",))
    assert (late.q, late.why, late.is_apart) == (None, "timely: too late", False)
    assert probe_client.doubts([few, late]) == ()


def test_runs_without_a_probe_or_belief_have_no_row() -> None:
    plain = runs.judge(measured(POINT, np.ones(100) * 1e6, bound_ns=None), None)
    assert probe_client.compare([plain]) == ()
