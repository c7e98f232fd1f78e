"""The noise floor of a campaign in words."""

from __future__ import annotations

import math

from sojourn.analysis.findings import NoiseFloor
from sojourn.analysis.words import percent
from sojourn.report import show


def floor(found: NoiseFloor) -> str:
    """What equal runs differed by, and what can therefore not be told from noise.

    >>> from sojourn.analysis.findings import Interval
    >>> pairs = ((1, 2, 3),)
    >>> one = NoiseFloor(q=0.99, sigma=0.1, interval=Interval(0.04, 3), gate=1.27, pairs=pairs)
    >>> floor(one).split(":")[0]
    'p99 of 1 load, measured twice'
    """
    n = len(found.pairs)
    loads = f"{n} load{'s' * (n > 1)}, measured twice"
    ends = f"{_apart(found.interval.lo)} to {_apart(found.interval.hi)}"
    sigma = f"σ of their ratio {_apart(found.sigma)} (95 %: {ends})"
    return (
        f"{show.quantile(found.q)} of {loads}: {sigma}. "
        f"Two single runs less than {_apart(found.gate)} apart cannot be told from equal ones"
    )


def _apart(log: float) -> str:
    """How far apart two times are whose ratio has this logarithm.

    >>> _apart(0.0953), _apart(1.21)
    ('10 %', 'a factor of 3.4')
    """
    ratio = math.exp(log)
    return percent(ratio - 1) if ratio < 2 else f"a factor of {ratio:.2g}"
