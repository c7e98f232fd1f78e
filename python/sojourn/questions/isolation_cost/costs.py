"""What one application of a mechanism costs, and what a change does to p99, with intervals (M24).

Times of one mechanism on one host are its applications in order. Quantiles are bounded by order
statistics and refused below the sample they need (M10). The mean is that of the blocks, by
Student's t over them, because what a block has in common is in all of its times (M15). With fewer
than three blocks it is Student's t on eight batches, which knows nothing of other blocks. Nothing
is subtracted: the empty measurement has a row of its own.

What a change does: requests that were due while single changes lasted, and within 50 ms after
them, against those due within 50 ms before them, both pooled. Changes lie far apart, so they are
drawn with replacement (bootstrap over changes) for the interval of the ratio of the two p99, whose
ends are wider where changes are few (`stats.bootstrap`). Where
lost requests make one of them infinite in a draw, its ratio is 0 or infinite, and counts. Where
they make p99 infinite after the changes and not before, that is longer; its bound is the longest
request that completed over p99 before. Mechanisms are many, so a ratio is called more than 1 only
at a level that is shared among them (Bonferroni).

Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), 8.5 (units that are drawn
whole); Law, Simulation Modeling and Analysis (2015), 9.5.3 (batch means).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sojourn import units
from sojourn.half_width import COVERAGE, student
from sojourn.questions.isolation_cost.files import Change
from sojourn.samples import dependence
from sojourn.stats import quantiles, times
from sojourn.stats.bootstrap import left_out
from sojourn.stats.interval import Estimate, Interval
from sojourn.stats.method import Method

METHOD = Method(
    name="costs",
    about="time of one application; p99 after a change over p99 before it, by changes",
    ids=("C19", "M10", "M24"),
    source="Efron and Tibshirani (1993), 8.5; Law (2015), 9.5.3",
)

Floats = NDArray[np.float64]
BATCHES = 8
BLOCKS_MIN = 3  # of an interval over blocks, as over restarts
CHANGES_MIN = 8  # below, an interval over changes is not worth its name
REQUESTS_MIN = 563  # of p99 on each side (M10)
DRAWS = 2000
TAIL = 0.99
BINS = 400  # of the logarithm of the time, above a quantile that p99 is never below
BODY = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What applications of one mechanism on one host took, ns.

    Attributes:
        mean: with Student's interval over blocks, of fewer than three over batches.
        p50, p99: with intervals by order statistics.
        max_ns: the longest of these; None of none.
        cpu_ns, child_ns: CPU time of an application: the lab's, and that of what it starts.
        lab_ns: mean of the same change by the lab's knob, journal and all; None: not measured.
    """

    count: int
    mean: Estimate
    p50: Estimate
    p99: Estimate
    max_ns: float | None
    cpu_ns: float | None
    child_ns: float | None
    lab_ns: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Felt:
    """p99 after single changes over p99 before them.

    Attributes:
        before_ns, after_ns: p99 of the pooled requests; None if refused; `inf`: lost ones decide.
        ratio, interval: None if refused; `inf` where lost ones decide p99 after the changes alone:
            then the lower end is a bound.
        is_longer: the ratio is more than 1 at the level that all mechanisms share.
    """

    changes: int
    requests: int
    before_ns: float | None
    after_ns: float | None
    ratio: float | None
    interval: Interval | None
    is_longer: bool = False
    refused: str = ""


def cost(
    blocks: Sequence[Sequence[int]],
    runs: Sequence[tuple[int, int, int]],
    lab_ns: Sequence[int] = (),
) -> Cost:
    """What applications took.

    Args:
        blocks: of each the times of all applications, in order.
        runs: (applications, CPU time of the lab, of its children, ns) of each row without a break.
        lab_ns: the same change by the lab's knob.
    """
    parts = [np.asarray(block, np.float64) for block in blocks if len(block)]
    values = np.concatenate(parts) if parts else np.empty(0)
    result = times.from_values(values)
    enough = len(values) >= dependence.BATCHES * dependence.BATCH_LEAST
    own = {q: dependence.of_raw(values, q) if enough else 1.0 for q in (0.5, TAIL)}
    count = max(1, sum(run[0] for run in runs))
    used = [sum(run[nth] for run in runs) / count for nth in (1, 2)] if runs else [None, None]
    return Cost(
        count=len(values),
        mean=_mean(values, parts),
        p50=quantiles.estimate(result, 0.5, correlation=own[0.5]),
        p99=quantiles.estimate(result, TAIL, correlation=own[TAIL]),
        max_ns=float(values.max()) if values.size else None,
        cpu_ns=used[0],
        child_ns=used[1],
        lab_ns=float(np.mean(lab_ns)) if lab_ns else None,
    )


def _mean(values: Floats, blocks: Sequence[Floats]) -> Estimate:
    """Student's t on means of blocks, else of batches; of few values on the values themselves."""
    batches = values if values.size < 4 * BATCHES else _batched(values)
    if len(blocks) >= BLOCKS_MIN:
        batches = np.array([block.mean() for block in blocks])
    if batches.size < 2:  # a spread takes two
        mean = float(values.mean()) if values.size else None
        why = "measured once" if values.size else "not measured"
        return Estimate(
            q=None,
            value=mean,
            interval=None,
            across_restarts=None,
            requests=values.size,
            effective=float(values.size),
            refused="" if values.size else why,
        )
    half = student(batches.size - 1) * float(batches.std(ddof=1) / math.sqrt(batches.size))
    mean = float((batches if len(blocks) >= BLOCKS_MIN else values).mean())
    return Estimate(
        q=None,
        value=mean,
        interval=Interval(lo=max(0.0, mean - half), hi=mean + half),
        across_restarts=None,
        requests=values.size,
        effective=float(batches.size),
    )


def _batched(values: Floats) -> Floats:
    return np.array([part.mean() for part in np.array_split(values, BATCHES)], np.float64)


def tail_effect(changes: Sequence[Change], *, mechanisms: int, seed: int) -> Felt:
    """What single changes do to p99.

    Args:
        changes: of one mechanism.
        mechanisms: how many are judged together.
        seed: of the bootstrap.
    """
    before = [change.before for change in changes]
    after = [change.after for change in changes]
    least = min(sum(map(len, before)), sum(map(len, after)))
    refused = ""
    if len(changes) < CHANGES_MIN:
        refused = f"{len(changes)} changes had requests around them, {CHANGES_MIN} are needed"
    elif least < REQUESTS_MIN:
        refused = f"p99 needs {REQUESTS_MIN} requests, there are {least} around all changes"
    if refused:
        return Felt(
            changes=len(changes),
            requests=least,
            before_ns=None,
            after_ns=None,
            ratio=None,
            interval=None,
            refused=refused,
        )
    edges = _edges([*before, *after])
    counts = [
        np.array([_counted(part, edges) for part in side], np.float64) for side in (before, after)
    ]
    ones = np.ones((1, len(changes)))
    p99s = [float(_tails(ones @ side, edges)[0]) for side in counts]
    draws = np.random.default_rng(seed).multinomial(
        len(changes), np.full(len(changes), 1 / len(changes)), size=DRAWS
    )
    both = [_tails(draws.astype(np.float64) @ side, edges) for side in counts]
    is_ratio = np.isfinite(both[0]) | np.isfinite(both[1])
    if not math.isfinite(p99s[0]) or is_ratio.mean() < COVERAGE:
        return Felt(
            changes=len(changes),
            requests=least,
            before_ns=p99s[0],
            after_ns=p99s[1],
            ratio=None,
            interval=None,
            refused="requests that never completed decide p99",
        )
    ratios = both[1][is_ratio] / both[0][is_ratio]
    shares = ((1 - COVERAGE) / 2, (1 - COVERAGE) / 2 / max(1, mechanisms))
    below, below_all = (left_out(share, len(changes)) for share in shares)
    # Ends are ratios of draws: between a finite one and an infinite one there is nothing.
    shared = float(np.quantile(ratios, below_all, method="lower"))
    hi = float(np.quantile(ratios, 1 - below, method="higher"))
    if math.isinf(p99s[1]):  # by how much it is longer is not known: by what completed at least
        ratios = np.minimum(both[1], edges[-1])[is_ratio] / both[0][is_ratio]
    lo = float(np.quantile(ratios, below, method="lower"))
    return Felt(
        changes=len(changes),
        requests=least,
        before_ns=p99s[0],
        after_ns=p99s[1],
        ratio=p99s[1] / p99s[0],
        interval=Interval(lo=lo, hi=hi),
        is_longer=shared > 1,
    )


def ratio_words(effect: Felt) -> str:
    """How many times as long, with its interval; as a bound where it is infinite; "" if refused."""
    if effect.ratio is None or effect.interval is None:
        return ""
    if math.isinf(effect.ratio):
        return f"at least {units.outward(effect.interval.lo, 2, -1):.2f}"
    return f"{effect.ratio:.2f} ({ends_words(effect.interval)})"


def ends_words(interval: Interval) -> str:
    """Both ends of an interval of ratios.

    >>> ends_words(Interval(1.2, 3.456)), ends_words(Interval(0.0, math.inf))
    ('1.20 to 3.46', '0.00 to ∞')
    """
    lo, hi = (f"{end:.2f}" if math.isfinite(end) else "∞" for end in (interval.lo, interval.hi))
    return f"{lo} to {hi}"


def _edges(parts: Sequence[Floats]) -> Floats:
    """Edges of bins on a logarithmic scale, ns; times beyond the last are those that were lost."""
    finite = np.concatenate([part[np.isfinite(part)] for part in parts] or [np.ones(1)])
    top = float(finite.max()) if finite.size else 1.0
    low = max(1.0, float(np.quantile(finite, BODY)) if finite.size else 1.0)
    return np.geomspace(low, max(top, low * 1.001), BINS)


def _counted(values: Floats, edges: Floats) -> NDArray[np.int64]:
    """How many values each bin holds: up to each edge, and last those beyond all."""
    finite = np.clip(values, edges[0], None)
    return np.bincount(np.searchsorted(edges, finite), minlength=len(edges) + 1)


def _tails(counts: NDArray[np.float64], edges: Floats) -> Floats:
    """p99 of each row of counts: upper edges, ns; `inf` beyond the last."""
    up_to = np.cumsum(counts, axis=1)
    reached = (up_to >= np.ceil(TAIL * up_to[:, -1:])).argmax(axis=1)
    return np.asarray(np.append(edges, np.inf)[reached], np.float64)
