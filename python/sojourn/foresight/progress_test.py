"""What a neighbour keeps of its pace; few points do not make its interval narrow."""

from __future__ import annotations

import numpy as np

from sojourn.foresight import progress
from sojourn.foresight.doses import NONE
from sojourn.foresight.predicted import Predicted
from sojourn.foresight.testing import PLACE
from sojourn.foresight.victims import Run, Victim

XZ = "batch:xz"
CPU = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


def run(cpu: float, share: float | None = None) -> Run:
    """At 1 ms a request, so that the load is the CPU time in thousands."""
    rps = cpu * 1e3
    return Run(rps=rps, achieved_rps=rps, tails={}, progress=share, cpu_ns=1e6, cpu=cpu)


def victim(label: str, level: str, runs: list[Run]) -> Victim:
    return Victim(label=label, record=label, place=PLACE, peak_rps=1e3, levels={level: runs})


def at(shares: list[float], rps: float) -> Predicted:
    ruler = victim("ruler", XZ, [run(*pair) for pair in zip(CPU, shares, strict=True)])
    result = progress.at(victim("own", NONE, [run(0.3)]), [(ruler, XZ)], rps)
    assert result is not None
    return result


def test_points_that_fall_by_themselves_have_an_interval_all_the_same() -> None:
    result = at([0.92, 0.83, 0.66, 0.62, 0.49, 0.41], 300)
    assert result.value == 0.66
    assert result.hi - result.lo > 0.05


def test_nine_of_ten_true_shares_lie_in_the_interval() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(400):
        shares = [1 - cpu + 0.05 * float(rng.standard_normal()) for cpu in CPU]
        result = at(shares, 350)
        held += result.lo <= 0.65 + 0.05 * float(rng.standard_normal()) <= result.hi
    assert 0.84 <= held / 400 <= 0.99


def test_one_amount_of_cpu_time_is_enough_for_an_answer() -> None:
    runs = [run(0.3, share) for share in (0.6, 0.7, 0.65, 0.75)]
    result = progress.at(victim("own", NONE, [run(0.3)]), [(victim("ruler", XZ, runs), XZ)], 300.0)
    assert result is not None
    assert result.lo < 0.675 < result.hi
