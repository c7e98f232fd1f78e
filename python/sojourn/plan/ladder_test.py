"""One round against a border that is known: it encloses it, and stops for the reason it gives."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from sojourn.plan import ladder
from sojourn.plan.decide import Decision
from sojourn.plan.ladder import CEILING, FLOOR, PROBES_MAX, Round, Rules, climb
from sojourn.plan.points import Outcome, Phase, Point, Verdict
from sojourn.plan.rehearsal import imagine

SCALE = 1_000.0
Say = Callable[[float], Decision]


def outcome(rps: float, decision: Decision) -> Outcome:
    """A run whose reasons carry what is to be reported about it."""
    point = Point(
        key="s/drop/r0/p00",
        service="s",
        phase=Phase.PEAK,
        offered_rps=rps,
        measure_s=1.0,
        warmup_s=0.0,
        seed=1,
    )
    is_lost = decision is Decision.UNKNOWN
    verdict = Verdict.UNKNOWN if is_lost else Verdict.HOLDS
    return replace(imagine(point), verdict=verdict, reasons=(decision.value,))


def decision(runs: Sequence[Outcome]) -> Decision:
    believed = [run for run in runs if run.verdict is not Verdict.UNKNOWN]
    return Decision(believed[-1].reasons[0]) if believed else Decision.UNKNOWN


RULES = Rules(
    decide=decision,
    climb=1.5,
    step=1.1,
    resolution=0.02,
    lengths=(1.0, 2.0, 4.0),
    retries=1,
    scale=SCALE,
)


def walk(
    start: float, say: Say, rules: Rules = RULES, most: int = 100
) -> tuple[Round, list[Outcome], list[float | None]]:
    """Run a round to its end; its outcomes, and the lengths that were asked for."""
    outcomes: list[Outcome] = []
    lengths: list[float | None] = []
    for _ in range(most):
        now = climb(start, outcomes, rules)
        if now.next_rps is None:
            break
        lengths.append(now.next_s)
        outcomes.append(outcome(now.next_rps, say(now.next_rps)))
    return climb(start, outcomes, rules), outcomes, lengths


def border(at: float) -> Say:
    return lambda rps: Decision.PASS if rps <= at else Decision.FAIL


def loads(outcomes: Sequence[Outcome]) -> list[float]:
    return [o.point.offered_rps or 0.0 for o in outcomes]


@pytest.mark.parametrize("start", [100.0, 800.0, 1_000.0, 3_000.0])
@pytest.mark.parametrize("at", [90.0, 617.0, 800.0, 1_111.0, 2_500.0])
def test_a_round_ends_with_the_border_between_pass_and_fail(start: float, at: float) -> None:
    end, outcomes, _ = walk(start, border(at))
    assert (end.ended, end.is_over, end.has_border) == ("narrow", True, True)
    assert end.lo is not None
    assert end.hi is not None
    assert end.lo <= at < end.hi <= end.lo * 1.02 * (1 + 1e-6)
    assert end.middle == pytest.approx((end.lo * end.hi) ** 0.5)
    assert len(outcomes) <= PROBES_MAX
    assert all(rung.runs == rung.believed == 1 for rung in end.rungs)


def test_steps_up_are_squared_until_they_are_a_climb() -> None:
    _, outcomes, _ = walk(100.0, border(1e9))
    factors = [b / a for a, b in itertools.pairwise(loads(outcomes))]
    assert factors[:3] == pytest.approx([1.1, 1.1**2, 1.1**4])
    assert factors[3:] == pytest.approx([1.5] * len(factors[3:]))


def test_steps_down_grow_after_four_loads_and_never_beyond_a_stride() -> None:
    _, outcomes, _ = walk(1_000.0, border(0.0))
    factors = [a / b for a, b in itertools.pairwise(loads(outcomes))]
    assert factors[:5] == pytest.approx([1.1, 1.1**2, 1.1**4, 1.5, 1.5])
    assert factors[5:] == pytest.approx([min(1.5**n, 4.0) for n in range(2, 2 + len(factors[5:]))])


def test_a_round_ends_at_the_floor_and_at_the_ceiling() -> None:
    low, outcomes, _ = walk(1_000.0, border(0.0))
    assert (low.ended, low.has_border, low.lo) == ("floor", True, None)
    assert low.middle is None
    assert min(loads(outcomes)) >= FLOOR * SCALE
    high, outcomes, _ = walk(1_000.0, border(1e9))
    assert (high.ended, high.has_border, high.hi) == ("ceiling", False, None)
    assert max(loads(outcomes)) <= CEILING * SCALE
    assert max(loads(outcomes)) * 1.5 > CEILING * SCALE


def test_an_undecided_load_is_run_longer_and_then_left_at_the_border() -> None:
    def say(rps: float) -> Decision:
        if 950 < rps < 1_050:
            return Decision.UNDECIDED
        return Decision.PASS if rps < 1_000 else Decision.FAIL

    end, outcomes, lengths = walk(1_000.0, say)
    assert loads(outcomes)[:3] == [1_000.0] * 3
    assert lengths[:3] == [1.0, 2.0, 4.0]
    assert end.ended == "narrow"
    assert end.lo is not None
    assert end.hi is not None
    # Gaps to the undecided loads on either side are narrow; between them nothing is asked.
    undecided = sorted(r.rps for r in end.rungs if r.decision is Decision.UNDECIDED)
    assert undecided[0] / end.lo <= 1.02 * (1 + 1e-6)
    assert end.hi / undecided[-1] <= 1.02 * (1 + 1e-6)
    assert end.lo <= 950
    assert end.hi >= 1_050


def test_a_load_that_cannot_be_believed_is_tried_again_and_then_passed_by() -> None:
    def say(rps: float) -> Decision:
        return Decision.UNKNOWN if rps == 1_000.0 else border(700.0)(rps)

    end, outcomes, lengths = walk(1_000.0, say)
    assert loads(outcomes)[:2] == [1_000.0] * 2  # one retry
    assert loads(outcomes)[2] < 1_000.0  # no more load for a client that cannot keep up
    assert lengths[:2] == [1.0, 1.0]
    first = end.rungs[0]
    assert (first.runs, first.believed, first.decision) == (2, 0, Decision.UNKNOWN)
    assert end.lo is not None
    assert end.lo <= 700


def test_too_many_loads_that_cannot_be_believed_end_the_round() -> None:
    end, outcomes, _ = walk(1_000.0, lambda _: Decision.UNKNOWN)
    assert (end.ended, end.has_border) == ("unknown", False)
    # Three loads with a retry each; the fourth ends it at once.
    assert len(outcomes) == 2 * ladder.UNKNOWN_MAX + 1


def test_a_round_has_a_most_of_probes() -> None:
    fine = replace(RULES, resolution=1e-9)
    end, outcomes, _ = walk(1_000.0, border(777.0), fine)
    assert end.ended == f"{PROBES_MAX} probes"
    assert len(outcomes) == PROBES_MAX


def test_a_hurried_round_ends_with_any_bracket() -> None:
    hurried = replace(RULES, is_hurried=True)
    end, outcomes, _ = walk(1_000.0, border(1_050.0), hurried)
    assert (end.ended, end.lo) == ("narrow", 1_000.0)
    assert end.hi == pytest.approx(1_100.0)
    assert len(outcomes) == 2


def test_a_pass_above_a_fail_is_no_lower_end() -> None:
    runs = [
        outcome(500.0, Decision.PASS),
        outcome(800.0, Decision.FAIL),
        outcome(900.0, Decision.PASS),
    ]
    now = climb(500.0, runs, RULES)
    assert (now.lo, now.hi) == (500.0, 800.0)
    assert now.next_rps == pytest.approx((500 * 800) ** 0.5)
