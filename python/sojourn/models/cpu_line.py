"""Service time and cost of a wake-up from CPU time: the straight line of `calibrate`.

A worker that is busy for a share u of the time spends per request

    u / λ = service + wake · (1 − u)          by PASTA

so its two ends are the costs on an idle machine and at saturation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from sojourn.models.identify import Range
from sojourn.models.points import Measured

POINTS_MIN = 3


def cpu_line(
    points: Sequence[Measured], workers: int, peak_rps: float | None
) -> tuple[float, float] | None:
    """(service, wake) in µs; None without a peak and with CPU time of fewer than three points.

    With a known peak the line ends there: service = workers / peak. Where no CPU time is known,
    wake is 0 and a part of the halt. Without a peak it is the median of the slopes between all
    pairs of points (Theil 1950, Sen 1968): a disturbed point does not decide.
    """
    idle, per_request = _per_request(points, workers)
    if peak_rps is not None:
        service = workers / peak_rps * 1e6
        wakes = (per_request - service) / idle
        return service, max(0.0, float(np.median(wakes))) if knows_wake(points, workers) else 0.0
    if len(idle) < POINTS_MIN:
        return None
    line = scipy.stats.theilslopes(per_request, idle)
    wake = max(0.0, float(line.slope))
    service = float(np.median(per_request - wake * idle))
    return (service, wake) if service > 0 else None


def knows_wake(points: Sequence[Measured], workers: int) -> bool:
    """Whether CPU time of enough points separates the wake-up from the halt."""
    return len(_per_request(points, workers)[0]) >= POINTS_MIN


def line_ranges(
    points: Sequence[Measured],
    line: tuple[float, float] | None,
    workers: int,
    peak_rps: float | None,
) -> tuple[Range, ...]:
    """95 % interval of the slope, and what it leaves for the line's end at a full CPU.

    With a known peak that end is given, and the wake-up is known to what the points differ by.
    """
    if line is None or not knows_wake(points, workers):
        return ()
    idle, per_request = _per_request(points, workers)
    if peak_rps is not None:
        wakes = np.maximum((per_request - line[0]) / idle, 0.0)
        return (Range(name="wake_us", low=float(wakes.min()), high=float(wakes.max())),)
    slopes = scipy.stats.theilslopes(per_request, idle, alpha=0.95)
    low, high = (max(0.0, float(end)) for end in (slopes.low_slope, slopes.high_slope))
    services = [max(0.0, float(np.median(per_request - wake * idle))) for wake in (high, low)]
    return (
        Range(name="service_us", low=services[0], high=services[1]),
        Range(name="wake_us", low=low, high=high),
    )


def _per_request(
    points: Sequence[Measured], workers: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Idle share and µs of CPU per request, of the points that know their CPU time."""
    known = [p for p in points if p.cpu_share is not None and 0 < p.cpu_share < 1]
    busy = np.array([p.cpu_share for p in known], dtype=np.float64)
    rate = np.array([p.rate_rps for p in known], dtype=np.float64) / workers
    return 1 - busy, busy / rate * 1e6
