"""What requests that fail by themselves say about the border."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sojourn.plan import posterior
from sojourn.plan.evidence import Trial
from sojourn.plan.evidence_test import trial
from sojourn.plan.posterior import border

PEAK = 100_000.0


def failing(share: float, failed: float, life: str) -> Trial:
    """A run of a second that fails a share of its requests from first to last: one cluster."""
    rps = share * PEAK
    run = trial(rps, requests=round(rps), clusters=(failed * rps,) if failed else (), life=life)
    return replace(run, failed=run.over)


@pytest.mark.parametrize(("failed", "lowest"), [(0.02, 9), (0.05, 5)])
def test_a_service_that_fails_too_often_at_every_load_fits_at_none(
    failed: float, lowest: int
) -> None:
    """However dense: the gap between two failures says nothing of waiting."""
    loads = (0.12,) * lowest + (0.3, 0.5, 0.7, 0.9)
    runs = [failing(load, failed, str(n)) for n, load in enumerate(loads)]
    assert border(tuple(runs), peak_rps=PEAK, bound_s=1e-3, q=0.99).interval() == (0.0, 0.0)


def test_failures_below_the_allowed_share_speak_against_no_load() -> None:
    clean_runs = [failing(load, 0.0, str(load)) for load in (0.3, 0.4, 0.5, 0.6)] * 3
    few = [replace(run, over=5, clusters=(5.0,), failed=5) for run in clean_runs]
    waited = [replace(run, failed=0) for run in few]
    with_failed, without = (
        border(tuple(each), peak_rps=PEAK, bound_s=1e-3, q=0.99) for each in (few, waited)
    )
    assert with_failed.interval() == pytest.approx(without.interval(), rel=0.01)


def test_one_run_with_a_restart_of_the_server_does_not_outweigh_clean_ones() -> None:
    loads = (0.3, 0.4, 0.5, 0.5, 0.5, 0.6, 0.6)
    runs = [failing(load, 0.0, str(n)) for n, load in enumerate(loads)]
    restart = failing(0.3, 0.3, "restart")
    lo, _ = border((*runs, restart), peak_rps=PEAK, bound_s=1e-3, q=0.99).interval()
    assert lo > 0.4 * PEAK


def test_the_failed_share_is_bounded_as_markov_has_it() -> None:
    share = np.array([0.005, 0.01, 0.05, 0.2])
    missed = np.logaddexp(0.0, -np.log(share / (1 - share)))[None, :]

    def bounds(failed: float, requests: float) -> list[float]:
        return list(np.exp(posterior._failing(missed, np.array([failed]), np.array([requests]))[0]))

    sure = (1e6 - 1.64e3) / 2e7
    assert bounds(1e6, 2e7) == pytest.approx([0.005 / sure, 0.01 / sure, 1.0, 1.0])
    assert bounds(0.0, 1e3) == pytest.approx([1.0] * 4)
    assert bounds(14.0, 1e3) == pytest.approx([0.005 / 0.00786, 1.0, 1.0, 1.0], rel=1e-3), "chance"


def test_a_service_that_fails_as_often_as_it_may_is_not_shown_to_miss() -> None:
    """Half of its runs are above the share by chance; each counted, and none of the others."""
    rng = np.random.default_rng(5)
    loads = rng.uniform(0.12, 0.6, 40)
    runs = [
        replace(run, over=k, clusters=(float(k),), failed=k)
        for n, load in enumerate(loads)
        if (run := failing(load, 0.0, str(n))) and (k := int(rng.poisson(0.01 * run.requests)))
    ]
    result = border(tuple(runs), peak_rps=PEAK, bound_s=1e-3, q=0.99)
    assert result.holds[0] > 0.5
