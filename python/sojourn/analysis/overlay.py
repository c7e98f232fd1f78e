"""The ideal queue drawn beside a real service, and the load at which the two part (L4, L5).

Which μ? The server's own pace when it never idles: max RPS, divided by n workers. The mean at low
load is not used for it: most of that is network and wake-up, during which the server can serve
others. It comes in as a constant instead: what a lone request spends outside the ideal queue.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sojourn.findings.load_point import Line, LoadPoint
from sojourn.stats import queueing
from sojourn.text.numbers import percent, percentile
from sojourn.units import show_ns

APART = 1.5  # measured over ideal: beyond restart spread and the choice of μ
_GRID = np.linspace(0.02, 0.99, 98)


def lines(
    points: Sequence[LoadPoint], max_rps: float | None, workers: int | None, q: float
) -> list[Line]:
    """M/M/n mean and quantile against load; none where n, max RPS or a low load is not known."""
    low = _lowest(points)
    if max_rps is None or workers is None or low is None or low.mean.value is None:
        return []
    service = workers / max_rps * 1e9
    outside = _outside(low, service, workers)
    model = f"M/M/{workers}"
    about = (
        f"{model}, exponential service, {workers} server(s), μ = max RPS / {workers} "
        f"(S = {show_ns(service)}); plus {show_ns(outside)} that a request at "
        f"{percent(low.fraction)} load spends outside the queue (PAPERS L4, L5)"
    )

    def line(name: str, values: Sequence[float]) -> Line:
        return Line(
            name=f"{model} {name}",
            about=about,
            fraction=tuple(float(f) for f in _GRID),
            value_ns=tuple(outside + value for value in values),
        )

    means = [queueing.mmn_mean(workers, float(f), service) for f in _GRID]
    tails = [queueing.mmn_quantile(q, workers, float(f), service) for f in _GRID]
    return [line("mean", means), line(percentile(q), tails)]


def parts_at(points: Sequence[LoadPoint], model: Sequence[Line], q: float) -> float | None:
    """Lowest load from which the measured quantile stays above 1.5 times the ideal; None: never."""
    ideal = next((line for line in model if line.name.endswith(f" {percentile(q)}")), None)
    if ideal is None:
        return None
    fraction = None
    for point in sorted(points, key=lambda p: p.fraction, reverse=True):
        value = next((e.value for e in point.quantiles if e.q == q), None)
        if value is None or point.fraction > ideal.fraction[-1]:
            continue
        if value <= APART * float(np.interp(point.fraction, ideal.fraction, ideal.value_ns)):
            break
        fraction = point.fraction
    return fraction


def _lowest(points: Sequence[LoadPoint]) -> LoadPoint | None:
    known = [p for p in points if p.mean.value is not None and p.fraction < 1]
    return min(known, key=lambda p: p.fraction, default=None)


def _outside(low: LoadPoint, service: float, workers: int) -> float:
    """Mean at the lowest load less the ideal queue's there; never negative."""
    return max(0.0, (low.mean.value or 0.0) - queueing.mmn_mean(workers, low.fraction, service))
