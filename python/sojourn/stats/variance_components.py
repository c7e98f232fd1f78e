"""How scatter divides: between starts, within a run, and drift.

A window j of a run i has the value

    y_ij = mean + slope * t_i + start_i + window_ij

where t_i is the time of the run, and starts and windows are drawn independently. The components are
the mean squares' (analysis of variance); for equal runs these are the estimates of restricted
maximum likelihood, where none is negative. Runs of unlike length enter by their mean number of
windows, so they must not differ by much.

Intervals: for the windows, Student's t on the logarithm of their mean square, as a ratio over runs:
a stall is in few windows, so they are neither normal nor free of each other, while runs are
independent. For the starts the modified large-sample interval of a difference of mean squares;
Student's t for the slope.

Source: Searle, Casella, McCulloch, Variance Components (1992), chapter 3; Burdick and Graybill,
Confidence Intervals on Variance Components (1992), section 3.3; Graybill and Wang, Confidence
intervals on nonnegative linear combinations of variances, JASA 75 (1980); Cochran, Sampling
Techniques (1977), section 6.4, on ratios.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from sojourn.half_width import COVERAGE, student
from sojourn.stats.interval import Interval
from sojourn.stats.method import Method
from sojourn.stats.times import Floats

METHOD = Method(
    name="variance_components",
    about="how noise divides into start to start, within a run, and drift",
    ids=("M15", "M16"),
    source="Searle, Casella, McCulloch (1992); Burdick and Graybill (1992)",
)
RUNS_LEAST = 5  # two are the line's, three tell a scatter
WINDOWS_LEAST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """A standard deviation, in the unit of the values; its interval begins at 0 or above."""

    sigma: float
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """How the scatter of one window divides.

    Attributes:
        starts: between runs, each from a fresh start.
        windows: within a run.
        slope: change for each unit of time, with its interval.
        drift: what the slope makes of the scatter over all runs.
        runs: how many.
        per_run: windows of a run, mean.
    """

    starts: Component
    windows: Component
    slope: float
    slope_interval: Interval
    drift: Component
    runs: int
    per_run: float


def components(runs: Sequence[Sequence[float]], times: Sequence[float]) -> Components | None:
    """The components; None with fewer than five runs of two windows each.

    Args:
        runs: values of the windows of each run, such as logarithms of times; nan: not known.
        times: of the runs, in any unit; they must not all be equal.
    """
    values = [np.asarray(run, float)[np.isfinite(run)] for run in runs]
    enough = [len(run) >= WINDOWS_LEAST for run in values]
    at = np.array([time for time, is_enough in zip(times, enough, strict=True) if is_enough])
    values = [run for run, is_enough in zip(values, enough, strict=True) if is_enough]
    if len(values) < RUNS_LEAST or np.ptp(at) == 0:
        return None
    sizes = np.array([len(run) for run in values])
    means = np.array([run.mean() for run in values])
    free_runs, free_windows = len(values) - 2, int(sizes.sum()) - len(values)
    squares = np.array([float(((run - run.mean()) ** 2).sum()) for run in values])
    of_windows = float(squares.sum()) / free_windows
    per_run = float(len(values) / np.sum(1 / sizes))  # harmonic: of unweighted means
    slope, error, of_runs = _line(at, means, free_runs)
    half = student(free_runs) * error
    ends = Interval(lo=slope - half, hi=slope + half)
    return Components(
        starts=between(per_run * of_runs, of_windows, (free_runs, free_windows), per_run),
        windows=within(squares, sizes - 1.0),
        slope=slope,
        slope_interval=ends,
        drift=_drift(slope, ends, float(at.std())),
        runs=len(values),
        per_run=per_run,
    )


def _line(at: Floats, means: Floats, freedom: int) -> tuple[float, float, float]:
    """Slope of the runs' means, its standard error, and the mean square about the line."""
    centred = at - at.mean()
    square = float((centred**2).sum())
    slope = float((centred * means).sum()) / square
    rest = means - means.mean() - slope * centred
    of_runs = float((rest**2).sum()) / freedom
    return slope, math.sqrt(of_runs / square), of_runs


def _drift(slope: float, ends: Interval, spread: float) -> Component:
    """The scatter of a line over the times of the runs."""
    sizes = (abs(ends.lo) * spread, abs(ends.hi) * spread)
    low = 0.0 if ends.lo <= 0 <= ends.hi else min(sizes)
    return Component(sigma=abs(slope) * spread, interval=Interval(lo=low, hi=max(sizes)))


def within(squares: Floats, freedom: Floats) -> Component:
    """The component of the windows: a ratio of sums over runs.

    Args:
        squares: sum of squares about the mean of each run.
        freedom: its degrees of freedom.
    """
    square = float(squares.sum() / freedom.sum())
    if square <= 0:
        return Component(sigma=0.0, interval=Interval(lo=0.0, hi=0.0))
    runs = len(squares)
    rest = squares - square * freedom
    error = math.sqrt(runs / (runs - 1) * float((rest**2).sum())) / float(freedom.sum()) / square
    half = student(runs - 1) * error / 2  # of a root
    sigma = math.sqrt(square)
    ends = Interval(lo=sigma * math.exp(-half), hi=sigma * math.exp(half))
    return Component(sigma=sigma, interval=ends)


def between(
    of_runs: float, of_windows: float, freedom: tuple[int, int], per_run: float
) -> Component:
    """The component of the starts: (mean square of runs - that of windows) / windows of a run.

    Of any two levels that are nested, or crossed with what both are cleared of, it is the same.

    Args:
        of_runs: mean square between runs, of single windows.
        of_windows: mean square within runs.
        freedom: degrees of freedom of both.
        per_run: windows of a run.
    """
    tail = (1 - COVERAGE) / 2
    n1, n2 = freedom
    upper, lower = (float(scipy.stats.f.ppf(share, n1, n2)) for share in (1 - tail, tail))
    g1, g2 = 1 - 1 / _over_endless(1 - tail, n1), 1 - 1 / _over_endless(1 - tail, n2)
    h1, h2 = 1 / _over_endless(tail, n1) - 1, 1 / _over_endless(tail, n2) - 1
    g12 = ((upper - 1) ** 2 - (g1 * upper) ** 2 - h2**2) / upper
    h12 = ((1 - lower) ** 2 - (h1 * lower) ** 2 - g2**2) / lower
    product = of_runs * of_windows
    down = (g1 * of_runs) ** 2 + (h2 * of_windows) ** 2 + g12 * product
    up = (h1 * of_runs) ** 2 + (g2 * of_windows) ** 2 + h12 * product
    middle = of_runs - of_windows

    def sigma(square: float) -> float:
        return math.sqrt(max(0.0, square) / per_run)

    low, high = middle - math.sqrt(max(0.0, down)), middle + math.sqrt(max(0.0, up))
    return Component(sigma=sigma(middle), interval=Interval(lo=sigma(low), hi=sigma(high)))


def _over_endless(share: float, freedom: int) -> float:
    """Quantile of F with that freedom above and an endless one below."""
    return float(scipy.stats.chi2.ppf(share, freedom)) / freedom
