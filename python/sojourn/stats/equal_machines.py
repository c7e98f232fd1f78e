"""What equal machines differ by, and what holds for machines like these.

Each block measures all machines, so the number of machine m in block b is

    y_mb = mean + machine_m + block_b + run_mb

where machines, blocks and runs are drawn independently, on the scale of logarithms. Each run has a
start of its own, and its windows divide its part once more: start to start, and within a run. The
components are the mean squares' (two ways, one run a cell); where none is negative these are the
estimates of restricted maximum likelihood. They are the modified large-sample intervals of
`variance_components`.

The mean is that of the population of machines, of which M were drawn:

    var = machine / M + block / B + run / (M B)

Its half width adds Student's half widths of both independent parts in squares, with M - 1 and B - 1
degrees of freedom (Howe). Two machines leave one degree of freedom, so hardly anything is known.
By simulation it covers 94 to 98 % for a nominal 95 %. With two blocks that differ by more than runs
do it covers 92 % at the least, because their component is often estimated as 0.

One more machine's mean over blocks adds that machine's own part: (1 + 1 / M) of it. A single run
there lies wider.

Source: Searle, Casella, McCulloch, Variance Components (1992), 4.3; Burdick and Graybill,
Confidence Intervals on Variance Components (1992), 3.3; Howe, Approximate confidence limits on the
mean of X + Y where X and Y are two tabled independent random variables, JASA 69 (1974).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from sojourn.half_width import COVERAGE, student
from sojourn.stats import variance_components
from sojourn.stats.interval import Interval
from sojourn.stats.method import Method
from sojourn.stats.symmetry_bets import SCALE_LEAST
from sojourn.stats.times import Floats
from sojourn.stats.variance_components import Component, between

METHOD = Method(
    name="equal_machines",
    about="what equal machines differ by, and intervals for machines like these",
    ids=("M15", "M16"),
    source="Searle, Casella, McCulloch (1992); Burdick and Graybill (1992); Howe (1974)",
)
MACHINES_LEAST, BLOCKS_LEAST = 2, 2
RUNS_LEAST = 2  # of two machines in two blocks there are four
KNOWN_FROM = 3  # machines; two are one difference
_ENDLESS = 1_000_000  # degrees of freedom of an error that is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """What the windows of runs say of the scatter within a run.

    Attributes:
        square: mean square of windows about their run's mean.
        freedom: its degrees of freedom.
        per_run: windows of a run, harmonic mean.
        component: of one window.
    """

    square: float
    freedom: int
    per_run: float
    component: Component


@dataclass(frozen=True, slots=True, kw_only=True)
class Equal:
    """What is known of machines like these; all in the unit of the values.

    Attributes:
        mean: over the machines.
        interval: of the mean over all machines like these.
        another: where the mean over blocks of one more machine lies, with the same probability.
        machines: standard deviation from machine to machine.
        runs: from run to run on one machine; None: each machine has one number.
        starts, windows: what of that is from start to start, and of one window within a run; None:
            not known.
        count, blocks: how many machines and blocks.
    """

    mean: float
    interval: Interval
    another: Interval
    machines: Component
    runs: Component | None
    starts: Component | None
    windows: Component | None
    count: int
    blocks: int

    @property
    def is_known(self) -> bool:
        """Whether the machines' component is more than one difference."""
        return self.count >= KNOWN_FROM


def crossed(values: Floats, within: Within | None = None) -> Equal | None:
    """From all machines in all blocks; None with fewer than two of either, or an infinite number.

    Args:
        values: logarithms, shape (machines, blocks).
        within: of the same runs.
    """
    count, blocks = values.shape
    if count < MACHINES_LEAST or blocks < BLOCKS_LEAST or not np.isfinite(values).all():
        return None
    mean = float(values.mean())
    rows, columns = values.mean(axis=1) - mean, values.mean(axis=0) - mean
    rest = values - mean - rows[:, None] - columns[None, :]
    free = (count - 1) * (blocks - 1)
    # Numbers are stored in three digits, so they scatter by the last of these at the least.
    of_runs = max(float((rest**2).sum()) / free, SCALE_LEAST**2)
    of_machines = max(blocks * float((rows**2).sum()) / (count - 1), SCALE_LEAST**2)
    of_blocks = count * float((columns**2).sum()) / (blocks - 1)
    shared = max(0.0, of_blocks - of_runs) / (count * blocks)
    level = of_machines / blocks
    parts = ((student(count - 1), level / count), (student(blocks - 1), shared))
    more = ((student(count - 1), level * (1 + 1 / count)), (student(blocks - 1), shared))
    return Equal(
        mean=mean,
        interval=_about(mean, parts),
        another=_about(mean, more),
        machines=between(of_machines, of_runs, (count - 1, free), blocks),
        runs=_scatter(of_runs, free),
        starts=_starts(of_runs, free, within),
        windows=within.component if within else None,
        count=count,
        blocks=blocks,
    )


def of_estimates(values: Sequence[float], errors: Sequence[float]) -> Equal | None:
    """From one number of each machine that has an interval of its own; None with fewer than two.

    Args:
        values: logarithms, one a machine.
        errors: their standard errors.
    """
    known = np.asarray(values, float)
    if len(known) < MACHINES_LEAST or not np.isfinite([*values, *errors]).all():
        return None
    count, mean = len(known), float(known.mean())
    square = max(float(known.var(ddof=1)), SCALE_LEAST**2)
    own = float(np.mean(np.square(errors)))
    half = student(count - 1)
    return Equal(
        mean=mean,
        interval=_about(mean, ((half, square / count),)),
        another=_about(mean, ((half, square * (1 + 1 / count)),)),
        machines=between(square, own, (count - 1, _ENDLESS), 1.0),
        runs=None,
        starts=None,
        windows=None,
        count=count,
        blocks=0,
    )


def within(windows: Sequence[Sequence[float]]) -> Within | None:
    """The scatter within runs; None where a run has fewer than two windows.

    Args:
        windows: logarithms of the windows of each run.
    """
    runs = [np.asarray(run, float) for run in windows if len(run) > 1]
    if len(runs) < RUNS_LEAST or len(runs) < len(windows):
        return None
    freedom = np.array([len(run) - 1.0 for run in runs])
    squares = np.array([float(((run - run.mean()) ** 2).sum()) for run in runs])
    per_run = len(runs) / math.fsum(1 / len(run) for run in runs)
    return Within(
        square=float(squares.sum() / freedom.sum()),
        freedom=int(freedom.sum()),
        per_run=per_run,
        component=variance_components.within(squares, freedom),
    )


def _starts(of_runs: float, free: int, within: Within | None) -> Component | None:
    """What runs differ by beyond the noise of their windows."""
    if within is None:
        return None
    freedom = (free, within.freedom)
    return between(within.per_run * of_runs, within.square, freedom, within.per_run)


def _scatter(square: float, free: int) -> Component:
    """A standard deviation with its chi-square interval."""
    tail = (1 - COVERAGE) / 2
    ends = (
        math.sqrt(square * free / scipy.stats.chi2.ppf(share, free)) for share in (1 - tail, tail)
    )
    return Component(sigma=math.sqrt(square), interval=Interval(*map(float, ends)))


def _about(mean: float, parts: Sequence[tuple[float, float]]) -> Interval:
    """An interval from (Student's half width in standard errors, variance) of independent parts."""
    half = math.sqrt(math.fsum(times**2 * square for times, square in parts))
    return Interval(lo=mean - half, hi=mean + half)
