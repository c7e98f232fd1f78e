"""What a neighbour keeps of its pace; few points do not make its interval narrow."""

from __future__ import annotations

import math

import numpy as np
import pytest

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


@pytest.mark.parametrize("own", [0.35, 0.6, 0.9, 2.0])
def test_the_interval_has_the_variance_of_the_line_at_its_place(own: float) -> None:
    """By the matrix of the design: s² (1 + a inv(X'X) a'); Student's factor of four is 2.132."""
    used, share = np.array(CPU), np.array([0.92, 0.83, 0.66, 0.62, 0.49, 0.41])
    design, place = np.stack([np.ones(6), used]).T, np.array([1.0, own])
    slope, start = np.polyfit(used, share, 1)
    variance = np.sum((share - start - slope * used) ** 2) / 4
    more = place @ np.linalg.inv(design.T @ design) @ place
    expected = 2.131847 * math.sqrt(variance * (1 + more))
    assert progress._half_width(used, share, own) == pytest.approx(expected, rel=1e-6)


def test_nine_of_ten_points_beyond_the_rulers_lie_in_the_interval_of_the_line() -> None:
    rng, used, inside = np.random.default_rng(5), np.array(CPU), 0
    for _ in range(1_000):
        share = 1 - used + 0.05 * rng.standard_normal(6)
        slope, start = np.polyfit(used, share, 1)
        truth = 0.1 + 0.05 * float(rng.standard_normal())
        half = progress._half_width(used, share, 0.9)
        inside += abs(start + slope * 0.9 - truth) <= half
    assert 0.86 <= inside / 1_000 <= 0.94  # four standard errors; without the place it is 75 %


def test_a_load_beyond_the_rulers_has_a_wider_interval() -> None:
    shares = [0.92, 0.83, 0.66, 0.62, 0.49, 0.41]
    middle, beyond = at(shares, 350), at(shares, 900)
    assert beyond.value - beyond.lo > 1.4 * (middle.value - middle.lo)


def test_one_amount_of_cpu_time_is_enough_for_an_answer_there_alone() -> None:
    runs = [run(0.3, share) for share in (0.6, 0.7, 0.65, 0.75)]
    rulers = [(victim("ruler", XZ, runs), XZ)]
    result = progress.at(victim("own", NONE, [run(0.3)]), rulers, 300.0)
    assert result is not None
    # 0.675 ± t(3 degrees) × s × √(1 + 1/4), with s² = 0.0125 / 3
    half = 2.353363 * math.sqrt(0.0125 / 3 * 1.25)
    assert (result.lo, result.hi) == pytest.approx((0.675 - half, 0.675 + half), rel=1e-6)
    other = progress.at(victim("own", NONE, [run(0.3)]), rulers, 500.0)
    assert other is not None
    assert (other.lo, other.hi) == (0.0, 1.0), "how the share falls is not known"
