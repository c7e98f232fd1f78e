"""Numbers and blocks that lack make no service look fine."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from sojourn.plan.points import Outcome, Point, Verdict
from sojourn.plan.simulated import play
from sojourn.questions import PLANS
from sojourn.questions.compare import block_runs
from sojourn.questions.compare.compare_test import asked, found, outcome, section
from sojourn.questions.compare.compared import Compared
from sojourn.questions.compare.judge import KIND
from sojourn.spec import Study
from sojourn.stats.gate_rule import Ruling
from sojourn.stats.paired_ratio import Judgement


def measured(study: Study, *, fails: tuple[int, ...] = (), **of_b: Any) -> list[Outcome]:
    """Every block; in some of them b fails, in all of them it has these values."""

    def run(point: Point) -> Outcome:
        own = of_b if point.service == "b" else {}
        if point.service == "b" and point.repeat in fails:
            own = {"verdict": Verdict.UNKNOWN, "failed": 1000, "lost": 1000, "mean_ns": None}
        return outcome(point, 1.0 + 0.001 * (point.repeat % 3), **own)

    return play(study, run, PLANS, stop_after=400)


def judged(study: Study, done: list[Outcome]) -> Compared:
    return section(found(study, done))


def test_a_gate_does_not_pass_on_a_number_that_was_never_counted() -> None:
    """`--numbers cpu,p99` passed by p99 alone where no CPU time was seen."""
    study = asked(gate=True, max_regression=0.05, numbers=["cpu", "p99"])
    done = measured(study, cpu_ns=None)
    result = judged(study, done)
    assert (result.ruling, result.verdict) == (Ruling.OPEN, Verdict.UNKNOWN)
    assert "no block has CPU per request of both" in result.answer
    assert result.lacking == ("CPU per request",)
    assert KIND.settle(found(study, done)) is None, "no time would help"
    every = judged(study, measured(study))
    assert (every.ruling, every.lacking) == (Ruling.FINE, ())


def test_services_without_cpu_time_do_not_differ_in_what_is_named() -> None:
    study = asked()
    result = judged(study, measured(study, cpu_ns=None))
    assert result.verdict is Verdict.HOLDS
    assert "in mean, p50, p99; CPU time was not counted" in result.answer
    alone = asked(numbers=["cpu"])
    assert judged(alone, measured(alone, cpu_ns=None)).verdict is Verdict.UNKNOWN
    whole = judged(study, measured(study))
    assert "in every number" in whole.answer


@pytest.mark.parametrize("gate", [{}, {"gate": True, "max_regression": 0.05}])
def test_a_service_that_fails_many_requests_is_worse_and_not_left_out(gate: dict[str, Any]) -> None:
    """Each of its runs was void, so its blocks were left out, and nothing was judged."""
    study = asked(numbers=["mean"], **gate)
    result = judged(study, measured(study, fails=tuple(range(400))))
    (row,) = result.rows
    assert (row.ratio, row.judgement) == (math.inf, Judgement.WORSE)
    assert result.verdict is Verdict.VIOLATED


def test_where_all_services_fail_no_block_counts() -> None:
    study = asked(numbers=["mean"], blocks=9)
    void = {"verdict": Verdict.UNKNOWN, "failed": 1000, "lost": 1000, "mean_ns": None}
    done = play(study, lambda point: outcome(point, 1.0, **void), PLANS, stop_after=100)
    assert block_runs.blocks_of(study, done) == []


def test_blocks_that_are_left_out_are_listed_by_service() -> None:
    study = asked(blocks=12)

    def run(point: Point) -> Outcome:
        is_void = point.service == "b" and point.repeat in {1, 4}
        verdict = Verdict.UNKNOWN if is_void else Verdict.HOLDS
        return outcome(point, 1.0 + 0.5 * (point.repeat % 2), verdict=verdict)

    done = play(study, run, PLANS)
    result = judged(study, done)
    assert dict(result.left_out) == {"b": 2}
    assert "no valid run: 2 times b" in result.answer
    assert judged(study, measured(study)).left_out == ()


def test_what_is_open_is_beside_what_is_better() -> None:
    """A sentence of one better number hid that the others were open."""
    study = asked(numbers=["mean", "p99"], blocks=30)
    lot = random.Random(3)  # noqa: S311 - no secret

    def run(point: Point) -> Outcome:
        half = 0.5 if point.service == "b" else 1.0
        return outcome(point, 1.0, mean_ns=1e5 * half, p99_ns=5e5 * math.exp(lot.gauss(0, 0.5)))

    answer = judged(study, play(study, run, PLANS, stop_after=400)).answer
    assert "b is better than a: mean 0.5 times" in answer
    assert "Not decided: p99 of b." in answer
