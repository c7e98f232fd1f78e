"""A smooth curve through the runs' dots, and the load at which it crosses the QoS bound.

LOWESS with span 0.6 and degree 1 (P9): at each load a straight line is fitted to the nearest 60 %
of the runs, weighted by tricube distance. Two choices the papers leave open:

- The fit is made to the logarithm of the time. Tails grow by factors, the axis is logarithmic, and
  on a linear scale the last point alone would bend the curve below the knee.
- No robustness iterations (`it=0`). They would take the steep rise near saturation, which is the
  finding, for outliers. A run that cannot be believed is left out by its self-check, not by its
  latency.

Without iterations the curve is linear in the data, so it is one matrix times the dots, and the
bootstrap is another. The interval is a wild bootstrap over runs: each dot moves by its own
residual times a random sign-symmetric weight. Where a load was repeated the residual is taken from
the mean of its repeats (pure error), else from the curve, corrected for leverage.

**Its bias.** A span of 0.6 smooths over the knee: on ten loads of an exact M/M/1 it crosses a bound
that is first exceeded at 92 % of capacity at 86 %, and no bootstrap shows that. So the interval of
a crossing also spans that of straight lines between the loads' own means, made monotone. They are
drawn on two scales, for between two loads nothing was measured: on the logarithm, where a queue's
curve lies below its chord and is crossed too early, and on the reciprocal, where M/M/1 is a line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from sojourn.stats.interval import Interval
from sojourn.stats.method import Method
from sojourn.stats.times import Floats

METHOD = Method(
    name="lowess",
    about="LOWESS(0.6, 1) of the runs and the load at which it crosses the QoS bound",
    ids=("P9", "M18"),
    source="Cleveland (1979), JASA 74; Wu (1986), Ann. Statist. 14 (wild bootstrap)",
)

SPAN = 0.6
GRID = 181
RESAMPLES = 1000
LOADS_NEEDED = 4  # distinct loads: fewer leave the nearest 60 % without a line through them


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The curve and what bootstrap made of it.

    Attributes:
        x: loads, ascending, shape (g,).
        y: time at each, ns, shape (g,).
        resampled: the same for each resample, ns, shape (r, g).
        loads: the distinct loads, shape (m,).
        means: geometric mean over the runs at each, as measured and for each resample, ns,
            shape (1 + r, m).
    """

    x: Floats
    y: Floats
    resampled: Floats
    loads: Floats
    means: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """Where the curve first exceeds the bound.

    Attributes:
        at: load; None if the curve stays below.
        interval: of the load; an end of it that lies outside the measured loads is their end.
        is_open: the upper end was not reached within the measured loads.
    """

    at: float | None
    interval: Interval
    is_open: bool


def fit(load: Floats, time_ns: Floats, *, seed: int = 18) -> Curve | None:
    """The curve through runs at `load` that took `time_ns`; None with too few loads.

    The curve ends below the lowest load at which at least half of the runs have an infinite time:
    the runs that did well there, and at higher loads, are no curve. Fewer of these are left out.
    """
    load, time_ns = np.asarray(load, float), np.asarray(time_ns, float)
    retained = np.isfinite(time_ns) & (time_ns > 0) & (load < _end(load, time_ns))
    x, order = np.asarray(load, float)[retained], np.argsort(load[retained], kind="stable")
    x, y = x[order], np.log(np.asarray(time_ns, float)[retained][order])
    if len(np.unique(x)) < LOADS_NEEDED:
        return None
    grid = np.linspace(x[0], x[-1], GRID)
    loads, place = np.unique(x, return_inverse=True)
    is_at = np.eye(len(loads))[place]
    smooth, at_loads = _matrix(x, grid), _matrix(x, loads)
    fitted, leverage = (at_loads @ (y @ is_at))[place], np.diag(at_loads)[place]
    error = _residuals(x, y, fitted, leverage)
    weight = np.random.default_rng(seed).standard_normal((RESAMPLES, len(x)))
    moved = y + weight * error
    return Curve(
        x=grid,
        y=np.exp(smooth @ (y @ is_at)),
        resampled=np.exp((moved @ is_at) @ smooth.T),
        loads=loads,
        means=np.exp(np.vstack([y, moved]) @ is_at / np.bincount(place)),
    )


def _end(load: Floats, time_ns: Floats) -> float:
    """The lowest load of which the median run is infinite; inf: none is."""
    is_lost, is_run = np.isposinf(time_ns), ~np.isnan(time_ns)
    loads = [
        at for at in np.unique(load) if 2 * is_lost[load == at].sum() >= is_run[load == at].sum()
    ]
    return min((float(at) for at in loads if is_lost[load == at].any()), default=math.inf)


def crossing(curve: Curve, bound_ns: float, *, confidence: float = 0.95) -> Crossing:
    """The lowest load at which the curve is above `bound_ns`, with its interval.

    The interval holds both bootstrap intervals, that of the curve and that of straight lines
    between the loads (see the module on bias).
    """
    end = float(curve.loads[-1])
    at = _first_above(curve.x, curve.y, bound_ns)
    rising = [np.exp(scipy.optimize.isotonic_regression(np.log(row)).x) for row in curve.means]
    results = [
        np.array([_first_above(curve.x, row, bound_ns) for row in curve.resampled]),
        np.array([_first_above(curve.loads, row, bound_ns) for row in rising]),
        np.array([_first_above(curve.loads, row, bound_ns, is_reciprocal=True) for row in rising]),
    ]
    tail = (1 - confidence) / 2
    ends = [
        np.quantile(np.minimum(loads, end), (tail, 1 - tail), method="higher") for loads in results
    ]
    return Crossing(
        at=None if math.isinf(at) else at,
        interval=Interval(lo=float(min(lo for lo, _ in ends)), hi=float(max(hi for _, hi in ends))),
        is_open=any(bool(np.isinf(loads).mean() > tail) for loads in results),
    )


def _matrix(x: Floats, grid: Floats) -> Floats:
    """What a dot at each load adds to the curve on the grid, shape (grid, loads).

    It is statsmodels' fit of one dot of height one. Dots at one load weigh alike, for weights
    follow from distances: the fit of one says it for all, however often a load was repeated.
    """
    from statsmodels.nonparametric.smoothers_lowess import (  # noqa: PLC0415  # 0.5 s to load
        lowess,
    )

    # lowess without `xvals` returns the fit at x itself and demands that x varies: with `xvals`
    # it never skips points (delta = 0), and with it=0 it is linear.
    units = np.zeros((len(np.unique(x)), len(x)))
    units[np.arange(len(units)), np.unique(x, return_index=True)[1]] = 1
    span = _span(x)
    return np.stack([lowess(unit, x, frac=span, it=0, xvals=grid) for unit in units], axis=1)


def _span(x: Floats) -> float:
    """0.6, or what it takes to reach over three loads where dots are many on few loads."""
    loads, repeats = np.unique(x, return_counts=True)
    return max(SPAN, min(1.0, (3 * int(repeats.max()) + 1) / len(x) if len(loads) > 3 else 1.0))


def _residuals(x: Floats, y: Floats, fitted: Floats, leverage: Floats) -> Floats:
    """Size of each dot's error: pure error where its load was repeated, else from the curve.

    Two or three repeats may agree by luck, so no load's error counts as less than that of all
    repeated loads together.
    """
    error = np.abs(y - fitted) / (1 - np.clip(leverage, 0, 0.9))
    groups = [same for load in np.unique(x) if (same := x == load).sum() > 1]
    if not groups:
        return error
    freedom = sum(int(same.sum()) - 1 for same in groups)
    pooled = math.sqrt(sum(((y[same] - y[same].mean()) ** 2).sum() for same in groups) / freedom)
    for same in groups:
        error[same] = max(pooled, y[same].std(ddof=1))
    return error


def _first_above(x: Floats, y: Floats, bound: float, *, is_reciprocal: bool = False) -> float:
    """Load at which a line through the points first rises above `bound`; inf if it does not.

    The line is straight on the logarithm of y, or on its reciprocal.
    """
    above = np.flatnonzero(y > bound)
    if above.size == 0:
        return math.inf
    i = int(above[0])
    if i == 0:
        return float(x[0])
    low, high = float(y[i - 1]), float(y[i])
    if is_reciprocal:
        share = (1 / low - 1 / bound) / (1 / low - 1 / high)
    else:
        share = math.log(bound / low) / math.log(high / low)
    return float(x[i - 1] + share * (x[i] - x[i - 1]))
