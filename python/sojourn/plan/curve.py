"""What the share of misses may look like as a function of load, before anything was measured.

The share of requests above the bound is a curve p(x) over offered load x. On a grid of loads its
logit is a floor that rises with load plus a staircase that never falls:

- *the floor*: a stall of the service or its machine puts 1/(1 − ρ) times its own length of
  requests above the bound, since its backlog has to be worked off. A service whose stalls do not
  depend on load has exactly this curve; any other has a steeper one. ρ is the load over
  `HEADROOM` × the peak, for the peak itself is measured once and moves.
- *the staircase*: rises by a Poisson number of levels a step. How steeply is a state of its own
  that changes now and then, rather to steeper than to flatter; a jump of any height is rare.
- *starts of the service* differ: one has more capacity than another. A capacity off by a ratio s
  shifts the curve by s in the logarithm of the load, and so p by slope × s: starts hardly differ
  where the curve is flat, and a great deal where it is steep. A small rest is added for drift.

Where loads below the grid were run it reaches down to these (`reaching`), in coarser steps: so near
to an idle service a step of 10 % is less of the peak than one of 2.5 % at half load. Where loads
above it were run it reaches up to these: a failure at twice the peak says nothing of 1.3 times it.

Levels and slopes are discrete, so the posterior is exact by forward–backward (`posterior`).

Source: Vratislav Polák, draft-vpolak-bmwg-plrsearch (a Bayesian fit over all trials).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from sojourn import late

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late.module("numpy")

Floats: TypeAlias = "NDArray[np.float64]"

STEP = 0.025  # of the load, between two loads of the grid
LOWEST, HIGHEST = 0.12, 1.3  # of the peak
STEP_BELOW = 0.1  # of the load, between two loads below `LOWEST`
BELOW_MOST = 40  # loads below `LOWEST`; where these do not suffice their steps are larger
ABOVE_MOST = 40  # the same above `HIGHEST`
LEVELS, LEVEL = 56, 0.3  # number and height (logit) of the staircase's levels
AT_TARGET = 22.5  # level at which the staircase alone would be at the target
SLOPES = (0.01, 0.03, 0.1, 0.3, 0.6, 1.2)  # mean rise of the logit a step
STEEPER, FLATTER = 0.04, 0.02  # chance a step that the slope changes
JUMP, JUMP_POWER = 0.03, 1.5  # chance a step of a jump, and how its height falls off
LEAVES_BOTTOM = 0.03  # chance a step that the lowest level is left for any other
HEADROOM, FULLEST = 1.15, 0.9
CAPACITY_SD = (0.01, 0.03, 0.06, 0.12)  # between starts; equally likely before anything is seen
DRIFT_SD = ((0.1, 0.5), (0.6, 0.5))  # of the logit, with its weight
LOW_FIRST = 0.15  # levels of the lowest load become less likely by exp(−this) each
PAD = 28  # levels beyond both ends, for the spread between starts


@dataclass(frozen=True, slots=True)
class Curve:
    """Everything about the prior that does not depend on a run.

    Attributes:
        grid: loads as shares of the peak, shape (loads,).
        floor: logit by which the floor is higher than at the lowest load, shape (loads,).
        first: weights of the levels at the lowest load, shape (levels,).
        rises: chance of going from level to level in a step, by slope, (slopes, levels, levels).
        turns: chance of going from slope to slope in a step, (slopes, slopes).
        spreads: a start's level given the median one, (slopes, habits, levels, padded levels).
        below: that a start is below each edge of the padded levels, (edges, slopes, habits,
            levels): the sums of `spreads`, with the edges first because they are read one by one.
        weights: of the habits (capacity spread and drift), (habits,).
        logit: of the share at a padded level where the floor is 0, (padded levels,).
        edges: logit, less the target's, between levels, (levels + 1,).
    """

    grid: Floats
    floor: Floats
    first: Floats
    rises: Floats
    turns: Floats
    spreads: Floats
    below: Floats
    weights: Floats
    logit: Floats
    edges: Floats


@lru_cache(maxsize=8)
def curve(q: float) -> Curve:
    """The prior for a target at quantile `q`."""
    grid: Floats = np.exp(np.arange(math.log(LOWEST), math.log(HIGHEST) + STEP, math.log1p(STEP)))
    first = np.exp(-LOW_FIRST * np.arange(LEVELS))
    logit: Floats = (np.arange(-PAD, LEVELS + PAD, dtype=float) - AT_TARGET) * LEVEL
    logit += math.log((1 - q) / q)
    habits = [(sd, drift, w) for sd in CAPACITY_SD for drift, w in DRIFT_SD]
    spreads = np.array([[_spread(logit, *h, slope) for h in habits] for slope in SLOPES])
    return Curve(
        grid=grid,
        floor=_floor(grid),
        first=first / first.sum(),
        rises=np.array([_rises(slope) for slope in SLOPES]),
        turns=_turns(len(SLOPES)),
        spreads=spreads,
        below=sums(spreads),
        weights=np.array([weight for *_, weight in habits]) / len(CAPACITY_SD),
        logit=logit,
        edges=(np.arange(LEVELS + 1, dtype=float) - AT_TARGET - 0.5) * LEVEL,
    )


@lru_cache(maxsize=32)
def reaching(q: float, least: float, most: float) -> Curve:
    """The prior for a target at quantile `q`, on a grid that holds all loads that were run.

    Args:
        q: quantile.
        least: the lowest load, as a share of the peak; the grid is as ever where it holds that.
        most: the highest load, in the same way.
    """
    whole = curve(q)
    top = float(whole.grid[-1])
    below = min(BELOW_MOST, round(math.log(LOWEST / least) / math.log1p(STEP_BELOW)))
    above = min(ABOVE_MOST, round(math.log(most / top) / math.log1p(STEP)))
    if below < 1 and above < 1:
        return whole
    lower = np.geomspace(least, LOWEST, below + 1)[:-1] if below > 0 else np.empty(0)
    upper = np.geomspace(top, most, above + 1)[1:] if above > 0 else np.empty(0)
    grid = np.asarray(np.concatenate([lower, whole.grid, upper]), np.float64)
    return replace(whole, grid=grid, floor=_floor(grid))


def sums(spreads: Floats) -> Floats:
    """That a start is below each edge of the padded levels, as `Curve.below` has it."""
    below = np.concatenate([np.zeros((*spreads.shape[:3], 1)), np.cumsum(spreads, axis=3)], axis=3)
    return np.ascontiguousarray(np.moveaxis(below, 3, 0))


def _floor(grid: Floats) -> Floats:
    """Logit of the floor at each load, less that at the lowest one."""
    floor = -np.log1p(-np.minimum(grid / HEADROOM, FULLEST))
    return np.asarray(floor - floor[0], np.float64)


def _rises(slope: float) -> Floats:
    """Chances of going from a level (row) to another in one step of the grid."""
    steps = np.arange(LEVELS)
    mean = slope / LEVEL
    logs = np.array([math.lgamma(k + 1) for k in steps])
    poisson = np.exp(steps * math.log(mean) - mean - logs)
    jump = (steps + 1.0) ** -JUMP_POWER
    up = (1 - JUMP) * poisson + JUMP * jump / jump.sum()
    chances = np.zeros((LEVELS, LEVELS))
    for level in range(LEVELS):
        chances[level, level:] = up[: LEVELS - level]
        chances[level, -1] += max(0.0, 1 - up[: LEVELS - level].sum())
    chances[0] *= 1 - LEAVES_BOTTOM
    chances[0, 1:] += LEAVES_BOTTOM / (LEVELS - 1)
    return chances


def _turns(slopes: int) -> Floats:
    chances = np.zeros((slopes, slopes))
    for now in range(slopes):
        chances[now, now + 1 :] = STEEPER / max(1, slopes - 1 - now)
        chances[now, :now] = FLATTER / max(1, now)
        chances[now, now] = 1 - chances[now].sum()
    return chances


def _spread(logit: Floats, capacity_sd: float, drift_sd: float, _w: float, slope: float) -> Floats:
    """Where a start lies whose median start is at a level: normal, (levels, padded levels)."""
    sd = math.hypot(drift_sd, capacity_sd * slope / STEP)
    apart = (logit[None, :] - logit[PAD : PAD + LEVELS, None]) / sd
    density = np.exp(-0.5 * apart * apart)
    return np.asarray(density / density.sum(axis=1, keepdims=True), np.float64)
