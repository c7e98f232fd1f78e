"""How much load meets the QoS target, from all runs at once: a number and its interval (M28).

One curve of the share of misses (`curve`) takes the runs of sweep, search and confirmation
together. Each run says how likely every level of the curve is at its load; forward–backward over
the grid of loads gives, exactly, the probability that a load meets the target. No run decides alone
and none is a gate.

A run's misses are counted in clusters: n and k are divided by the size of clusters near its load,
pooled over all runs (`evidence.Sizes`). Clusters larger than all that were seen are left room for:
with N near the border the next is larger than all of them with probability about 1/(N + 1), and
with that weight the answer is mixed with the one for clusters four times as large.

Source: Good, The population frequencies of species (1953), for the weight of the unseen; Polák,
draft-vpolak-bmwg-plrsearch, for one Bayesian fit over all trials.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from sojourn import late
from sojourn.plan import evidence, starts
from sojourn.plan.curve import Curve, Floats, reaching
from sojourn.plan.evidence import Sizes, Trial

if TYPE_CHECKING:
    import numpy as np
else:
    np = late.module("numpy")

UNSEEN = 4.0  # times as large as those that were seen
LEVEL_OF_ANSWER = 0.9
SIGMAS = 1.64  # of a count of failed requests: 95 % on one side
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Posterior:
    """What all runs say together.

    Attributes:
        rps: loads, requests/s, ascending.
        holds: probability that the median start meets the target at each; never rises with load.
        starts: the same of one further start (`starts`).
    """

    rps: tuple[float, ...]
    holds: tuple[float, ...]
    starts: tuple[float, ...] = ()

    @property
    def of_one(self) -> Posterior:
        """What one further start carries, in place of the median one."""
        return Posterior(self.rps, self.starts)

    def load_at(self, p: float) -> float:
        """The load below which the border lies with probability `p`, requests/s.

        0 where even the lowest load of the grid may fail, infinite where the highest may hold.
        """
        below = 1 - np.array(self.holds)
        if below[0] >= p:
            return 0.0
        if below[-1] < p:
            return math.inf
        above = int(np.argmax(below >= p))
        part = (p - below[above - 1]) / (below[above] - below[above - 1])
        low, high = math.log(self.rps[above - 1]), math.log(self.rps[above])
        return math.exp(low + part * (high - low))

    def within(self, p: float) -> float:
        """The same, kept on the grid: a load that can be offered."""
        return min(max(self.load_at(p), self.rps[0]), self.rps[-1])

    def interval(self, level: float = LEVEL_OF_ANSWER) -> tuple[float, float]:
        """Loads between which the border lies with probability `level`, requests/s.

        Where even the highest load of the grid surely holds, that is the lower end: of loads above
        it nothing is known.
        """
        return min(self.load_at((1 - level) / 2), self.rps[-1]), self.load_at((1 + level) / 2)

    def holds_at(self, rps: float) -> float:
        """Probability that this load meets the target; below the grid, that of its lowest load.

        A short run at a low rate may have had no request at all.
        """
        return float(np.interp(math.log(max(rps, self.rps[0])), np.log(self.rps), self.holds))


@lru_cache(maxsize=64)  # the plan and whoever watches it ask again and again
def border(trials: tuple[Trial, ...], *, peak_rps: float, bound_s: float, q: float) -> Posterior:
    """What these runs say about the border.

    Args:
        trials: of one service, at any loads.
        peak_rps: its closed-loop peak; gives the grid its scale. The grid goes from
            `LOWEST` to `HIGHEST` of it, and to the lowest and highest load that were run.
        bound_s: of the QoS target, s.
        q: its quantile: a share 1 − q may miss the bound.
    """
    shares = [trial.rps / peak_rps for trial in trials] or [1.0]
    prior = reaching(q, min(shares), max(shares))
    seen = evidence.sizes(trials, bound_s)
    at = _places(prior, trials, peak_rps)
    as_seen, as_feared = _solve(prior, trials, at, seen)
    middle = float(prior.grid[np.argmin(np.abs(as_seen[0] - 0.5))]) * peak_rps
    unseen = 1 / (1 + seen.at(middle)[1])
    both = (1 - unseen) * as_seen + unseen * as_feared
    both = np.minimum.accumulate(np.clip(both, 0.0, 1.0), axis=1)
    holds, of_one = (tuple(map(float, each)) for each in both)
    return Posterior(tuple(map(float, prior.grid * peak_rps)), holds, of_one)


def _places(prior: Curve, trials: Sequence[Trial], peak_rps: float) -> list[int]:
    """Where each run lies on the grid of loads: the nearest one."""
    logs = np.log(prior.grid * peak_rps)
    return [int(np.abs(logs - math.log(trial.rps)).argmin()) for trial in trials]


def _solve(
    prior: Curve,
    trials: Sequence[Trial],
    at: Sequence[int],
    seen: Sizes,
) -> list[Floats]:
    """Probability that each load meets the target: by clusters as seen, and as feared.

    Shape (2, loads): of the median start, and of one further start. One pass over the grid solves
    both sizes of clusters: to it they are so many habits more.
    """
    each = [_state_likelihoods(prior, trials, at, seen, size) for size in (1.0, UNSEEN)]
    texts = {j: np.concatenate([likely[j] for likely, _ in each], axis=1) for j in set(at)}
    count = len(prior.weights)
    states, evidences = _forward_backward(prior, texts, habits=count * len(each))
    results = []
    for first, (_, scale) in zip(range(0, len(evidences), count), each, strict=True):
        own = slice(first, first + count)
        now, habits = states[:, :, own], of_habits(prior, evidences[own] + scale)
        results.append(np.array([_holds(prior, now, habits), starts.meets(prior, now, habits)]))
    return results


def _holds(prior: Curve, states: Floats, habits: Floats) -> Floats:
    """Probability that the median start meets the target at each load, (loads,)."""
    levels = np.einsum("jdhl,h->jl", states, habits)
    below = np.concatenate([np.zeros((len(levels), 1)), np.cumsum(levels, axis=1)], axis=1)
    rows = zip(prior.floor, below, strict=True)
    return np.array([np.interp(-floor, prior.edges, row) for floor, row in rows])


def of_habits(prior: Curve, evidences: Floats) -> Floats:
    """How probable each habit is, (habits,), from the logarithm of its evidence."""
    log_weight = np.log(prior.weights) + evidences
    weight = np.exp(log_weight - log_weight.max())
    return np.asarray(weight / weight.sum(), np.float64)


def _state_likelihoods(
    prior: Curve, trials: Sequence[Trial], at: Sequence[int], seen: Sizes, larger: float
) -> tuple[dict[int, Floats], Floats]:
    """Likelihood of every state at each load that was run, and the logarithm of the scale.

    Scaled to at most 1. Shapes (slopes, habits, levels) and (habits,).
    """
    scale = np.zeros(len(prior.weights))
    if not trials:
        return {}, scale
    alone = _likelihoods(prior, trials, at, seen, larger)
    # Many small products: BLAS would spread a large one over the machine's CPUs, and wait on each.
    spread = np.log(np.matmul(alone, prior.spreads.transpose(0, 1, 3, 2)) + _TINY)
    likely = {}
    for j in set(at):
        logs = spread[:, :, np.array(at) == j].sum(axis=2)
        top = logs.max(axis=(0, 2), keepdims=True)
        likely[j] = np.exp(logs - top)
        scale += top[0, :, 0]
    return likely, scale


def _likelihoods(
    prior: Curve, trials: Sequence[Trial], at: Sequence[int], seen: Sizes, larger: float
) -> Floats:
    """Of shares, from n and k of each run in clusters: binomial counts of real numbers; at most 1.

    Where a client may have caused misses, their true number lies between `surely` and `over`. The
    likelihood is maximised over it, so every share between these two explains the run equally well.

    Shape (runs, shares).
    """
    sizes = {rps: larger * seen.at(rps)[0] for rps in {trial.rps for trial in trials}}
    size = np.array([_size(trial, sizes[trial.rps]) for trial in trials])
    requests = np.array([trial.requests for trial in trials], float)
    most = np.array([trial.over for trial in trials], float)
    least = np.array([t.over if t.surely is None else t.surely for t in trials], float)
    logit = prior.logit + prior.floor[np.array(at)][:, None]
    share = np.clip(
        1 / (1 + np.exp(-logit)), (least / requests)[:, None], (most / requests)[:, None]
    )
    over = share * requests[:, None]  # the number of misses that explains the run best
    missed, satisfied = np.logaddexp(0.0, -logit), np.logaddexp(0.0, logit)
    log = -(over * missed + (requests[:, None] - over) * satisfied) / size[:, None]
    log -= _best(over, requests[:, None]) / size[:, None]
    failed = np.array([trial.failed for trial in trials], float)
    log = np.minimum(log, _failing(missed, failed, requests))
    return np.asarray(np.exp(log - log.max(axis=1, keepdims=True)), np.float64)


def _failing(missed: Floats, failed: Floats, requests: Floats) -> Floats:
    """Logarithm of the chance that so large a share of a run fails by itself, at the most.

    A count that is a little above its mean by chance says nothing: of each its lower end counts.

    Args:
        missed: of each run and share, its logarithm with the sign changed, (runs, shares).
        failed: requests of each run that were refused, cut off or answered wrongly, (runs,).
        requests: of each run, (runs,).

    Source: Markov's inequality, which holds for any distribution, clustered or not.
    """
    share = np.maximum(failed - SIGMAS * np.sqrt(failed), 0.0) / requests
    return np.minimum(0.0, -missed - np.log(np.maximum(share, _TINY))[:, None])


def _best(over: Floats, requests: Floats) -> Floats:
    """Logarithm of the likelihood of these counts at their own share: the most it can be."""
    share = np.clip(over / requests, _TINY, 1.0)
    rest = np.clip(1 - over / requests, _TINY, 1.0)
    return np.asarray(over * np.log(share) + (requests - over) * np.log(rest), np.float64)


def _size(trial: Trial, size: float) -> float:
    """Misses of a run that count as one."""
    if trial.is_overloaded:
        size = max(size, trial.over / trial.excursions)
    return min(size, float(trial.requests))


def _forward_backward(
    prior: Curve, values: Mapping[int, Floats], *, habits: int
) -> tuple[Floats, Floats]:
    """Probability of every state at every load, and the logarithm of each habit's evidence.

    Shapes (loads, slopes, habits, levels) and (habits,). A load of which nothing is said is passed
    as it is: chances add to one, so that nothing has to be scaled there. Before the first load that
    says anything, in either direction, all habits are alike: one stands for them.

    Args:
        prior: of the curve.
        values: likelihoods by load, shape (slopes, habits, levels).
        habits: how many.

    Source: Rabiner, A tutorial on hidden Markov models (1989), III.A and V.A (scaling).
    """
    loads, slopes, levels = len(prior.grid), len(prior.turns), len(prior.first)
    states = np.empty((loads, slopes, habits, levels))
    evidences = np.zeros(habits)
    fallen = prior.rises.transpose(0, 2, 1)
    now: Floats = np.broadcast_to(prior.first / slopes, (slopes, 1, levels))
    for j in range(loads):
        if j:
            now = _turned(prior.turns.T, np.matmul(now, prior.rises))
        if j in values:
            now = now * values[j]
            total = now.sum(axis=(0, 2)) + _TINY
            now /= total[:, None]
            evidences += np.log(total)
        states[j] = now
    later: Floats = np.ones((slopes, 1, levels))
    for j in range(loads - 2, -1, -1):
        if j + 1 in values:
            later = later * values[j + 1]
            later /= later.max(axis=(0, 2))[:, None] + _TINY
        later = np.matmul(_turned(prior.turns, later), fallen)
        states[j] *= later
    states /= states.sum(axis=(1, 3), keepdims=True) + _TINY
    return states, evidences


def _turned(turns: Floats, states: Floats) -> Floats:
    """States after the slope had its chance to change; (slopes, habits, levels)."""
    return np.asarray((turns @ states.reshape(len(states), -1)).reshape(states.shape), np.float64)
