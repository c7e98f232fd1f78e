"""What the client can have added to the quantiles at one load: by its lag and by its stops."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from sojourn.analysis import load_point, runs
from sojourn.analysis.runs import Judged
from sojourn.analysis.testing import late as late_run


def judged(lateness_ns: Mapping[float | None, float], *, stops: float = 1.0) -> Judged:
    return runs.judge(late_run(lateness_ns, stops_allowance=stops), None)


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


def test_what_stops_left_behind_is_a_part_of_what_the_lag_leaves() -> None:
    assert runs.lateness_ns([judged({}, stops=1.25)], 0.99, 1e5) == pytest.approx(2e4)
    assert runs.lateness_ns([judged({0.99: 2e4}, stops=1.25)], 0.99, 1e5) == pytest.approx(3.6e4)
    assert runs.lateness_ns([judged({}, stops=1.04)], 0.99, 1e5) == 0.0
    assert runs.lateness_ns([judged({}, stops=1.25)], 0.99, math.inf) == 0.0, "lost, not late"


def test_a_load_s_quantiles_carry_the_lag() -> None:
    point = load_point.gather([judged({0.5: 10.0, 0.99: 2e4})], None, None, None)
    results = {e.q: e.lateness_ns for e in point.quantiles}
    assert (results[0.5], results[0.99]) == (0.0, 2e4)


def test_a_run_and_its_load_are_upper_bounds_alike() -> None:
    one = judged({}, stops=1.5)
    point = load_point.gather([one], None, None, None)
    of_run = dict(one.run.lateness_ns)
    assert set(of_run) == {None, *(e.q for e in point.quantiles if e.value is not None)}
    for result in (point.mean, *point.quantiles):
        assert result.value is None or result.lateness_ns == pytest.approx(result.value / 3)
    assert not judged({}).run.lateness_ns
