"""Windows of misses by the lab's clock, whatever a client's clock does. Pure.

A client counts its misses in windows of its own time. A clock that drifts by 100 ppm is 60 ms off
after ten minutes, which is many windows. The same excursion would be at one place of one client and
at another of the next, and look like several: as if the run had more evidence than it has (M28). So
each window is moved by as many whole windows as its client's clock is off. No request is lost, and
none is moved by more than half a window too far.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

PACE_OFF_MAX = 0.01  # a clock that is off by more has jumped, which is a fault elsewhere


def aligned(windows: Mapping[str, Any] | None, pace: float) -> Mapping[str, Any] | None:
    """The same windows by another clock.

    Args:
        windows: of a result; None: it has none.
        pace: how long a second of the client's clock is by the other, s.

    >>> aligned({"length_ns": 5, "n": [1, 2, 3], "k": [0, 1, 2], "over": 3, "disturbed": [2]}, 1.0)
    {'length_ns': 5, 'n': [1, 2, 3], 'k': [0, 1, 2], 'over': 3, 'disturbed': [2]}
    """
    if windows is None:
        return None
    pace = min(max(pace, 1 - PACE_OFF_MAX), 1 + PACE_OFF_MAX)
    places = np.floor((np.arange(len(windows["n"])) + 0.5) * pace).astype(np.int64)
    disturbed = {int(places[at]) for at in windows["disturbed"]}
    return {
        **windows,
        "n": _moved(windows["n"], places),
        "k": _moved(windows["k"], places),
        "disturbed": sorted(disturbed),
    }


def _moved(counts: Any, places: np.ndarray) -> list[int]:
    result = np.zeros(int(places[-1]) + 1 if len(places) else 0, np.int64)
    np.add.at(result, places, np.asarray(counts, np.int64))
    return [int(one) for one in result]
