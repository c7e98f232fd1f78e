"""How many draws an end of a bootstrap interval leaves out where units are few.

Draws of n units scatter less than n units do, by √((n - 1)/n). Their quantiles are also as near as
those of a normal law, where Student's lie farther out. So the interval between the 2.5 % and the
97.5 % quantile of draws covers 89 % with eight normal units, and 87 % with six. The expanded
interval leaves out fewer draws, so that it is as wide as Student's.

Source: Hesterberg, "What teachers should know about the bootstrap", The American Statistician 69
(2015), on the expanded percentile interval.
"""

from __future__ import annotations

import math

from sojourn.half_width import student


def left_out(share: float, units: int) -> float:
    """The share of draws beyond an end, so that it is beyond the truth with probability `share`.

    Args:
        share: in (0, 0.5).
        units: that are drawn whole, two at least.

    >>> round(left_out(0.025, 8), 4), round(left_out(0.025, 1000), 4)
    (0.0057, 0.0248)
    """
    import scipy  # noqa: PLC0415  # slow to load

    half = student(units - 1, 1 - 2 * share) * math.sqrt(units / (units - 1))
    return float(scipy.special.ndtr(-half))
