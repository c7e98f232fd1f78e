"""p99.9 in turn, and what lost requests leave of the quantiles."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from sojourn.plan import next_point
from sojourn.plan.points import Outcome, Point
from sojourn.plan.simulated import play
from sojourn.questions import PLANS
from sojourn.questions.compare import block_runs
from sojourn.questions.compare.compare_test import asked, found, noise, outcome, played, section
from sojourn.spec.sides import study_of
from sojourn.stats.paired_ratio import Judgement


def test_a_longer_far_tail_is_found_where_p99_is_the_same() -> None:
    study, lot = asked(numbers=("p99", "p99.9")), random.Random(6)  # noqa: S311

    def run(point: Point) -> Outcome:
        own = outcome(point, noise(lot))
        assert own.p999_ns is not None
        longer = 1.4 if point.service == "b" else 1.0
        return replace(own, p999_ns=own.p999_ns * longer)

    done = play(study, run, PLANS)
    rows = {row.number: row for row in section(found(study, done)).rows}
    assert rows["p99.9"].judgement is Judgement.WORSE
    assert rows["p99.9"].ratio == pytest.approx(1.4, rel=0.05)
    assert rows["p99"].judgement is Judgement.SAME


@pytest.mark.parametrize(
    ("numbers", "rate", "length_s"),
    [
        (["p99", "p99.9"], "500", 20.0),
        (["p99.9"], "4k", 2.5),
        (["p99.9"], "50k", 2.0),
        (["p99"], "500", 2.0),
    ],
)
def test_a_run_is_long_enough_for_its_far_tail(
    numbers: list[str], rate: str, length_s: float
) -> None:
    study = study_of([{"kind": "memcached"}] * 2, rate=rate, compare={"numbers": numbers})
    point = next_point(study, [], PLANS)
    assert point is not None
    assert point.measure_s == pytest.approx(length_s)


def test_lost_requests_end_only_the_quantiles_that_they_reach() -> None:
    study = asked(numbers=("mean", "p50", "p99", "p99.9"), blocks=12)
    lot = random.Random(7)  # noqa: S311 - no secret

    def run(point: Point) -> Outcome:
        own = outcome(point, noise(lot))
        if point.service == "a":
            return own
        return replace(own, lost=40, mean_ns=None, p999_ns=None)

    done = play(study, run, PLANS)
    rows = {row.number: row for row in section(found(study, done)).rows}
    assert rows["mean"].ratio == rows["p99.9"].ratio == math.inf
    assert rows["p99"].ratio == pytest.approx(1.0, rel=0.05)
    assert rows["p50"].ratio == pytest.approx(1.0, rel=0.05)


def test_a_record_without_the_far_tail_has_no_pair() -> None:
    study = asked(numbers=("p99", "p99.9"), blocks=12)
    done = [replace(one, p999_ns=None) for one in played(study, lambda lot, _, __: noise(lot))]
    (row,) = (row for row in section(found(study, done)).rows if row.number == "p99.9")
    assert (row.pairs, row.ratio, row.first_ns) == (0, None, None)
    assert math.isnan(block_runs.value_of(block_runs.Runs(loaded=done[0]), "p99.9"))
