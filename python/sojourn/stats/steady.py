"""Whether a run was in steady state: no warm-up left in it, no trend, no wandering.

A queue that is offered more than it can serve has no steady state; its quantiles grow for as long
as one measures. Such a run is `unknown (unstable)`, never averaged (M8). Three tests:

- `mser5` finds how much of the start still differs from the rest.
- Mann-Kendall finds a trend in the slices' p50 and p99. Slices of a loaded queue depend on each
  other, so the variance is corrected (Hamed and Rao). A trend also has to matter: over the run it
  must move the quantile by more than `DRIFT_MAX`, for with enough slices any drift is significant.
- Augmented Dickey-Fuller has to reject a unit root, on series of 60 slices and more. On shorter
  ones it says nothing: on white noise of 20 points it fails to reject in every second run
  (simulated, statsmodels 0.15, BIC), at 60 points in fewer than one of a hundred.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats
from statsmodels.tsa.stattools import adfuller

from sojourn.stats.method import Method
from sojourn.stats.times import Floats
from sojourn.text.numbers import percent

METHOD = Method(
    name="steady",
    about="steady state: MSER-5, Mann-Kendall with Hamed-Rao correction, Dickey-Fuller",
    ids=("M8",),
    source="White (1997), Simulation 69(6); Hamed and Rao (1998), J. Hydrology 204; "
    "Dickey and Fuller (1979), JASA 74",
)

TREND_NEEDS = 10  # slices; with fewer no trend can be told from noise at 1 %
TREND_LEVEL = 0.01  # over all series of a run together
DRIFT_MAX = 0.10  # of the median, over the run: the width that M15 asks of an interval
UNIT_ROOT_NEEDS = 60
UNIT_ROOT_LEVEL = 0.05
WARM_MAX = 0.10  # share by which the mean of the start may differ from the rest
COLD_BATCHES = 20
COLD_SIGMA = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Steadiness:
    """The judgement on one run.

    Attributes:
        is_steady: None if the run is too short to tell.
        reasons: why not, in words.
    """

    is_steady: bool | None
    reasons: tuple[str, ...]


def judge(series_ns: Mapping[str, Floats]) -> Steadiness:
    """Trend and wandering of some series, such as p50 and p99 per slice, ns, in order of time."""
    usable = {name: values for name, values in series_ns.items() if len(values) >= TREND_NEEDS}
    if not usable:
        return Steadiness(is_steady=None, reasons=())
    reasons = []
    for name, values in usable.items():
        drift, p_value = trend(values)
        if p_value < TREND_LEVEL / len(usable) and abs(drift) > DRIFT_MAX:
            size = "without bound" if math.isinf(drift) else f"by {drift:+.0%}"
            reasons.append(f"unstable: {name} moves {size} over the run (Mann-Kendall)")
        elif has_unit_root(values):
            reasons.append(f"unstable: {name} wanders without a level (Dickey-Fuller)")
    return Steadiness(is_steady=not reasons, reasons=tuple(reasons))


def trend(values: Floats) -> tuple[float, float]:
    """Mann-Kendall: how far the series moves over its length, as a share of its median; p-value.

    `inf` ranks highest. The move is Sen's slope times the length.
    """
    n = len(values)
    rank = stats.rankdata(values)
    if np.ptp(rank) == 0:
        return 0.0, 1.0
    tau = stats.kendalltau(np.arange(n), rank, method="asymptotic")
    z = float(stats.norm.isf(tau.pvalue / 2)) / math.sqrt(_variance_factor(rank))
    p_value = 2 * float(stats.norm.sf(z))
    if not np.isfinite(values).all():
        return math.copysign(math.inf, tau.statistic), p_value
    slope = float(stats.theilslopes(values).slope)
    return slope * (n - 1) / float(np.median(values)), p_value


def _variance_factor(rank: Floats) -> float:
    """Hamed and Rao: how much autocorrelation raises the variance of Mann-Kendall's S."""
    n = len(rank)
    slope = float(stats.theilslopes(rank).slope)
    rest = stats.rankdata(rank - slope * np.arange(n))
    rest = rest - rest.mean()
    if not rest.any():
        return 1.0
    lag = np.arange(1, n - 2)
    rho = np.array([np.dot(rest[:-k], rest[k:]) for k in lag]) / np.dot(rest, rest)
    rho[np.abs(rho) < float(stats.norm.ppf(0.975)) / math.sqrt(n)] = 0
    weight = (n - lag) * (n - lag - 1) * (n - lag - 2)
    return max(1.0, 1 + 2 / (n * (n - 1) * (n - 2)) * float(np.dot(weight, rho)))


def has_unit_root(values: Floats) -> bool:
    """Whether a unit root cannot be rejected; False where the test has no power to do so."""
    if len(values) < UNIT_ROOT_NEEDS or not np.isfinite(values).all() or np.ptp(values) == 0:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of statsmodels: the form of its result changes
        return float(adfuller(values, autolag="BIC")[1]) >= UNIT_ROOT_LEVEL


def mser5(values: Floats, *, batch: int = 5) -> int:
    """How many values to drop at the start so that the mean of the rest is surest.

    Means of `batch` values are formed; the cut minimises the standard error of what is left. Only
    the first half is searched: a minimum at its end means that the run is too short.
    """
    whole = np.asarray(values[: len(values) // batch * batch], float)
    batches = whole.reshape(-1, batch).mean(axis=1)
    m = len(batches)
    if m < 4:
        return 0
    left = m - np.arange(m // 2 + 1)
    total = np.cumsum(batches[::-1])[::-1][: m // 2 + 1]
    squares = np.cumsum((batches**2)[::-1])[::-1][: m // 2 + 1]
    error = (squares - total**2 / left) / left**2
    return batch * int(np.argmin(error))


def _dependent(means: Floats) -> float:
    """By how much a mean of `means` errs more than their spread says: an AR(1) process's factor."""
    off = means - means.mean()
    whole = float(np.dot(off, off))
    rho = float(np.dot(off[1:], off[:-1])) / whole if whole else 0.0
    rho = min(max(rho, 0.0), 0.9)
    return math.sqrt((1 + rho) / (1 - rho))


def cold_start(values: Floats, *, batch: int = 5) -> str:
    """Why the warm-up was too short: what MSER-5 would drop differs from the rest; "" if not.

    A queue's own ups and downs look like a start too. So the difference also has to exceed
    `COLD_SIGMA` standard errors, by the means of twenty batches; the cut was chosen after looking,
    hence more than the usual two.

    Args:
        values: finite sojourn times in order of intended arrival, ns; or their means per slice.
        batch: values of which MSER takes the mean; 1 for what are means already.
    """
    cut = mser5(values, batch=batch)
    few = len(values) < 2 * COLD_BATCHES  # all lost, or nearly so: nothing to compare
    if few or cut < len(values) / COLD_BATCHES * 2:  # a shorter start hardly moves a quantile
        return ""
    start, rest = float(np.mean(values[:cut])), float(np.mean(values[cut:]))
    size = len(values) // COLD_BATCHES
    late = values[cut : cut + (len(values) - cut) // size * size].reshape(-1, size).mean(axis=1)
    error = float(late.std(ddof=1)) * math.sqrt(size / cut + size / (len(values) - cut))
    error *= _dependent(late)
    if abs(start / rest - 1) <= WARM_MAX or abs(start - rest) <= COLD_SIGMA * error:
        return ""
    return (
        f"cold start: the first {percent(cut / len(values))} of the run took "
        f"{start / rest:.2f} times as long as the rest: lengthen warmup_s (MSER-5)"
    )
