"""How far numbers carry, in words: the noise floor, and the client against a probe."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sojourn.findings.measurement_error import NoiseFloor, ProbeRow
from sojourn.report import show
from sojourn.text.numbers import percent

RATIO_SHOWN = 100.0  # beyond it a number says no more than that nothing is known


def floor(noise: NoiseFloor) -> str:
    """What equal runs differed by, and what can therefore not be distinguished from noise.

    >>> from sojourn.stats.interval import Interval
    >>> pairs, ends = ((0.7, 1e6, 1.1e6),), Interval(0.04, 3.0)
    >>> floor(NoiseFloor(q=0.99, sigma=0.1, interval=ends, gate=1.27, pairs=pairs)).split(":")[0]
    'p99 of 1 load, measured twice'
    """
    n = len(noise.pairs)
    loads = f"{n} load{'s' * (n > 1)}, measured twice"
    ends = f"{_apart(noise.interval.lo)} to {_apart(noise.interval.hi)}"
    sigma = f"σ of their ratio {_apart(noise.sigma)} (95 %: {ends})"
    return (
        f"{show.quantile(noise.q)} of {loads}: {sigma}. "
        f"Two single runs less than {_apart(noise.gate)} apart cannot be separated from equal ones"
    )


def probes(rows: Sequence[ProbeRow]) -> str:
    """How many runs' clients agree with the probe beside them, and by which quantiles.

    >>> probes([ProbeRow(key="a", fraction=0.5, q=None, why="too late")])
    'compared in 0 of 1 run (too late)'
    """
    compared = [row for row in rows if row.q is not None]
    of = f"compared in {len(compared)} of {len(rows)} run{'s' * (len(rows) > 1)}"
    why = next((row.why for row in rows if row.why), "")
    if not compared:
        return f"{of} ({why})"
    names = ", ".join(show.quantile(q) for q in sorted({row.q for row in compared if row.q}))
    apart = sum(row.is_apart for row in compared)
    return f"{of} by {names}: {apart or 'none'} beyond both intervals"


def _apart(log: float) -> str:
    """How far apart two times are whose ratio has this logarithm.

    >>> _apart(0.0953), _apart(1.21)
    ('10 %', 'a factor of 3.4')
    >>> _apart(12.0)
    'a factor of over 100'
    """
    ratio = math.exp(min(log, 100.0))
    if ratio < 2:
        return percent(ratio - 1)
    return "a factor of over 100" if ratio > RATIO_SHOWN else f"a factor of {ratio:.2g}"
