"""Whether blocks meet a target: rarely wrong at the bound, and told where it is plain."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sojourn.analysis import qos_probability
from sojourn.findings.measured import Measured
from sojourn.plan import Outcome, Phase, Point, Verdict
from sojourn.plan.axis import Target
from sojourn.plan.rehearsal import imagine
from sojourn.spec import QosRule

TARGET = Target(q=0.99, bound_ns=1e6, rule=QosRule.GIVEN)
REQUESTS = 20_000
TRIALS = 2000


def run(share: float, requests: int = REQUESTS) -> Measured:
    """A block of which this share of the requests missed the bound."""
    point = Point(
        key="k",
        service="s",
        phase=Phase.SWEEP,
        offered_rps=1e3,
        measure_s=9.0,
        warmup_s=0.0,
        seed=1,
    )
    over = round(share * requests)
    return Measured(outcome=replace(imagine(point), requests=requests, over_bound=over))


@pytest.mark.parametrize("blocks", [2, 3, 5])
@pytest.mark.parametrize("spread", [0.05, 0.5])
def test_at_the_bound_itself_it_decides_once_in_ten_at_most(blocks: int, spread: float) -> None:
    drawn = np.random.default_rng(7)
    texts = [
        qos_probability.judged(
            [run(0.01 * math.exp(x)) for x in drawn.normal(0, spread, blocks)], TARGET
        )
        for _ in range(TRIALS)
    ]
    decided = sum(one.verdict is not Verdict.UNKNOWN for one in texts)
    assert decided < TRIALS * 0.1 + 4 * math.sqrt(TRIALS * 0.1 * 0.9), "four sigma"
    assert all(
        f"with probability {one.chance:.2f}" in one.reason
        for one in texts
        if one.verdict is Verdict.UNKNOWN
    )


@pytest.mark.parametrize(
    ("blocks", "requests", "spread"),
    [(5, 10, 0.0), (10, 30, 0.0), (10, 100, 0.5), (20, 300, 0.0), (40, 200, 0.0), (40, 200, 0.5)],
)
def test_at_the_bound_small_blocks_decide_once_in_twenty_at_most_on_either_side(
    blocks: int, requests: int, spread: float
) -> None:
    """With half a miss in one request more, 5 blocks of 10 requests missed it in 40 % of trials."""
    drawn, trials = np.random.default_rng(8), 500
    chances = []
    for _ in range(trials):
        shares = 0.01 * np.exp(drawn.normal(0, spread, blocks))
        over = drawn.binomial(requests, shares)
        each = [run(k / requests, requests).outcome for k in over]
        chances.append(qos_probability.probability_met(each, 0.99) or 0.0)
    most = trials * 0.05 + 4 * math.sqrt(trials * 0.05 * 0.95)
    assert sum(chance >= 0.95 for chance in chances) <= most, "four sigma"
    assert sum(chance <= 0.05 for chance in chances) <= most, "four sigma"


def test_blocks_in_which_little_was_asked_say_nothing() -> None:
    each = [run(0.0, 10).outcome] * 20
    assert qos_probability.probability_met(each, 0.99) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("shares", "verdict"),
    [
        ([0.05, 0.07, 0.06], Verdict.VIOLATED),
        ([0.001, 0.002, 0.001], Verdict.HOLDS),
        ([0.0, 0.0, 0.0], Verdict.HOLDS),
        ([1.0, 1.0], Verdict.VIOLATED),
        ([0.0, 0.0, 0.0, 1.0], Verdict.UNKNOWN),  # a quarter of all requests missed it
        ([0.05], Verdict.UNKNOWN),
        ([], Verdict.UNKNOWN),
    ],
)
def test_what_is_plain_is_reported(shares: list[float], verdict: Verdict) -> None:
    assert qos_probability.judged([run(share) for share in shares], TARGET).verdict is verdict


def test_few_requests_without_a_miss_are_no_proof() -> None:
    assert qos_probability.judged([run(0.0, 200), run(0.0, 200)], TARGET).verdict is Verdict.UNKNOWN


def test_misses_that_come_together_count_as_fewer() -> None:
    def chance(as_one: float) -> float:
        blocks = [replace(run(0.005).outcome, correlation=as_one) for _ in range(3)]
        value = qos_probability.probability_met(blocks, 0.99)
        assert value is not None
        return value

    assert chance(1.0) > chance(20.0) > 0.5


def test_a_run_whose_misses_were_not_counted_says_nothing() -> None:
    blocks: list[Outcome] = [run(0.0).outcome, replace(run(0.0).outcome, over_bound=None)]
    assert qos_probability.probability_met(blocks, 0.99) is None
