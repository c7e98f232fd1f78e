"""The search against queues of known border."""

import math

import pytest

from sojourn.models.whatif.border import search

LOG = math.log(100)  # p99 of an M/M/1 is ln 100 / (μ − λ)


def mm1(rps: float, off: float = 0.0) -> tuple[float, float, float]:
    ns = LOG / (100.0 - rps) * 1e9 if rps < 100 else math.inf
    return ns * (1 - off), ns, ns * (1 + off)


@pytest.mark.parametrize("bound_s", [0.06, 0.2, 1.0])
def test_the_border_is_that_of_the_formula(bound_s: float) -> None:
    gathered = search(mm1, bound_s * 1e9, 100.0)
    assert gathered.value == pytest.approx(100 - LOG / bound_s, abs=0.3)
    assert gathered.lo <= gathered.value <= gathered.hi
    assert gathered.hi - gathered.lo < 0.5


def test_what_scatters_makes_the_border_less_sure() -> None:
    sure, unsure = (search(lambda rps: mm1(rps, off), 2e8, 100.0) for off in (0.01, 0.2))  # noqa: B023
    assert unsure.hi - unsure.lo > 3 * (sure.hi - sure.lo)
    assert unsure.lo <= 100 - LOG / 0.2 <= unsure.hi


def test_a_bound_that_nothing_keeps_has_no_border() -> None:
    gathered = search(mm1, 1e6, 100.0)
    assert (gathered.lo, gathered.value) == (0.0, 0.0)
    assert gathered.hi == pytest.approx(0.1)


@pytest.mark.parametrize("truth", [7.0, 26.0, 38.0, 50.6, 74.0, 76.0, 88.0])
@pytest.mark.parametrize("off", [0.02, 0.05, 0.1])
def test_an_end_lies_where_the_tail_is_decided_and_not_at_the_half_before_it(
    truth: float, off: float
) -> None:
    bound_ns = LOG / (100 - truth) * 1e9
    asked: list[float] = []

    def tail(rps: float) -> tuple[float, float, float]:
        asked.append(rps)
        return mm1(rps, off)

    gathered = search(tail, bound_ns, 100.0)
    # The interval holds the bound between these two rates.
    lo, hi = (max(0.0, 100 - (100 - truth) * scale) for scale in (1 + off, 1 - off))
    assert 0.9 * lo - 0.5 <= gathered.lo <= lo
    assert hi <= gathered.hi <= 1.1 * hi + 0.5
    assert gathered.value == pytest.approx(truth, abs=max(0.5, (hi - lo) / 4))
    assert len(asked) <= 18
