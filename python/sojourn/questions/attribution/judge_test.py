"""Requests that were lost count as slower than all others, and leave out no block in silence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sojourn import spec
from sojourn.analysis.testing import measured
from sojourn.findings.measured import StudyData
from sojourn.plan import Point, Verdict
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import play
from sojourn.questions import PLANS
from sojourn.questions.attribution import judge, section
from sojourn.questions.attribution.judge import Attributed, Attributions
from sojourn.report import testing
from sojourn.stats.quantile_regression import Fit
from sojourn.stats.times import from_values

KEY = "services.memcached.params.threads"
REQUESTS, BLOCKS, RUNS = 4_000, 4, 32
TIMES_NS = -np.log1p(-(np.arange(REQUESTS) + 0.5) / REQUESTS) * 1e5  # exponential, ascending


def is_slow(point: Point) -> bool:
    """The second level of the factor, under which every request takes twice as long."""
    return point.setting[KEY] != 1


def judged(lost: Callable[[Point], int]) -> Attributed:
    """A study in which so many of a run's requests, the slowest, were lost."""
    sets = [f"run.repeats={BLOCKS}", "run.measure_s=0.5"]
    of = spec.load("attribution", profile="quick", overrides=sets, asks=PLANS.mistakes)
    rng, runs = np.random.default_rng(1), []
    for outcome in play(of, imagine, PLANS):
        times = TIMES_NS * (2.0 if is_slow(outcome.point) else 1.0)
        times[REQUESTS - lost(outcome.point) :] = np.inf
        runs.append(measured(outcome.point, rng.permutation(times)))
    assert len(runs) == RUNS
    whole = judge.KIND.whole(StudyData(study=of, measured=tuple(runs), questions=PLANS))
    assert whole is not None
    (one,) = whole.of
    return one


def ratio(fit: Fit) -> float:
    return next(term.ratio for term in fit.terms if term.factors == ("threads",))


@pytest.mark.parametrize("lost", [20, 36])  # 0.5 and 0.9 %: p99 is the 3,960th of 4,000
def test_less_than_a_hundredth_of_lost_requests_leaves_p99_as_it_is(lost: int) -> None:
    """Every time is doubled, so each quantile is; the slowest 0.9 % decide none of them."""
    result = judged(lambda point: lost if is_slow(point) else 0)
    assert result.verdict is Verdict.HOLDS, result.reasons
    assert [fit.q for fit in result.fits] == [0.5, 0.9, 0.95, 0.99]
    assert {fit.blocks for fit in result.fits} == {BLOCKS}
    assert ratio(result.fits[0]) == pytest.approx(2.0, rel=0.02)
    # Between two of 200 samples a quantile is any: at p99 these are 10 % apart.
    assert ratio(result.fits[-1]) == pytest.approx(2.0, rel=0.15)


@pytest.fixture(name="refused", scope="module")
def _refused() -> Attributed:
    """1.5 % of four runs of one block were lost: p99 of these is infinite, p95 is not."""
    return judged(lambda point: 60 if is_slow(point) and point.repeat == 0 else 0)


def test_a_quantile_that_is_infinite_in_a_run_is_refused_and_no_block_is_left_out(
    refused: Attributed,
) -> None:
    assert refused.verdict is Verdict.UNKNOWN
    assert [fit.q for fit in refused.fits] == [0.5, 0.9, 0.95]
    assert {fit.blocks for fit in refused.fits} == {BLOCKS}
    assert ratio(refused.fits[0]) == pytest.approx(2.0, rel=0.02)
    [reason] = refused.reasons
    assert "p99 is infinite in 4 of 32 runs, because requests were lost" in reason


def test_a_figure_without_p99_says_why(refused: Attributed) -> None:
    few = replace(refused, fits=())
    for one, why in ((refused, "p99 is infinite in some runs"), (few, "Too few blocks")):
        findings = testing.findings().having("attribution", Attributions(of=(one,)))
        [figure] = section.draw(findings)
        assert figure.missing.startswith(why)


def test_samples_around_a_finite_quantile_are_finite_and_what_was_lost_is_an_hour_late() -> None:
    lossy = np.append(TIMES_NS[:-36], np.full(36, np.inf))
    samples = judge._samples(from_values(lossy))
    assert len(samples) == 200
    assert (np.diff(samples) > 0).all()
    # The middle of the 199th share is the 3,970th time, which was lost; it begins at the 3,960th.
    assert samples[-3:].tolist() == [TIMES_NS[3_949], TIMES_NS[3_959], judge.LATEST_NS]
    whole = judge._samples(from_values(TIMES_NS))
    assert whole[-3:].tolist() == [TIMES_NS[3_949], TIMES_NS[3_969], TIMES_NS[3_989]]
