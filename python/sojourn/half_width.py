"""Half widths of intervals, in standard errors.

Their factors are computed here alone. `plan` asks how many runs an interval needs, and `stats` how
wide one is, so this lies below both.
"""

from __future__ import annotations

COVERAGE = 0.95  # probability with which an interval covers the true value


def student(freedom: float, coverage: float = COVERAGE) -> float:
    """Half width in standard errors of the interval of a mean with an estimated variance.

    >>> round(student(4), 3), round(student(1e9), 3), round(student(4, 0.9), 3)
    (2.776, 1.96, 2.132)
    """
    import scipy  # noqa: PLC0415  # slow to load, and many who import this ask for none

    return float(scipy.special.stdtrit(freedom, (1 + coverage) / 2))


def normal(coverage: float = COVERAGE) -> float:
    """The same of a mean with a known variance.

    >>> round(normal(), 3), round(normal(0.9), 3)
    (1.96, 1.645)
    """
    import scipy  # noqa: PLC0415

    return float(scipy.special.ndtri((1 + coverage) / 2))
