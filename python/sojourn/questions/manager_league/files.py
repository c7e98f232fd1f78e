"""A managed point: late requests second by second, and what its manager did.

Seconds are those of the generator's interval log, by when requests were due. `manager.json` is
written by the manager's actor; a point without a manager has none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from sojourn import late as later
from sojourn import units
from sojourn.findings.measured import Measured
from sojourn.plan.points import Outcome
from sojourn.samples import Interval, intervals
from sojourn.samples.contract import Table, table_of
from sojourn.samples.names import HLOG
from sojourn.stats import times

if TYPE_CHECKING:
    import scipy
else:
    scipy = later.module("scipy")

FILE, FORM, MAJOR = "manager.json", "sojourn.manager", 1
LATE_MAX = 0.1  # of the measured part
SHARE, USUAL = 0.01, 49 / 50
"""A second is violated if it has more late requests than one with exactly 1 % has in 49 of 50."""


class Did(Table):
    """What a manager did in the measured part of a point.

    Attributes:
        settled: the last level of each knob that it moved.
        ended: why it ended before the load did; "": it did not.
        late_s: how much of `seconds` it decided nothing in, because it had no CPU.
    """

    manager: str
    changes: int
    seconds: float
    settled: Mapping[str, Any] = Field(default_factory=dict)
    ended: str = ""
    late_s: float = 0.0

    @property
    def was_held_up(self) -> bool:
        """Whether it had no CPU for so long that the run is no run of it."""
        return self.late_s > LATE_MAX * self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Managed:
    """One run.

    Attributes:
        seconds: (requests, late ones) of each second of the load.
        did: None: there was no manager.
    """

    seconds: tuple[tuple[int, int], ...]
    did: Did | None = None

    @property
    def violated(self) -> int:
        """Seconds in which more requests were late than chance explains."""
        return sum(is_violated(n, late) for n, late in self.seconds)

    @property
    def late(self) -> float:
        """Share of all requests; 0 without any."""
        n = sum(n for n, _ in self.seconds)
        return sum(late for _, late in self.seconds) / n if n else 0.0


def is_violated(n: int, late: int) -> bool:
    """Whether a second had more late requests than one with 1 % by chance.

    >>> is_violated(1000, 17), is_violated(1000, 18), is_violated(0, 0)
    (False, True, False)
    """
    return late > usual(n)


@lru_cache(4096)
def usual(n: int) -> int:
    """Late requests that 49 of 50 seconds with exactly 1 % do not exceed (binomial).

    >>> usual(1), usual(100), usual(10_000)
    (0, 3, 121)
    """
    count = math.floor(SHARE * n)
    while n and scipy.special.bdtr(count, n, SHARE) < USUAL:
        count += 1
    return count


def read(folder: Path, outcome: Outcome) -> Managed | None:
    """What a point left; None where it has no requests.

    Raises:
        StoreFault: a file is damaged, or of a newer version.
    """
    if not outcome.requests:
        return None
    bound_ns = units.parse_ns(str(dict(outcome.point.overrides).get("qos_bound") or "0s"))
    log = (one for one in intervals(folder / HLOG) if not one.tag)
    did = None
    if (folder / FILE).exists():
        did = table_of(Did, folder / FILE, FORM, MAJOR, what="file of a manager")
    return Managed(seconds=by_second(log, bound_ns), did=did)


def by_second(log: Iterable[Interval], bound_ns: float) -> tuple[tuple[int, int], ...]:
    """(requests, late ones) of each whole second, by slices that may be shorter."""
    results: dict[int, tuple[int, int]] = {}
    for one in log:
        sojourn = times.from_histogram(one.sojourn)
        second = int(one.start_s + 1e-6)
        n, late = results.get(second, (0, 0))
        results[second] = n + sojourn.n, late + sojourn.over(bound_ns)
    return tuple(results[second] for second in sorted(results))


def of(measured: Measured) -> Managed | None:
    """Of a point as it was read: what was seen at it; None if nothing was."""
    return measured.own if isinstance(measured.own, Managed) else None
