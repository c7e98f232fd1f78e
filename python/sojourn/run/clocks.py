"""Whether the machine slept under load, or its time of day was set.

All times of requests are of the clock that stands still while the machine sleeps, so a second that
was slept away is in none of them. Samples of what was used are put to a load by the time of day.
"""

from __future__ import annotations

import time
from typing import Any

SLEPT_S_MIN = 0.01
SET_S_MIN = 0.5  # of what is set at once; a clock that is slewed goes on
TRIES = 3  # between two looks of one try the program may be kept from its CPU


class Clocks:
    """Looks at the clocks when a load begins, and says at its end what became of them."""

    def __init__(self) -> None:
        """Looks at the clocks: the load begins now."""
        self._before = _apart()

    def seen(self) -> dict[str, Any]:
        """Keys of `host.json`, s: none where all clocks went on together."""
        slept_s, set_s = (now - then for now, then in zip(_apart(), self._before, strict=True))
        results: dict[str, Any] = {}
        if slept_s > SLEPT_S_MIN:
            results["suspended_s"] = round(slept_s, 3)
        if abs(set_s - slept_s) > SET_S_MIN:
            results["clock_set_s"] = round(set_s - slept_s, 3)
        return results


def _apart() -> tuple[float, float]:
    """How far the clock that goes on in sleep, and the time of day, are ahead of the monotonic."""
    clocks = (time.CLOCK_BOOTTIME, time.CLOCK_REALTIME)
    least = [min(_ahead(clock) for _ in range(TRIES)) for clock in clocks]
    return least[0], least[1]


def _ahead(clock: int) -> float:
    since = time.monotonic()
    return time.clock_gettime(clock) - since
