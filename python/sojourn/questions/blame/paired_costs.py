"""What a suspect adds to a cost of the service: differences in blocks (M22)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sojourn.half_width import student
from sojourn.questions.blame.randomisation import ALPHA, BLOCKS_MIN
from sojourn.stats.interval import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What stopping a suspect takes off a cost of the service.

    Attributes:
        name: of the cost.
        with_, without: means over windows.
        more: mean difference; interval: Student's, 95 %, over blocks; None of too few.
    """

    name: str
    with_: float
    without: float
    more: float
    interval: Interval | None

    @property
    def is_more(self) -> bool:
        """Whether it is surely more with the suspect."""
        return self.interval is not None and self.interval.lo > 0


def change(name: str, pairs: Sequence[tuple[float, float]]) -> Change:
    """Compare a cost; `pairs`: with the suspect and without, of each block."""
    values = np.array(pairs, np.float64).reshape(-1, 2)
    differences = values[:, 0] - values[:, 1]
    count, interval = len(differences), None
    mean = float(differences.mean()) if count else 0.0
    if count >= BLOCKS_MIN:
        error = float(differences.std(ddof=1)) / math.sqrt(count)
        half = student(count - 1, 1 - ALPHA) * error
        interval = Interval(lo=mean - half, hi=mean + half)
    means = values.mean(axis=0) if count else np.zeros(2)
    return Change(
        name=name, with_=float(means[0]), without=float(means[1]), more=mean, interval=interval
    )
