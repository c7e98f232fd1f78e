"""Whether a run was in steady state: no warm-up left in it, no trend, no wandering (M8).

A queue that is offered more than it can serve has no steady state; its quantiles grow for as long
as one measures. Such a run is never averaged. But a neighbour or the machine itself makes a tail
come in bursts, which is no drift: a test for independent values calls every third such run
unsteady. So a run is cut into eighths that are longer than most bursts, and three questions are
asked of p50 and p99:

- `trend`: are at least 27 of the 28 pairs of eighths in one order, and does the quantile move by
  more than half over the run? Mann-Kendall's S, on eighths. Chance orders eighths so once in 2,500
  series if they are independent.
- `is_cold`: does the first eighth lie outside the last five, by twice what these span and by more
  than a quarter, in p50 and p99 alike? How long such a start lasts is MSER-5's cut.
- `wanders`: from 60 slices on, do both tests agree that there is no level? Dickey and Fuller's
  does not reject a unit root, and that of Kwiatkowski et al. rejects a level. A test that fails to
  reject on few points says nothing: of 60 slices that forget half of it in three (AR(1), 0.8), the
  first alone is wrong in every second run.

A drift up to a half is let pass, because the run's value is that of its middle: its ends lie a
quarter from it, which is what equal runs differ by (s = 0.27, `plan/difference.py`) and what
intervals across starts contain. `bench/steady.py` simulates how often each is wrong.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sojourn.stats.method import Method
from sojourn.stats.times import Floats, Times, merge
from sojourn.text.numbers import percent, percentile
from sojourn.units import show_ns

METHOD = Method(
    name="steady",
    about="steady state: order of eighths (Mann-Kendall), first eighth, Dickey-Fuller with KPSS",
    ids=("M8",),
    source="Kendall (1938), Biometrika 30; White (1997), Simulation 69(6); Dickey and Fuller "
    "(1979), JASA 74; Kwiatkowski et al. (1992), J. Econometrics 54",
)

QUANTILES = (0.5, 0.99)
PARTS = 8
PAIRS = PARTS * (PARTS - 1) // 2
OUT_OF_ORDER = 1  # pairs that may be in the other order
PART_NEEDS = 20  # requests in an eighth, or its median says nothing
DRIFT_MAX = 0.5  # of the median, over the run
LATE = 5  # eighths, the last ones, with which the first is compared
COLD_SPANS = 2.0
COLD_MAX = 1.25
UNIT_ROOT_NEEDS = 60  # slices
UNIT_ROOT_LEVEL = 0.05
LEVEL_LEVEL = 0.01
WANDER_MAX = 1 + DRIFT_MAX  # highest over lowest eighth


@dataclass(frozen=True, slots=True, kw_only=True)
class Steadiness:
    """The judgement on one run.

    Attributes:
        is_steady: None if the run is too short to tell; the warm-up is a matter of its own.
        reasons: why not, in words.
        grows: half of the requests take longer and longer: the load is more than is served.
        cold: why the warm-up was too short; "" if it was not.
    """

    is_steady: bool | None
    reasons: tuple[str, ...] = ()
    grows: bool = False
    cold: str = ""


def judge(slices: Sequence[Times]) -> Steadiness:
    """A run by its slices in order of time, all as long as each other."""
    selected = [one for one in slices if one.n]
    parts = [merge(selected[of[0] : of[-1] + 1]) for of in _cut(len(selected))]
    if len(parts) < PARTS or min(part.n for part in parts) < PART_NEEDS:
        return Steadiness(is_steady=None)
    series = {q: np.array([part.quantile(q) for part in parts], float) for q in QUANTILES}
    drifts = {q: trend(values) for q, values in series.items()}
    grows = drifts[QUANTILES[0]] > 0
    if not grows and is_cold(list(series.values())):  # what grows begins below the rest, too
        return Steadiness(is_steady=True, cold=_start_in_words(selected, parts))
    reasons = []
    for q, values in series.items():
        if drifts[q]:
            reasons.append(_moves(q, drifts[q], values))
        elif _is_apart(values) and wanders(
            np.array([part.quantile(q) for part in selected], float)
        ):
            reasons.append(f"unstable: {percentile(q)} wanders without a level (Dickey-Fuller)")
    return Steadiness(is_steady=not reasons, reasons=tuple(reasons), grows=grows)


def _cut(count: int) -> list[np.ndarray]:
    """Numbers of the slices of each eighth; fewer eighths where there are fewer slices."""
    return [of for of in np.array_split(np.arange(count), PARTS) if of.size]


def trend(values: Floats) -> float:
    """How far a series of eighths moves, as a share of its median; 0 unless it surely does.

    Sen's slope times the length. `inf` ranks highest, and two of them are in order either way.
    """
    first, later = np.triu_indices(len(values), 1)
    before, after = values[first], values[later]
    both = np.isinf(before) & np.isinf(after)
    least = PAIRS - OUT_OF_ORDER
    rises, falls = (int(np.sum(both | of)) >= least for of in (after > before, after < before))
    if rises == falls:
        return 0.0
    if not np.isfinite(values).all():
        return math.inf if rises else -math.inf
    slope = float(np.median((after - before) / (later - first)))
    drift = slope * (len(values) - 1) / float(np.median(values))
    return drift if abs(drift) > DRIFT_MAX else 0.0


def is_cold(series: Sequence[Floats]) -> bool:
    """Whether the first eighth is like none of the last five, in all series and one direction."""
    sides = {_outside(values) for values in series}
    return len(sides) == 1 and sides != {0}


def _outside(values: Floats) -> int:
    """1 if the first is far above the last five, −1 if far below; 0 else."""
    if not np.isfinite(values).all() or values.min() <= 0:
        return 0
    first, late = math.log(values[0]), np.log(values[-LATE:])
    far = max(COLD_SPANS * float(np.ptp(late)), math.log(COLD_MAX))
    if first - float(late.max()) > far:
        return 1
    return -1 if float(late.min()) - first > far else 0


def _start_in_words(slices: Sequence[Times], parts: Sequence[Times]) -> str:
    """How long the start lasts and how it differs; at least the eighth by which it was found."""
    means = np.array([moments[0] if (moments := one.moments()) else 0.0 for one in slices])
    cut = max(mser5(means, batch=1), math.ceil(len(slices) / PARTS))
    q = QUANTILES[-1]
    start, rest = parts[0].quantile(q) or 0.0, merge(slices[cut:]).quantile(q) or math.inf
    return (
        f"cold start: in the first {percent(cut / len(slices))} of the run {percentile(q)} was "
        f"{start / rest:.3g} times that of the rest: lengthen warmup_s (MSER-5)"
    )


def _moves(q: float, drift: float, values: Floats) -> str:
    if q == QUANTILES[0] and drift > 0:
        ends = f"from {_time(values[0])} to {_time(values[-1])}"
        return f"overloaded: the queue grows: {percentile(q)} rises {ends} in the run"
    size = "without bound" if math.isinf(drift) else f"by {drift:+.0%}"
    return f"unstable: {percentile(q)} moves {size} over the run (Mann-Kendall)"


def _time(ns: float) -> str:
    return show_ns(ns) if math.isfinite(ns) else "never"


def _is_apart(values: Floats) -> bool:
    return bool(np.isfinite(values).all() and values.max() > WANDER_MAX * values.min())


def wanders(values: Floats) -> bool:
    """Whether a unit root is likely and a level is not; False where the tests have no power."""
    if len(values) < UNIT_ROOT_NEEDS or not np.isfinite(values).all() or np.ptp(values) == 0:
        return False
    from statsmodels.tsa.stattools import adfuller, kpss  # noqa: PLC0415  # 0.5 s to load

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of statsmodels: p-values beyond its table
        root = float(adfuller(values, autolag="BIC")[1])
        level = float(kpss(values, regression="c", nlags="auto")[1])
    return root >= UNIT_ROOT_LEVEL and level <= LEVEL_LEVEL


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


def by_chance() -> float:
    """Probability that eighths that are independent are ordered so far, either way.

    Of the orders of 8 values 1 has no pair out of order, and 7 have one.

    >>> round(1 / by_chance())
    2520
    """
    return 2 * (1 + (PARTS - 1)) / math.factorial(PARTS)
