"""Numbers of a sentence, rounded to what their interval knows."""

from __future__ import annotations

import math

from sojourn import units
from sojourn.stats.interval import Interval

SPREAD_MAX = 3.0  # from one end of an interval to the other: a wider one answers nothing
DECIMALS_MAX = 3
FINEST = 6  # digits after the point of a ratio that is tiny, or hardly another than 1
LEAST = 1.001  # a change below which none is claimed to be seen
FEW = 1.5  # a half width that begins with less gets a digit more


def decimals(lo: float, hi: float, most: int = DECIMALS_MAX) -> int:
    """Digits after the point that an interval leaves standing, `most` at most.

    >>> decimals(1.19, 3.27), decimals(0.46, 0.64), decimals(18.7, 27.5), decimals(1200, 1900)
    (1, 2, 0, -2)
    """
    half = (hi - lo) / 2
    if not math.isfinite(half) or half <= 0:
        return DECIMALS_MAX
    power = math.floor(math.log10(half))
    more = 1 if half / math.pow(10, power) < FEW else 0
    return min(most, more - power)


def plain(value: float, digits: int) -> str:
    """A number with so many digits after the point.

    >>> plain(1234.0, -2), plain(0.5412, 2)
    ('1,200', '0.54')
    """
    return f"{round(value, digits):,.{max(0, digits)}f}"


def ratio(value: float, ends: Interval | None) -> str:
    """A ratio with its interval: `2.0 (1.2–3.3)`.

    >>> ratio(1.97, Interval(1.19, 3.27)), ratio(0.5412, Interval(0.46, 0.64)), ratio(1.97, None)
    ('2.0 (1.2–3.3)', '0.54 (0.46–0.64)', '2.0')
    >>> ratio(1.19, Interval(1.04, 1.36)), ratio(1.1, Interval(0.9, 1.36))
    ('1.19 (1.04–1.36)', '1.1 (0.9–1.4)')
    >>> ratio(1e-4, Interval(9e-5, 1.1e-4)), ratio(1.0004, Interval(1.0002, 1.0006))
    ('0.0001 (0.0001–0.0001)', '1.0004 (1.0002–1.0006)')
    >>> ratio(1.1, Interval(1.0000001, 1.2))
    '1.100 (1.000–1.200)'
    """
    if ends is None:
        return f"{value:#.2g}".rstrip(".")
    if is_wide(ends):
        return f"{value:.2g} ({ends.lo:.2g}–{ends.hi:.2g})"
    digits, finest = decimals(ends.lo, ends.hi), decimals(ends.lo, ends.hi, FINEST)
    while digits < max(DECIMALS_MAX, finest) and not _keeps_side(ends, digits):
        digits += 1
    return f"{plain(value, digits)} ({plain(ends.lo, digits)}–{plain(ends.hi, digits)})"


def _keeps_side(ends: Interval, digits: int) -> bool:
    """Whether an end that is not 1 still lies on its side of 1 when it is rounded, and above 0."""
    return (
        (ends.lo <= 1 or round(ends.lo, digits) > 1)
        and (ends.hi >= 1 or round(ends.hi, digits) < 1)
        and round(ends.lo, digits) >= ends.lo / 2
    )


def time(ns: float, ends: Interval | None) -> str:
    """A time with its interval, the unit once: `38 µs (37–39)`.

    >>> time(37_900.0, Interval(37_700.0, 38_100.0)), time(9.5e8, Interval(9e8, 1.02e9))
    ('37.9 µs (37.7–38.1)', '950 ms (900–1,020)')
    >>> time(37_912.0, None)
    '38 µs'
    """
    scale, unit = _unit(ns)
    if ends is None:
        return f"{plain(ns / scale, 0 if ns / scale >= 10 else 1)} {unit}"
    digits = decimals(ends.lo / scale, ends.hi / scale)
    value, lo, hi = (plain(one / scale, digits) for one in (ns, ends.lo, ends.hi))
    return f"{value} {unit} ({lo}–{hi})"


def _unit(ns: float) -> tuple[float, str]:
    unit = units.show_ns(ns).split()[1]
    return {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit], unit


def is_wide(ends: Interval) -> bool:
    """Whether an interval of a ratio spans so much that it answers nothing."""
    return ends.lo <= 0 or ends.hi / ends.lo > SPREAD_MAX


def excludes_one(ends: Interval) -> bool:
    """Whether a difference was shown."""
    return ends.lo > 1 or ends.hi < 1


def span(value: float, ends: Interval, *, is_shown: bool) -> str:
    """A ratio as a row has it; of a wide interval what it knows: `at least 32`.

    >>> span(60.0, Interval(32.0, 140.0), is_shown=True)
    'at least 32'
    >>> span(3.0, Interval(1.06, 9.0), is_shown=True)
    'at least 1.06'
    >>> span(2.0, Interval(0.5, 8.0), is_shown=False), span(1.97, Interval(1.2, 3.3), is_shown=True)
    ('seen only above × 4', '2.0 (1.2–3.3)')
    """
    if not is_wide(ends):
        return ratio(value, ends)
    if is_shown and excludes_one(ends):
        is_more = ends.lo > 1
        return f"at least {outward(ends.lo, -1)}" if is_more else f"at most {outward(ends.hi)}"
    return f"seen only above × {outward(visible(ends))}"


def outward(bound: float, way: int = 1) -> str:
    """A bound in two digits, rounded so that it still holds: up, or down where `way` is −1.

    It keeps its side of 1 where three digits after the point suffice.

    >>> outward(32.0, -1), outward(1.06, -1), outward(0.204), outward(0.96), outward(16.81)
    ('32', '1.06', '0.21', '0.96', '17')
    >>> outward(1.16, -1), outward(1.04, -1), outward(0.996), outward(1234.0)
    ('1.1', '1.04', '0.996', '1,300')
    """
    if not math.isfinite(bound) or bound <= 0:
        return f"{bound:.2g}"
    digits = 1 - math.floor(math.log10(bound))
    value = units.outward(bound, digits, way)
    while bound != 1 and (bound - 1) * (value - 1) <= 0 and digits < DECIMALS_MAX:
        digits += 1
        value = units.outward(bound, digits, way)
    text = f"{value:,.{max(0, digits)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def visible(ends: Interval) -> float:
    """The factor by which a number would have to change to be seen with such an interval.

    >>> round(visible(Interval(0.5, 2.0)), 3)
    2.0
    """
    return math.sqrt(ends.hi / ends.lo) if ends.lo > 0 else math.inf


def factor(value: float) -> str:
    """A factor above which a change would be seen, or a percentage of a small one, rounded up.

    >>> factor(1.07), factor(1.071), factor(1.9), factor(4.21), factor(34.1)
    ('7 %', '8 %', 'a factor of 1.9', 'a factor of 4.3', 'a factor of 35')
    >>> factor(1.0)  # of numbers that do not vary at all, less is not claimed
    '0.1 %'
    """
    if value < 1.5:
        value = max(value, LEAST)
        digits = 0 if value >= 1.01 else 1
        return f"{units.outward(100 * (value - 1), digits, 1):.{digits}f} %"
    return f"a factor of {outward(value)}" if value < 1000 else "a factor of more than 1000"


def factors(least: float, most: float) -> str:
    """From the one to the other of what `factor` says, with what they share once.

    >>> factors(1.1, 17.0), factors(1.2, 1.2), factors(1.07, 1.12), factors(1.6, 4.0)
    ('10 % to a factor of 17', '20 %', '7 to 12 %', 'a factor of 1.6 to 4')
    """
    low, high = factor(least), factor(most)
    if low == high:
        return high
    shared = next((one for one in ("a factor of ", " %") if one in low and one in high), "")
    if shared == " %":
        return f"{low.removesuffix(shared)} to {high}"
    return f"{low} to {high.removeprefix(shared)}" if shared else f"{low} to {high}"


def part(value: float, ends: Interval | None) -> str:
    """A share of one with its interval, all three with as many digits: `63 % (62–65 %)`.

    >>> part(0.63, Interval(0.615, 0.646)), part(0.48, None), part(0.5, Interval(0.498, 0.503))
    ('63 % (62–65 %)', '48 %', '50.0 % (49.8–50.3 %)')
    """
    if ends is None:
        return f"{100 * value:.2g} %" if value < 1 else f"{100 * value:.0f} %"
    digits = max(0, min(1, decimals(100 * ends.lo, 100 * ends.hi)))
    low, mid, high = (f"{100 * one:.{digits}f}" for one in (ends.lo, value, ends.hi))
    return f"{mid} % ({low}–{high} %)"


def share(value: float, ends: Interval | None) -> str:
    """By how much less or more a ratio is, in percent: `46 % (36–54)`.

    >>> share(0.54, Interval(0.46, 0.64)), share(1.2, Interval(1.1, 1.3))
    ('46 % (36–54)', '20 % (10–30)')
    >>> share(0.9996, Interval(0.9993, 0.9999))  # what was shown is not none
    '0.04 % (0.01–0.07)'
    """
    change = 100 * abs(value - 1)
    if ends is None:
        return f"{change:.0f} %"
    sides = sorted(100 * abs(end - 1) for end in (ends.lo, ends.hi))
    digits = min(1, decimals(sides[0], sides[1]))
    while digits < FINEST and change and not round(change, digits):
        digits += 1
    low, high = (plain(side, digits) for side in sides)
    return f"{plain(change, digits)} % ({low}–{high})"
