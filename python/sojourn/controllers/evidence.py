"""What windows say about the share of late requests.

A stall makes many requests late at once, so late requests do not come one by one. Counts of many
windows are divided by their index of dispersion, as for clustered binomial counts: variance over
mean of the late requests of a window, at least 1. One stall then counts as about one late request,
however many it made late. A few windows do not show their dispersion, so each of them must be late,
and the worst is left out.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sojourn import late
from sojourn.controllers.look import COUNT_MAX, Look, Window

if TYPE_CHECKING:
    import scipy
else:
    scipy = late.module("scipy")

LATE = 0.01  # share of requests that may be late, where the target is on p99
OVERLAP = 0.2  # of a window's length: windows of a source do not end at the looks' times
SUMS = ("windows", "n", "above", "squares")


def load_library() -> None:
    """Import what the first decision needs, because that takes 0.3 s of a CPU."""
    scipy.special.betainc(1.0, 1.0, 0.5)


def probability(window: Window, late: float) -> float | None:
    """Probability that more than `late` of a service's requests are late; None: nothing is known.

    The late requests of the window count as independent of each other.

    >>> round(probability(Window(length_ms=1000, n=1000, above=10), 0.01), 2)
    0.52
    """
    if window.above is not None and window.n > 0:
        return Late().plus(window).probability(late)
    return None


@lru_cache(64)  # asked at each look, where the first touch of the library costs the most
def enough(late: float, fine: float) -> float:
    """The least number of requests, none late, that says that the target holds; inf: no number.

    Args:
        late: share of requests that may be late.
        fine: probability of more late ones, at most.

    >>> enough(0.01, 1e-3), enough(0.0, 1e-3)
    (539, inf)
    """
    most = 1
    while Late(windows=1, n=most).probability(late) > fine:
        most *= 2
        if most >= COUNT_MAX:
            return math.inf
    return bisect_left(range(most), -fine, key=lambda n: -Late(windows=1, n=n).probability(late))


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """Late requests of several windows, added up.

    Attributes:
        windows: how many; after `halved` no whole number.
        squares: sum of the squares of each window's late requests.
    """

    windows: float = 0.0
    n: float = 0.0
    above: float = 0.0
    squares: float = 0.0

    def plus(self, window: Window) -> Late:
        """With one window more; a window without a count adds no late requests."""
        above = min(window.above or 0, window.n)
        return Late(
            windows=self.windows + 1,
            n=self.n + window.n,
            above=self.above + above,
            squares=self.squares + above**2,
        )

    def halved(self) -> Late:
        """Half as much of the same."""
        return Late(**{name: getattr(self, name) / 2 for name in SUMS})

    def without(self, window: Window | None) -> Late:
        """The same but for a window, as if late requests came one by one."""
        n = self.n - (window.n if window else 0)
        above = self.above - ((window.above or 0) if window else 0)
        return Late(windows=1, n=n, above=above, squares=above**2)

    @property
    def share(self) -> float:
        """Of requests that were late; 0 of none."""
        return self.above / self.n if self.n else 0.0

    @property
    def dispersion(self) -> float:
        """Variance over mean of the windows' late requests, at least 1; of one window 1.

        >>> one_stall = Late(windows=3, n=3000, above=60, squares=3600)
        >>> one_stall.dispersion
        60.0
        """
        if self.windows <= 1 or not self.above:
            return 1.0
        mean = self.above / self.windows
        variance = (self.squares - self.windows * mean**2) / (self.windows - 1)
        return max(1.0, variance / mean)

    def probability(self, late: float) -> float:
        """That more than `late` of the service's requests are late (Jeffreys' prior)."""
        above, fine = (count / self.dispersion for count in (self.above, self.n - self.above))
        return 1.0 - float(scipy.special.betainc(above + 0.5, fine + 0.5, late))

    def as_json(self) -> dict[str, float]:
        """For the memory of a controller."""
        return {name: getattr(self, name) for name in SUMS}

    @classmethod
    def of_json(cls, sums: Mapping[str, Any]) -> Late:
        """The same again, from the sums that `as_json` gave."""
        return cls(**{name: float(sums[name]) for name in SUMS})


def shortest(looks: Sequence[Look], name: str, since_s: float) -> Iterator[Window]:
    """A service's shortest windows since `since_s`, without overlaps, the newest first."""
    begin_s = float("inf")
    for look in reversed(looks):
        group = look.groups.get(name)
        if group is None:
            return  # it was not there, and what came before is of another one
        counted = [w for w in group.windows if w.above is not None and w.n]
        window = min(counted, key=lambda one: one.length_ms, default=None)
        if window is None:
            continue
        end_s, length_s = look.t_s - window.age_ms / 1000, window.length_ms / 1000
        if end_s - length_s < since_s - 1e-6:
            return
        if end_s <= begin_s + OVERLAP * length_s:
            begin_s = end_s - length_s
            yield window


def runs(windows: Iterable[Window], least: int, late: float) -> Iterator[Late]:
    """The newest `least` windows added up, then one more each time; none if one of these is fine.

    More than `late` of the requests are late in each of the newest ones. Of several windows the
    worst is left out, because it may be one stall. The late requests of the others count as
    independent of each other.
    """
    total, worst = Late(), None
    for number, window in enumerate(windows, start=1):
        if number <= least and (window.above or 0) <= late * window.n:
            return
        total = total.plus(window)
        if worst is None or (window.above or 0) > (worst.above or 0):
            worst = window
        if number >= least:
            yield total.without(worst if number > 1 else None)
