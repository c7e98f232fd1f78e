"""How unevenly workers share work: closed forms, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sojourn.analysis import workers
from sojourn.analysis.study import study
from sojourn.analysis.testing import memcached, run_study, study_of
from sojourn.findings.measured import StudyData
from sojourn.plan.setting import level_text
from sojourn.testing_questions import answers

KEY = "services.memcached.params.threads"


def test_equal_shares_are_0_and_one_worker_for_all_is_as_much_as_there_can_be() -> None:
    for n in (2, 3, 10):
        assert workers.gini([7.0] * n) == pytest.approx(0)
        assert workers.gini([0.0] * (n - 1) + [5.0]) == pytest.approx((n - 1) / n)


def test_it_is_half_the_relative_mean_difference_whatever_the_unit_and_the_order() -> None:
    values = np.random.default_rng(1).exponential(1, 50)
    apart = np.abs(values[:, None] - values[None, :]).mean()
    assert workers.gini(values.tolist()) == pytest.approx(apart / (2 * values.mean()))
    assert workers.gini((values[::-1] * 1e9).tolist()) == pytest.approx(workers.gini(list(values)))


def test_exponential_shares_have_a_half_of_it() -> None:
    """Gini of an exponential is 1/2; of 4000 draws the mean is known to some 0.5 %."""
    values = np.random.default_rng(2).exponential(1, 4000)
    assert workers.gini(values.tolist()) == pytest.approx(0.5, abs=0.03)


def test_runs_give_an_interval_that_stays_within_what_there_can_be() -> None:
    result = workers.of_runs("x", [[1, 1], [1, 1.2], [1, 1]])
    assert result.interval is not None
    assert result.gini is not None
    assert 0 == result.interval.lo <= result.gini <= result.interval.hi
    assert (result.workers, result.runs) == (2, 3)
    one = workers.of_runs("x", [[1, 3]])
    assert one.gini == pytest.approx(0.25)
    assert one.interval is None
    assert one.busiest == pytest.approx(1.5)


def test_of_one_worker_and_of_idle_ones_nothing_is_reported() -> None:
    assert workers.of_runs("x", [[1.0], [2.0]]).gini is None
    assert workers.of_runs("x", [[0.0, 0.0]]).runs == 0


def with_threads(*levels: int, shares: dict[int, tuple[float, ...]]) -> StudyData:
    asked = study_of(memcached(measure=["sweep"])).model_copy(update={"factors": {KEY: levels}})
    run = asked.run.model_copy(update={"repeats": 2, "fractions": (0.5,)})
    played = run_study(asked.model_copy(update={"run": run}), capacity_rps=20_000)
    measured = tuple(
        replace(one, worker_cpu_s=shares[int(one.outcome.point.setting[KEY])])
        for one in played.measured
    )
    return replace(played, measured=measured)


def test_the_answer_says_it_of_every_combination() -> None:
    findings = study(with_threads(1, 2, shares={1: (1.0,), 2: (1.0, 3.0)}), answers())
    assert "one worker under threads = 1, so nothing is uneven" in findings.answer
    text = "0.25 (0.25 to 0.25) of 2 workers under threads = 2, the busiest with 1.5 times the mean"
    assert text in findings.answer
    last = findings.factors[-1]
    assert (last.name, last.levels) == ("load per worker", ("threads = 1", "threads = 2"))
    assert level_text(1) == "1"


def test_nothing_is_reported_where_it_was_not_counted() -> None:
    findings = study(with_threads(1, 2, shares={1: (), 2: ()}), answers())
    assert workers.NAME not in [factor.name for factor in findings.factors]
