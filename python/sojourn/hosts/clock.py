"""Clocks of other hosts: offset and drift from an exchange of stamps. Pure.

The driver looks at its clock, asks a host for the time of its own, and looks again. The host read
its clock in between, so its offset (host minus driver) lies between stamp − second look and stamp −
first look, however long either way took. Of many exchanges the narrowest bounds count, which those
with short ways give: the midpoint is the estimate, half the width its error, surely and not by
chance (Cristian, Probabilistic Clock Synchronization, 1989).

Clocks drift. Two readings some seconds apart bound the offset between them by a straight line, if
the rate of the clock is steady meanwhile; a kernel that begins to slew it leaves the line by at
most `DRIFT_MAX` of the time to the nearer reading. So does a clock beyond its readings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

DRIFT_MAX = 500e-6  # as the kernel's adjtimex allows; crystals are within 100e-6
EXCHANGES_MAX, EXCHANGES_ALL = 40, 1000  # readings of a clock, of one host and of all together


class Exchange(NamedTuple):
    """One question for the time, ns: by the driver's clock, the host's, and the driver's again."""

    sent_ns: int
    stamp_ns: int
    back_ns: int


class JumpedError(ValueError):
    """A clock did what no drift does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is known of a host's clock at one instant.

    Attributes:
        at_ns: the instant, by the driver's clock.
        offset_ns: the host's clock minus the driver's.
        error_ns: the offset is certainly within so much of that.
        way_ns: the shortest exchange, there and back.
        exchanges: that were made.
    """

    at_ns: int
    offset_ns: float
    error_ns: float
    way_ns: int = 0
    exchanges: int = 0

    @property
    def low_ns(self) -> float:
        """The least that the offset can be."""
        return self.offset_ns - self.error_ns

    @property
    def high_ns(self) -> float:
        """The most that the offset can be."""
        return self.offset_ns + self.error_ns


def reading(exchanges: Sequence[Exchange]) -> Reading:
    """The offset that fits all exchanges, which were made shortly after one another.

    Raises:
        JumpedError: none fits, so the clock was set meanwhile.

    >>> reading([Exchange(0, 1_000_300, 500), Exchange(1000, 1_001_200, 1900)]).offset_ns
    1000000.0
    """
    middle = (exchanges[0].sent_ns + exchanges[-1].back_ns) // 2
    slack = DRIFT_MAX * (exchanges[-1].back_ns - exchanges[0].sent_ns) / 2
    high = min(one.stamp_ns - one.sent_ns for one in exchanges)
    low = max(one.stamp_ns - one.back_ns for one in exchanges)
    if low > high + 2 * slack:
        raise JumpedError(f"the clock jumped by {(low - high) / 1e6:.3f} ms while it was read")
    return Reading(
        at_ns=middle,
        offset_ns=(low + high) / 2,
        error_ns=abs(high - low) / 2 + slack,
        way_ns=min(one.back_ns - one.sent_ns for one in exchanges),
        exchanges=len(exchanges),
    )


class Bounds:
    """Between which an offset is, exchange by exchange: a clock that is set leaves them at once.

    Two readings ten minutes apart allow for 300 ms of drift, behind which a jump can hide.
    """

    def __init__(self, last: Reading) -> None:
        """Begin with what a reading says of the offset."""
        self._low, self._high, self._at_ns = last.low_ns, last.high_ns, last.at_ns

    def add(self, one: Exchange) -> None:
        """One more exchange, later than all before.

        Raises:
            JumpedError: it does not follow from those by any drift.
        """
        reach = DRIFT_MAX * max(0, one.back_ns - self._at_ns)
        low = max(self._low - reach, one.stamp_ns - one.back_ns)
        high = min(self._high + reach, one.stamp_ns - one.sent_ns)
        if low > high:
            seconds = (one.back_ns - self._at_ns) / 1e9
            raise JumpedError(f"the clock jumped by {(low - high) / 1e6:.3f} ms in {seconds:.1f} s")
        self._low, self._high, self._at_ns = low, high, one.sent_ns


def exchanges_max(clients: int) -> int:
    """How often each clock is read at most: together some `EXCHANGES_ALL`, half a second.

    >>> [exchanges_max(n) for n in (1, 25, 100, 1000)]
    [40, 40, 10, 1]
    """
    return max(1, min(EXCHANGES_MAX, EXCHANGES_ALL // clients))


def same(at_ns: int) -> Reading:
    """Of a process that reads the driver's own clock: the offset is 0."""
    return Reading(at_ns=at_ns, offset_ns=0.0, error_ns=0.0)


@dataclass(frozen=True, slots=True)
class HostClock:
    """A host's clock, by its readings so far, in order of time."""

    readings: tuple[Reading, ...]

    def with_reading(self, new: Reading) -> HostClock:
        """The same and one reading more.

        Raises:
            JumpedError: it does not follow from the last one by any drift.
        """
        last = self.readings[-1]
        reach = DRIFT_MAX * (new.at_ns - last.at_ns)
        gap = max(new.low_ns - last.high_ns, last.low_ns - new.high_ns)
        if gap > reach:
            seconds = (new.at_ns - last.at_ns) / 1e9
            raise JumpedError(f"the clock jumped by {gap / 1e6:.3f} ms within {seconds:.1f} s")
        return HostClock((*self.readings, new))

    def at(self, at_ns: int) -> Reading:
        """The offset at an instant of the driver's clock, with its error, which grows with time."""
        before = [one for one in self.readings if one.at_ns <= at_ns]
        after = [one for one in self.readings if one.at_ns > at_ns]
        if not before or not after:
            return self._beyond(at_ns)
        old, new = before[-1], after[0]
        part = (at_ns - old.at_ns) / (new.at_ns - old.at_ns)
        return Reading(
            at_ns=at_ns,
            offset_ns=old.offset_ns + part * (new.offset_ns - old.offset_ns),
            error_ns=old.error_ns + part * (new.error_ns - old.error_ns),
        )

    def _beyond(self, at_ns: int) -> Reading:
        """After the last reading or before the first: along the drift, where that is known."""
        near = self.readings[-1] if at_ns >= self.readings[-1].at_ns else self.readings[0]
        away = at_ns - near.at_ns
        drift, error = self.drift()
        return Reading(
            at_ns=at_ns,
            offset_ns=near.offset_ns + drift * away,
            error_ns=near.error_ns + error * abs(away),
        )

    def drift(self) -> tuple[float, float]:
        """Gain of the host's clock on the driver's, and its error, as shares of the time.

        Of first and last reading; 0 and `DRIFT_MAX` where they are too near each other to know.
        """
        first, last = self.readings[0], self.readings[-1]
        length = last.at_ns - first.at_ns
        if not length or (first.error_ns + last.error_ns) / length >= DRIFT_MAX:
            return 0.0, DRIFT_MAX
        slope = (last.offset_ns - first.offset_ns) / length
        return slope, (first.error_ns + last.error_ns) / length

    def there(self, at_ns: int) -> int:
        """What the host's clock shows at an instant of the driver's."""
        return at_ns + round(self.at(at_ns).offset_ns)

    def here(self, there_ns: int) -> Reading:
        """When the host's clock showed a time, by the driver's: `at_ns`, and how sure that is."""
        at_ns = there_ns - round(self.readings[-1].offset_ns)
        for _ in range(3):  # each step leaves a share of DRIFT_MAX of the error before
            at_ns = there_ns - round(self.at(at_ns).offset_ns)
        return self.at(at_ns)


def spread_ns(starts: Sequence[Reading]) -> float:
    """By how much starts certainly do not differ more, ns: errors are counted in full.

    >>> one, two = Reading(at_ns=100, offset_ns=0, error_ns=5), same(120)
    >>> spread_ns([one, two]), spread_ns([one])
    (25.0, 0)
    """
    if len(starts) < 2:
        return 0
    late = sorted(((one.at_ns + one.error_ns, nth) for nth, one in enumerate(starts)))[-2:]
    early = sorted(((one.at_ns - one.error_ns, nth) for nth, one in enumerate(starts)))[:2]
    return max(last - first for last, nth in late for first, other in early if nth != other)
