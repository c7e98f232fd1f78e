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
