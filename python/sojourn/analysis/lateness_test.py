"""What the client's lag can be of a quantile, over the runs at one load."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sojourn.analysis import load_point, runs
from sojourn.analysis.runs import Judged
from sojourn.analysis.testing import measured
from sojourn.plan.points import Phase, Point

POINT = Point(
    key="s/sweep/b0/f0.5", service="s", phase=Phase.SWEEP, offered_rps=1e4, fraction=0.5,
    measure_s=1.0, warmup_s=0.1, seed=1,
)  # fmt: skip


def judged(lateness_ns: dict[float | None, float]) -> Judged:
    times = np.random.default_rng(1).exponential(20_000, 20_000)
    return runs.judge(replace(measured(POINT, times), lateness_ns=lateness_ns), None)


def test_the_latest_run_counts_at_the_next_quantile_that_is_known() -> None:
    late = [judged({}), judged({0.5: 3e3, 0.99: 2e4}), judged({0.99: 1e4, None: 2e3})]
    assert runs.lateness_ns(late, 0.99, 9e4) == 2e4
    assert runs.lateness_ns(late, 0.9, 9e4) == 2e4, "p90 is not known, p99 is no less"
    assert runs.lateness_ns(late, None, 2e4) == 2e3
    assert runs.lateness_ns(late, 0.99, 1e4) == 1e4, "no more than the whole"


def test_a_lag_of_a_twentieth_is_not_worth_a_word() -> None:
    late = [judged({0.99: 5e3})]
    assert runs.lateness_ns(late, 0.99, 1e5) == 0.0
    assert runs.lateness_ns(late, 0.99, 9.9e4) == 5e3
    assert runs.lateness_ns([judged({})], 0.99, 1.0) == 0.0


def test_a_load_s_quantiles_carry_the_lag() -> None:
    point = load_point.gather([judged({0.5: 10.0, 0.99: 2e4})], None, None, None)
    found = {e.q: e.lateness_ns for e in point.quantiles}
    assert (found[0.5], found[0.99]) == (0.0, 2e4)
