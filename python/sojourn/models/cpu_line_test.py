from dataclasses import replace

import pytest

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


def test_points_at_nearly_one_load_do_not_tell_a_wake_up_from_a_service_time() -> None:
    """One per cent of noise on CPU time: a line over all loads has both ends, one over 3 % none."""
    signs = (1, -1, 1, 1, -1, -1, 1, -1, 1)

    def ranges(*rates: float) -> dict[str, bool]:
        exact = _points(*rates)
        noisy = [replace(p, cpu_share=(p.cpu_share or 0) * (1 + 0.01 * sign))
                 for p, sign in zip(exact, signs, strict=False)]  # fmt: skip
        found = line_ranges(noisy, cpu_line(noisy, 1, None), 1, None)
        return {r.name: r.is_identified for r in found}

    assert ranges(*(k * 1e4 for k in range(1, 10))) == {"service_us": True, "wake_us": True}
    assert ranges(*(3e4 + k * 1e2 for k in range(9)))["wake_us"] is False
    assert line_ranges(_points(), None, 1, None) == ()
    (wake,) = line_ranges(_points(), (SERVICE_US, WAKE_US), 1, 1e5)
    assert (wake.low, wake.high) == pytest.approx((WAKE_US, WAKE_US))
