"""Histories that are simulated: a number of each record, in units of its scatter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Law = Callable[[Generator, int, int], Floats]  # series and values → series × values


def normal(rng: Generator, count: int, length: int) -> Floats:
    return rng.normal(size=(count, length))


def student(rng: Generator, count: int, length: int) -> Floats:
    """Student's t with 3 degrees of freedom, scaled to a standard deviation of 1."""
    return rng.standard_t(3, (count, length)) / np.sqrt(3)


def cauchy(rng: Generator, count: int, length: int) -> Floats:
    """No mean and no standard deviation: half of the values lie within 1 of 0."""
    return rng.standard_cauchy((count, length))


def skewed(rng: Generator, count: int, length: int) -> Floats:
    """Logarithmic normal, as times are."""
    values = rng.lognormal(0, 0.8, (count, length))
    return np.asarray((values - np.exp(0.32)) / np.sqrt((np.exp(0.64) - 1) * np.exp(0.64)))


def modes(rng: Generator, count: int, length: int) -> Floats:
    """Three of ten records lie four scatters of the others higher."""
    values = rng.normal(size=(count, length)) + 4.0 * (rng.random((count, length)) < 0.3)
    return np.asarray((values - 1.2) / np.sqrt(1 + 16 * 0.21))


def rounded(rng: Generator, count: int, length: int) -> Floats:
    """Many equal values."""
    return np.round(rng.normal(size=(count, length)))


def autocorrelated(share: float) -> Law:
    """Each value has this share of the one before: neighbours in time are alike."""

    def law(rng: Generator, count: int, length: int) -> Floats:
        noise = rng.normal(size=(count, length))
        noise[:, 1:] *= np.sqrt(1 - share**2)
        for at in range(1, length):
            noise[:, at] += share * noise[:, at - 1]
        return noise

    return law


def drifting(step: float) -> Law:
    """A machine whose level walks by this much from record to record."""

    def law(rng: Generator, count: int, length: int) -> Floats:
        walk = np.cumsum(step * rng.normal(size=(count, length)), axis=1)
        return walk + rng.normal(size=(count, length))

    return law


EXCHANGEABLE: dict[str, Law] = {
    "normal": normal,
    "Student's t, 3": student,
    "Cauchy": cauchy,
    "skewed": skewed,
    "two modes": modes,
    "rounded": rounded,
}
BREAKING: dict[str, Law] = {
    "autocorrelated, 0.2": autocorrelated(0.2),
    "autocorrelated, 0.5": autocorrelated(0.5),
    "drift, 0.05 a record": drifting(0.05),
    "drift, 0.2 a record": drifting(0.2),
}
