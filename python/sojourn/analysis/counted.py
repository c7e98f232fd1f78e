"""How much of a question is answered: so many of so many, and what an interval must be to count.

An interval whose ends lie more than a factor of three apart answers nothing (M37): "2 times (0.1 to
34)" is compatible with a cure and with a disaster. A narrow one does, on whichever side of 1 it
lies; where it holds 1 the answer is that there is no difference beyond its ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sojourn.analysis import trend
from sojourn.findings.effects import Effect, FactorFinding, Trend
from sojourn.stats.interval import Interval
from sojourn.stats.method import Method

METHOD = Method(
    name="counted",
    about="how much of a study's own question is answered",
    ids=("M37",),
    source="the rule that an interval wider than a factor of three answers nothing",
)

SPAN_MAX = 3.0  # from one end of an interval to the other, as a ratio
NUMBERS = "numbers"  # where units differ
EFFECTS = "effects"
_SURE = {"flat", "cliff", "knee", "rises", "falls", "mixed"}


@dataclass(frozen=True, slots=True)
class Counted:
    """So many of so many.

    Attributes:
        done: how many are decided; of: all; unit: what they are, plural: "cells".
    """

    done: int
    of: int
    unit: str


def total(parts: Sequence[Counted]) -> Counted:
    """All parts together.

    >>> total([Counted(13, 14, "loads"), Counted(1, 2, "loads")])
    Counted(done=14, of=16, unit='loads')
    >>> total([Counted(13, 14, "loads"), Counted(1, 2, "services")])
    Counted(done=14, of=16, unit='numbers')
    """
    units = {part.unit for part in parts if part.of}
    unit = units.pop() if len(units) == 1 else NUMBERS
    return Counted(sum(part.done for part in parts), sum(part.of for part in parts), unit)


def count(decided: Iterable[bool], unit: str) -> Counted:
    """How many of these are decided.

    >>> count([True, False, True], "cells")
    Counted(done=2, of=3, unit='cells')
    """
    each = list(decided)
    return Counted(sum(each), len(each), unit)


def is_narrow(interval: Interval | None) -> bool:
    """Whether an interval of a ratio, a time or a rate answers anything.

    >>> is_narrow(Interval(1.0, 2.9)), is_narrow(Interval(1.0, 3.1)), is_narrow(None)
    (True, False, False)
    """
    if interval is None or interval.lo <= 0 or not math.isfinite(interval.hi):
        return False
    return interval.hi <= SPAN_MAX * interval.lo


def of_factors(factors: Sequence[FactorFinding]) -> Counted | None:
    """Effects of all factors, level by level; None where nothing is compared."""
    each = [decided for factor in factors for decided in _effects(factor)]
    return count(each, EFFECTS) if each else None


def open_effects(factor: FactorFinding) -> tuple[Effect, ...]:
    """Effects that its question asks for and that nothing decides."""
    settled = _settled(factor)
    return tuple(e for e in asked_of(factor) if e.what not in settled and not is_decided(e))


def asked_of(factor: FactorFinding) -> tuple[Effect, ...]:
    """Effects that its question asks for: all, where it does not say which."""
    return tuple(e for e in factor.effects if not factor.asked or e.what in factor.asked)


def _effects(factor: FactorFinding) -> Iterable[bool]:
    settled, effects = _settled(factor), asked_of(factor)
    yield from (one.what in settled or is_decided(one) for one in effects)
    known = {one.what for one in effects}
    yield from (one.what in settled for one in factor.trends if one.what not in known)


def _settled(factor: FactorFinding) -> set[str]:
    """Numbers whose way over all levels is known, so that no level by itself has to be."""
    return {one.what for one in factor.trends if is_decided(one)}


def is_decided(one: Effect | Trend) -> bool:
    """Whether an effect, or a trend over all levels, is an answer.

    What differs by no more than equal runs do is none, unless equal runs are alike enough to say
    that there is no more to it.
    """
    if isinstance(one, Trend):
        return _is_sure(one)
    if one.endless:
        return True
    if not is_narrow(one.interval):
        return False
    assert one.interval is not None  # noqa: S101  # it is narrow
    differs = not one.interval.lo <= 1 <= one.interval.hi
    if not (differs and one.is_noise):
        return True
    return one.noise_gate is not None and one.noise_gate**2 <= SPAN_MAX


def _is_sure(one: Trend) -> bool:
    if one.kind in _SURE:
        return one.kind == "flat" or is_narrow(one.interval)
    return one.kind == trend.UNCLEAR and one.span is not None and one.span <= SPAN_MAX
