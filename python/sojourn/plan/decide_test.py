"""M12's arithmetic against its golden numbers, its definition, and its promise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from sojourn.plan.decide import (
    Decision,
    at_least,
    at_most,
    decide,
    drops_nothing,
    smallest_sample,
)
from sojourn.plan.make import point as make_point
from sojourn.plan.points import Cell, Outcome, Phase, Verdict
from sojourn.plan.rehearsal import imagine
from sojourn.spec import load


def outcome(*, n: int, k: int, correlation: float = 1.0, valid: bool = True) -> Outcome:
    study = load("max_load_memcached")
    point = make_point(study, Cell("memcached", Phase.SEARCH), measure_s=1, offered_rps=1)
    verdict = Verdict.HOLDS if valid else Verdict.UNKNOWN
    return replace(
        imagine(point), requests=n, over_bound=k, correlation=correlation, verdict=verdict
    )


@pytest.mark.parametrize(("misses", "needed"), [(0, 459), (1, 662), (10, 2010)])
def test_golden_numbers_of_m12(misses: int, needed: int) -> None:
    assert smallest_sample(misses, 0.99, confidence=0.99) == needed
    assert decide(needed, misses, 0.99, confidence=0.99) is Decision.PASS
    assert decide(needed - 1, misses, 0.99, confidence=0.99) is Decision.UNDECIDED


@given(n=st.integers(1, 3000), share=st.floats(0, 1), p=st.floats(0.001, 0.5))
def test_tails_are_the_binomials_at_whole_numbers(n: int, share: float, p: float) -> None:
    k = round(share * n)
    assert at_most(n, k, p) == pytest.approx(binom.cdf(k, n, p), abs=1e-9)
    assert at_least(n, k, p) == pytest.approx(binom.sf(k - 1, n, p), abs=1e-9)


@given(n=st.floats(1, 1e6), share=st.floats(0, 1), q=st.floats(0.5, 0.999))
def test_pass_and_fail_never_both_hold_and_more_misses_never_help(
    n: float, share: float, q: float
) -> None:
    rank = [Decision.PASS, Decision.UNDECIDED, Decision.FAIL]
    fewer = decide(n, share * n / 2, q, confidence=0.95)
    more = decide(n, share * n, q, confidence=0.95)
    assert rank.index(fewer) <= rank.index(more)


def test_at_the_border_a_wrong_answer_is_as_rare_as_promised() -> None:
    # True share of misses 1.05 %: "pass" is wrong. 2000 trials at 95 %: five sigma above 5 % is
    # 0.05 + 5 * sqrt(.05 * .95 / 2000) = 7.4 %.
    misses = np.random.default_rng(7).binomial(4000, 0.0105, size=2000)
    wrong = sum(decide(4000, int(k), 0.99, confidence=0.95) is Decision.PASS for k in misses)
    assert wrong / 2000 < 0.074


def test_a_run_whose_self_check_failed_decides_nothing() -> None:
    assert drops_nothing([outcome(n=10_000, k=10_000, valid=False)]) is Decision.UNKNOWN


def test_a_lost_request_or_a_slow_server_is_a_drop() -> None:
    good = replace(outcome(n=100_000, k=0), offered_rps=1000.0, achieved_rps=999.0)
    assert drops_nothing([good]) is Decision.PASS
    assert drops_nothing([replace(good, lost=1)]) is Decision.FAIL
    assert drops_nothing([replace(good, achieved_rps=950.0)]) is Decision.FAIL
