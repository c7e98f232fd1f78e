"""Mean and quantiles of a series, each as far as its file carries it.

From single requests or a histogram: by ranks, with an interval (M10); where the order is known,
dependence between requests widens it (M9). A number that only the tool printed stays as it is and
has no interval. No number is made from several percentiles.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sojourn import quantiles as all_quantiles
from sojourn.half_width import COVERAGE
from sojourn.importers.series import Series
from sojourn.stats import independence, quantiles
from sojourn.stats.independence import Cut
from sojourn.stats.interval import Estimate, Interval
from sojourn.stats.times import Times
from sojourn.text.numbers import percentile

MEAN_WIDTH = 0.01  # of bins, as a share of the mean: of wider ones the tool's own is better
PRINTED = "printed by the tool, which gives no interval"
NOT_THERE = "not in the file"
NONE = "no request has a time"


def of(series: Series) -> tuple[Estimate, ...]:
    """The mean, then every quantile, lowest first."""
    cut = independence.batches(series.slices)
    return tuple(_one(series, q, cut) for q in (None, *all_quantiles.ALL))


def _one(series: Series, q: float | None, cut: Cut | None) -> Estimate:
    if series.times is None or not series.times.n:
        return _stated(series, q)
    if q is None and None in series.stated and _width(series.times) > MEAN_WIDTH:
        return _stated(series, None)
    return _computed(series.times, q, cut)


def _width(times: Times) -> float:
    """Mean width of the bins as a share of the mean time."""
    middle = float(np.dot(times.lo_ns + times.hi_ns, times.count)) / 2
    return _width_ns(times) * times.finite / middle if middle else 0.0


def _width_ns(times: Times) -> float:
    """Mean width of the bins of finite times."""
    return float(np.dot(times.hi_ns - times.lo_ns, times.count)) / max(1, times.finite)


def _computed(times: Times, q: float | None, cut: Cut | None) -> Estimate:
    ratio = 1.0
    if cut is not None:
        ratio = independence.widened(independence.of_cut(cut, q), COVERAGE)
    if q is not None:
        return quantiles.estimate(times, q, correlation=ratio)
    made = quantiles.mean_estimate(times, correlation=ratio)
    if made.interval is None:
        return made
    half = _width_ns(times) / 2  # each time may be at either edge of its bin
    ends = Interval(lo=max(0.0, made.interval.lo - half), hi=made.interval.hi + half)
    return replace(made, interval=ends)


def _stated(series: Series, q: float | None) -> Estimate:
    value, n = series.stated.get(q), series.stated_over or series.requests
    estimate = Estimate(
        q=q,
        value=value,
        interval=None,
        across_restarts=None,
        requests=n or 0,
        effective=float(n or 0),
        refused="" if value is not None else NOT_THERE,
    )
    if n == 0:  # tools print zeros then, which are no times
        return replace(estimate, value=None, refused=NONE)
    if q is None or value is None or n is None:
        return estimate
    needed = quantiles.smallest_sample(q)
    if n >= needed:
        return estimate
    why = f"too few requests: {percentile(q)} needs {needed:,}, there are {n:,}"
    return replace(estimate, value=None, refused=why)


def basis(series: Series, estimate: Estimate) -> str:
    """What an estimate rests on, in a few words; why there is none."""
    if estimate.value is None:
        return estimate.refused
    if estimate.interval is None:
        return PRINTED
    if not series.slices:
        return f"{estimate.requests:,} requests, taken as independent"
    return f"{estimate.requests:,} requests that count as {estimate.effective:,.0f}"
