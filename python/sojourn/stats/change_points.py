"""Steps in a growing series, with an error rate that holds at all times.

Without a change the values are exchangeable: any order of them is as likely as any other, whatever
their law. A candidate says that the first k values are the old ones. It bets on where each later
value falls among these k. They leave k + 1 slots. Given the ranks so far, a value falls into a slot
in which c later values lie with probability (1 + c) / n, where n - 1 values came before. The bet is
that it falls there as a normal value would that lies `SHIFTS` standard deviations higher or lower.
The factor is the ratio of both probabilities, so a candidate's capital is a martingale.

Candidate k begins with the share `shares(k)` of the capital. The shares of all k add up to 1, so
the sum is a martingale that begins at 1. It ever reaches 1/alpha with probability alpha at most, in
a series of any length (Ville's inequality). The price is that a late change needs more evidence.

Equal values get an order by lot with a fixed seed. What is not exchangeable breaks the promise:
neighbours in time that depend on each other, and machines that drift.

Source: Ville, Étude critique de la notion de collectif (1939); Vovk, Testing randomness online,
Statistical Science 36 (2021), on martingales of ranks; Shin, Ramdas, Rinaldo, E-detectors, New
England Journal of Statistics in Data Science 2 (2023), on mixtures over the time of the change;
Vovk and Wang, E-values, Annals of Statistics 49 (2021), on means of several (`adjusted`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from sojourn.stats.method import Method
from sojourn.stats.times import Floats

METHOD = Method(
    name="change_points",
    about="steps in a series that may be looked at after every value",
    ids=("M15", "M16"),
    source="Ville (1939); Vovk (2021); Shin, Ramdas, Rinaldo (2023)",
)

OLD_LEAST = 4  # values before a change; fewer leave too few slots to bet on
NEW_MOST = 40  # values after a candidate on which it bets; then it keeps what it has
SHIFTS = (-4.0, -2.0, -1.0, 1.0, 2.0, 4.0)  # in standard deviations
_OF_SHIFTS = (0.05, 0.35, 0.1, 0.1, 0.35, 0.05)
_EVEN = 0.03  # part of a bet that is spread over all slots: no single value takes all
_TYPICAL = 50  # length of history up to which the shares are about equal
_SEED = 32

Counts = np.ndarray[tuple[int, ...], np.dtype[np.intp]]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What so many values say, series × values or values.

    Attributes:
        log_capital: logarithm of the capital after each value; 0 at first.
        since: the candidate with the most capital then: how many values came before the change.
    """

    log_capital: Floats
    since: Counts


def evidence(values: Floats) -> Evidence:
    """The evidence of a step somewhere, after each value.

    Args:
        values: series × values, or the values of one series; `inf` is larger than all others.

    Returns:
        Of the same shape as `values`.
    """
    rows = np.atleast_2d(np.asarray(values, float))
    ranks = _ranks(rows)
    count, length = ranks.shape
    capital = np.tile(1 - np.cumsum([shares(k) for k in range(length)]), (count, 1))
    best, since = np.zeros((count, length)), np.zeros((count, length), np.intp)
    below = np.zeros((count, length), np.intp)  # of the old values, under each later one
    for old in range(1, length):
        window = slice(old, min(length, old + NEW_MOST))
        below[:, window] += ranks[:, window] > ranks[:, old - 1 : old]
        if (last := window.stop) < length:  # its turn comes next
            below[:, last] = np.sum(ranks[:, :old] < ranks[:, last : last + 1], axis=1)
        if old < OLD_LEAST:
            continue
        grown = shares(old) * np.exp(_log_factors(below[:, window], old))
        every = np.empty((count, length - old))
        every[:, : grown.shape[1]], every[:, grown.shape[1] :] = grown, grown[:, -1:]
        capital[:, old:] += every
        is_best = every > best[:, old:]
        best[:, old:][is_best] = every[is_best]
        since[:, old:][is_best] = old
    shape = np.shape(values)
    return Evidence(np.log(capital).reshape(shape), since.reshape(shape))


def shares(old: int) -> float:
    """The candidate's share of the capital at first; all together have 1.

    >>> round(sum(shares(k) for k in range(1000)) + _tail(1000), 12)
    1.0
    """
    return 0.0 if old < OLD_LEAST else _tail(old) - _tail(old + 1)


def _tail(old: int) -> float:
    """The shares of this candidate and all later ones."""
    return (_TYPICAL + OLD_LEAST) / (_TYPICAL + max(old, OLD_LEAST))


def _ranks(rows: Floats) -> Counts:
    """The rank of each value in its series; equal values in an order by lot."""
    lot = np.random.default_rng(_SEED).random(rows.shape[1])
    order = np.lexsort((np.broadcast_to(lot, rows.shape), rows), axis=1)
    ranks = np.empty(rows.shape, np.intp)
    np.put_along_axis(ranks, order, np.arange(rows.shape[1])[None, :], axis=1)
    return ranks


def _log_factors(slots: Counts, old: int) -> Floats:
    """Logarithm of a candidate's capital after each of the values behind it, from 1.

    Args:
        slots: series × values: the slot into which each falls, 0 to `old`.
        old: values that made the slots.
    """
    steps = np.arange(slots.shape[1])
    earlier = (slots[:, :, None] == slots[:, None, :]) & (steps[:, None] > steps[None, :])
    chance = np.log((1 + earlier.sum(axis=2)) / (old + 1 + steps))
    bets = np.cumsum(_log_bets(old)[:, slots] - chance, axis=2)
    return np.asarray(scipy.special.logsumexp(bets, axis=0, b=np.array(_OF_SHIFTS)[:, None, None]))


def _log_bets(old: int) -> Floats:
    """Logarithm of the probability that is bet on each slot, shifts × slots."""
    edges = scipy.special.ndtri(np.arange(old + 2) / (old + 1))
    below = scipy.special.ndtr(edges[None, :] - np.array(SHIFTS)[:, None])
    shifted = np.diff(below, axis=1)
    return np.asarray(np.log((1 - _EVEN) * shifted + _EVEN / (old + 1)))


def adjusted(logs: Sequence[float]) -> list[float]:
    """Log evidence of each of several series, so that all judgements together hold one error rate.

    A series is taken together with any set of the others: the lowest mean capital counts. This
    holds however the series depend on each other.

    >>> [round(float(np.exp(one)), 3) for one in adjusted([np.log(60.0), 0.0])]
    [30.5, 1.0]
    """
    order = np.argsort(logs)
    capital = np.exp(np.asarray(logs, float)[order])
    lowered = [0.0] * len(order)
    lowest = np.concatenate([[0.0], np.cumsum(capital)])
    for at, number in enumerate(order):
        others = lowest[: at + 1]  # means fall only by those that have less
        lowered[int(number)] = float(
            np.log(np.min((capital[at] + others) / (1 + np.arange(at + 1))))
        )
    return lowered
