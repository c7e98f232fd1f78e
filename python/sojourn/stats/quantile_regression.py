"""Which factor moves a quantile, by how much, and which only seem to: quantile regression (M17).

The logarithm of the sojourn time is regressed on all factors of a 2^k design and their products in
pairs, coded −½ and +½: a factor's coefficient is the log ratio between its levels, averaged over
the other factors; that of a product is how much one factor's effect differs between the levels of
the other. Requests are the samples, not runs' quantiles: only so is it the quantile of what users
wait under a combination. Every run gives as many, evenly spaced in the order of its times, so that
no run weighs more than another; they are dithered by the width of a histogram's bin.

Requests of one run share its fate, so ten thousand of them are one observation of what a factor
does. Each block is therefore fitted by itself, and blocks are drawn with replacement for the
standard error (bootstrap over blocks, corrected by n/(n−1)); Student's t with one degree of freedom
less than blocks gives interval and p-value. With few blocks that covers, where quantiles of
bootstrap draws would be too narrow. Terms are many: Holm's correction over all terms of a quantile
decides what moves it; what is significant only without it "seems to".

Source: Koenker, Quantile Regression (2005); Zhang et al., "Treadmill", ISCA 2016, section V; Holm,
"A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6 (1979).
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from sojourn.half_width import student
from sojourn.stats.interval import Interval
from sojourn.stats.method import Method

METHOD = Method(
    name="attribution",
    about="effects on a quantile by quantile regression with interactions, bootstrap over blocks",
    ids=("M17",),
    source="Koenker (2005); Zhang et al. (2016), V; Holm (1979)",
)

Floats = NDArray[np.float64]
Cell = tuple[int, ...]  # 0 or 1 for each factor
SAMPLES = 200  # of a run: two lie above its p99
DITHER = 0.0005  # half a bin of a histogram of three digits, of the logarithm
BLOCKS_MIN = 3
DRAWS = 2000
ALPHA = 0.05
MOVES, SEEMS, NOT_SHOWN = "moves it", "only seems to", "not shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A factor, or two of them together.

    Attributes:
        factors: one or two.
        q: the quantile.
        ratio: between the levels; of two together the ratio of the one's ratios.
        p, p_holm: of "it makes no difference", alone and corrected for all terms of the quantile.
        said: `MOVES`, `SEEMS` or `NOT_SHOWN`.
    """

    factors: tuple[str, ...]
    q: float
    ratio: float
    interval: Interval
    p: float
    p_holm: float
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """All terms of a quantile, and which share of its loss they explain (pseudo R²)."""

    q: float
    blocks: int
    terms: tuple[Term, ...]
    pseudo_r2: float


def names_of(factors: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Every term: factors, then pairs."""
    return (*((name,) for name in factors), *itertools.combinations(factors, 2))


def fit(
    blocks: Sequence[Mapping[Cell, Floats]], factors: Sequence[str], q: float, *, seed: int
) -> Fit:
    """Attribute one quantile.

    Args:
        blocks: of each the sojourn times, ns, ascending and finite, by combination; all of them.
        factors: names, in the order of the cells.
        q: quantile in (0, 1).
        seed: of dither and bootstrap.

    Raises:
        ValueError: fewer than three blocks.
    """
    if len(blocks) < BLOCKS_MIN:
        raise ValueError(f"{len(blocks)} whole blocks, {BLOCKS_MIN} are needed")
    rng = np.random.default_rng(seed)
    results = [_block(block, q, rng) for block in blocks]
    slopes = np.array([slope for slope, _ in results])
    return Fit(
        q=q,
        blocks=len(blocks),
        terms=judged(slopes, names_of(factors), q, rng),
        pseudo_r2=float(np.mean([r2 for _, r2 in results])),
    )


def _block(
    block: Mapping[Cell, Floats], q: float, rng: np.random.Generator
) -> tuple[Floats, float]:
    """Coefficients of all terms, and pseudo R², of one block."""
    from statsmodels.regression.quantile_regression import (  # noqa: PLC0415  # 0.5 s to load
        QuantReg,
    )

    cells = sorted(block)
    y = np.concatenate([np.log(np.maximum(block[cell], 1.0)) for cell in cells])
    y = y + rng.uniform(-DITHER, DITHER, y.size)
    rows = np.array([row(cell) for cell in cells])
    x = np.repeat(rows, [len(block[cell]) for cell in cells], axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says so where the last digits still move
        model = QuantReg(y, x).fit(q=q, max_iter=500, p_tol=1e-5)
    full, null = _loss(y - x @ model.params, q), _loss(y - np.quantile(y, q), q)
    return np.asarray(model.params[1:], np.float64), 1 - full / null if null > 0 else 0.0


def row(cell: Cell) -> list[float]:
    """One, each factor, each pair.

    >>> row((0, 1))
    [1.0, -0.5, 0.5, -0.25]
    """
    own = [level - 0.5 for level in cell]
    return [1.0, *own, *(a * b for a, b in itertools.combinations(own, 2))]


def _loss(errors: Floats, q: float) -> float:
    return float(np.where(errors > 0, q * errors, (q - 1) * errors).sum())


def judged(
    slopes: Floats, names: Sequence[tuple[str, ...]], q: float, rng: np.random.Generator
) -> tuple[Term, ...]:
    """Interval and verdict of each term.

    Args:
        slopes: log ratios, shape (blocks, terms).
        names: of the terms.
        q: the quantile.
        rng: of the bootstrap.
    """
    count = len(slopes)
    draws = rng.integers(0, count, size=(DRAWS, count))
    error = slopes[draws].mean(axis=1).std(axis=0) * math.sqrt(count / (count - 1))
    mean = slopes.mean(axis=0)
    width = student(count - 1, 1 - ALPHA) * error
    t = np.abs(mean) / np.maximum(error, np.finfo(float).tiny)
    p = 2 * scipy.special.stdtr(count - 1, -t)
    corrected = holm(p)
    return tuple(
        Term(
            factors=name,
            q=q,
            ratio=math.exp(mean[n]),
            interval=Interval(lo=math.exp(mean[n] - width[n]), hi=math.exp(mean[n] + width[n])),
            p=float(p[n]),
            p_holm=float(corrected[n]),
            said=_word(p[n], corrected[n]),
        )
        for n, name in enumerate(names)
    )


def _word(p: float, corrected: float) -> str:
    if corrected < ALPHA:
        return MOVES
    return SEEMS if p < ALPHA else NOT_SHOWN


def holm(p: Floats) -> Floats:
    """Holm's corrected p-values, in the order given.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p)
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    values = np.empty_like(steps)
    values[order] = np.minimum(1.0, steps)
    return values
