from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sojourn.models.cpu_line import cpu_line, line_ranges
from sojourn.models.points import Measured

SERVICE_US, WAKE_US = 10.0, 3.0


def _busy(rate: float) -> float:
    """CPU share of a worker whose idle requests pay for a wake-up: u = λ(s + w(1 − u))."""
    return rate * (SERVICE_US + WAKE_US) / (1e6 + rate * WAKE_US)


def _points(*rates: float) -> list[Measured]:
    return [
        Measured(rate_rps=rate, cpu_share=_busy(rate), mean=None, p50=None, p95=None, p99=None)
        for rate in rates or (1e4, 2e4, 3e4, 4e4, 5e4)
    ]


def test_cpu_time_gives_service_and_wake_up_and_one_bad_point_does_not_decide() -> None:
    points = _points()
    assert cpu_line(points, 1, None) == pytest.approx((SERVICE_US, WAKE_US))
    points[2] = replace(points[2], cpu_share=0.9)
    assert cpu_line(points, 1, None) == pytest.approx((SERVICE_US, WAKE_US), rel=0.3)
    assert cpu_line(points, 1, 1e5) == pytest.approx((SERVICE_US, WAKE_US))
    assert cpu_line(points[:2], 1, None) is None


def test_points_at_nearly_one_load_do_not_separate_wake_up_and_service_time() -> None:
    """One per cent of noise on CPU time: a line over all loads has both ends, one over 3 % none."""
    signs = (1, -1, 1, 1, -1, -1, 1, -1, 1)

    def ranges(*rates: float) -> dict[str, bool]:
        exact = _points(*rates)
        noisy = [
            replace(p, cpu_share=(p.cpu_share or 0) * (1 + 0.01 * sign))
            for p, sign in zip(exact, signs, strict=False)
        ]
        result = line_ranges(noisy, cpu_line(noisy, 1, None), 1, None)
        return {r.name: r.is_identified for r in result}

    assert ranges(*(k * 1e4 for k in range(1, 10))) == {"service_us": True, "wake_us": True}
    assert ranges(*(3e4 + k * 1e2 for k in range(9)))["wake_us"] is False
    assert line_ranges(_points(), None, 1, None) == ()
    (wake,) = line_ranges(_points(), (SERVICE_US, WAKE_US), 1, 1e5)
    assert (wake.low, wake.high) == pytest.approx((WAKE_US, WAKE_US))


def test_a_load_is_shared_by_the_workers_and_points_without_cpu_time_take_no_part() -> None:
    """Two workers at 20k/s are each what one is at 10k/s."""
    points = [replace(p, rate_rps=2 * p.rate_rps) for p in _points()]
    blind = [replace(points[0], cpu_share=share) for share in (None, 0.0, 1.0)]
    assert cpu_line([*blind, *points], 2, None) == pytest.approx((SERVICE_US, WAKE_US))
    assert cpu_line([*points, *blind], 2, 2e5) == pytest.approx((SERVICE_US, WAKE_US))
    assert cpu_line(points[:3], 2, None) is not None
    assert cpu_line([*points[:2], *blind], 2, None) is None


def test_costs_are_not_negative() -> None:
    """Requests that cost more the busier it is: no wake-up; with a peak too low, none either."""
    dear = [
        replace(p, cpu_share=p.rate_rps * 1e-6 * us)
        for p, us in zip(_points(1e4, 2e4, 3e4), (8.0, 10.0, 12.0), strict=True)
    ]
    assert cpu_line(dear, 1, None) == pytest.approx((10.0, 0.0))
    assert cpu_line(dear, 1, 5e4) == pytest.approx((20.0, 0.0))
    (wake,) = line_ranges(dear, (20.0, 0.0), 1, 5e4)
    assert (wake.low, wake.high) == (0.0, 0.0)
    # 10, 6 and 4.5 µs at 10, 12 and 13.5 %: no service time is left for so steep a line.
    shares = (0.1, 0.12, 0.135)
    exact = _points(1e4, 2e4, 3e4)
    steep = [replace(p, cpu_share=share) for p, share in zip(exact, shares, strict=True)]
    assert cpu_line(steep, 1, None) is None


def test_the_range_of_a_wake_up_is_what_the_points_differ_by() -> None:
    exact = _points(1e4, 2e4, 3e4)
    idle = [1 - (p.cpu_share or 0) for p in exact]
    shares = [
        p.rate_rps / 1e6 * (SERVICE_US + wake * (1 - u))
        for p, wake, u in zip(exact, (2.0, 3.0, 5.0), (1 - i for i in idle), strict=True)
    ]
    points = [replace(p, cpu_share=share) for p, share in zip(exact, shares, strict=True)]
    wakes = [
        (s / p.rate_rps * 1e6 - SERVICE_US) / (1 - s) for p, s in zip(exact, shares, strict=True)
    ]
    (result,) = line_ranges(points, (SERVICE_US, 3.0), 1, 1e5)
    assert result.name == "wake_us"
    assert (result.low, result.high) == pytest.approx((min(wakes), max(wakes)))


def test_the_line_s_end_is_known_to_what_its_slope_leaves() -> None:
    """95 % of the slope by Theil and Sen; the steepest wake-up leaves the least service."""
    noise = (1.02, 0.99, 1.01, 0.98, 1.0, 1.015)
    points = [
        replace(p, cpu_share=(p.cpu_share or 0) * n)
        for p, n in zip(_points(1e4, 2e4, 3e4, 4e4, 5e4, 6e4), noise, strict=True)
    ]
    idle = np.array([1 - (p.cpu_share or 0) for p in points])
    cost = np.array([(p.cpu_share or 0) / p.rate_rps * 1e6 for p in points])
    fit = stats.theilslopes(cost, idle, alpha=0.95)
    service, wake = line_ranges(points, cpu_line(points, 1, None), 1, None)
    assert (service.name, wake.name) == ("service_us", "wake_us")
    assert (wake.low, wake.high) == pytest.approx((max(0, fit.low_slope), fit.high_slope))
    ends = [float(np.median(cost - slope * idle)) for slope in (wake.high, wake.low)]
    assert (service.low, service.high) == pytest.approx(ends)
    assert service.low < service.high


def test_a_service_of_less_than_a_microsecond_is_one() -> None:
    """0.4 µs and 3 for a wake-up: u = λ(s + w(1 − u))."""
    points = [replace(p, cpu_share=p.rate_rps * 3.4 / (1e6 + 3 * p.rate_rps)) for p in _points()]
    assert cpu_line(points, 1, None) == pytest.approx((0.4, 3.0))
