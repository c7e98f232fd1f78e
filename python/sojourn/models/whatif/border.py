"""The highest rate within a target, by halving, where quantiles scatter.

Each rate is simulated with the same random numbers. A rate fits if the whole interval of its tail
is within the bound, and does not if none of it is. The border lies between the highest rate up to
which all fit and the lowest that does not. Where the interval holds the bound, nothing is decided.

First the value is halved for, until what is left is small beside the rates that are undecided. Then
both ends are, because the last rate that was decided may lie far from them: it is as far as the
first half that happened to be decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

Ends = tuple[float, float, float]
Tail = Callable[[float], Ends]
STEPS = 9
ENDS_MAX = 4  # halvings for each end
WIDTH = 0.04  # of the value: between an end and the next rate that is undecided
FINE = 0.125  # of the rates that are undecided: the value is no better known than they are
LEAST = 1e-3  # of the capacity: if not even that fits, nothing does


@dataclass(frozen=True, slots=True, kw_only=True)
class Border:
    """The highest rate: what is sure to fit, the best guess, what is sure not to."""

    lo: float
    value: float
    hi: float


@dataclass(slots=True)
class _Tried:
    """Rates that were simulated, and what became of them."""

    tail: Tail
    bound_ns: float
    seen: dict[float, Ends] = field(default_factory=dict)

    def at(self, rps: float) -> Ends:
        self.seen[rps] = self.tail(rps)
        return self.seen[rps]

    def _of(self, decided: Callable[[Ends], bool]) -> Iterable[float]:
        return (rate for rate, ends in self.seen.items() if decided(ends))

    def fits(self, value: float) -> float:
        """The highest rate up to `value` of which the whole interval is within the bound."""
        rates = self._of(lambda ends: ends[2] <= self.bound_ns)
        return max((rate for rate in rates if rate <= value), default=0.0)

    def fails(self, value: float, capacity_rps: float) -> float:
        """The lowest rate from `value` on of which no part of the interval is."""
        rates = self._of(lambda ends: ends[0] > self.bound_ns)
        return min((rate for rate in rates if rate >= value), default=capacity_rps)

    def undecided(self) -> list[float]:
        return sorted(self._of(lambda ends: ends[0] <= self.bound_ns < ends[2]))


def search(tail: Tail, bound_ns: float, capacity_rps: float) -> Border:
    """Halve between nothing and the capacity.

    Args:
        tail: of a rate: lower end, value and upper end of the quantile, ns.
        bound_ns: of the target.
        capacity_rps: above it nothing can be served.
    """
    tried = _Tried(tail, bound_ns)
    lo, hi = LEAST * capacity_rps, capacity_rps
    first = tried.at(lo)
    if first[1] > bound_ns:
        return Border(lo=0.0, value=0.0, hi=lo if first[0] > bound_ns else capacity_rps)
    for _ in range(STEPS):
        middle = (lo + hi) / 2
        lo, hi = (middle, hi) if tried.at(middle)[1] <= bound_ns else (lo, middle)
        unsure = tried.undecided()
        if unsure and hi - lo <= FINE * (unsure[-1] - unsure[0]):
            break
    value = (lo + hi) / 2
    for _ in range(ENDS_MAX):
        near = min((rate for rate in tried.undecided() if rate < value), default=value)
        if near - tried.fits(value) <= WIDTH * value:
            break
        tried.at((near + tried.fits(value)) / 2)
    for _ in range(ENDS_MAX):
        near = max((rate for rate in tried.undecided() if rate > value), default=value)
        far = tried.fails(value, capacity_rps)
        if far - near <= WIDTH * value:
            break
        tried.at((near + far) / 2)
    least, most = tried.fits(value), tried.fails(value, capacity_rps)
    return Border(lo=least, value=value, hi=most)
