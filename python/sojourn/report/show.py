"""Numbers as people read them: three significant digits, a unit, and never a bare infinity."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sojourn import units
from sojourn.analysis.findings import Estimate, Interval
from sojourn.plan.points import Verdict

# A verdict is told by a word and a sign; colour only repeats it.
SIGNS: Mapping[str, str] = {
    Verdict.HOLDS: "✓", Verdict.VIOLATED: "✗", Verdict.UNKNOWN: "?", "arithmetic": "=",
}  # fmt: skip


def time(ns: float | None) -> str:
    """A time with its unit; infinite means that requests never completed.

    >>> time(1_314_900.0), time(412.4), time(math.inf), time(None)
    ('1.31 ms', '412 ns', 'never', '–')
    """
    if ns is None:
        return "–"
    return units.show_ns(ns) if math.isfinite(ns) else "never"


def times(interval: Interval | None) -> str:
    """An interval of times; the unit is said once where both ends share it.

    >>> times(Interval(lo=890_000.0, hi=1_250_000.0)), times(None)
    ('890 µs–1.25 ms', '–')
    >>> times(Interval(lo=890_000.0, hi=910_000.0)), times(Interval(lo=890_000.0, hi=math.inf))
    ('890–910 µs', '≥ 890 µs')
    """
    if interval is None:
        return "–"
    if not math.isfinite(interval.lo):
        return "never"
    if not math.isfinite(interval.hi):
        return f"≥ {time(interval.lo)}"
    lo, hi = units.show_ns(interval.lo), units.show_ns(interval.hi)
    same_unit = lo.split()[1] == hi.split()[1]
    return f"{lo.split()[0] if same_unit else lo}–{hi}"


def count(number: float | None) -> str:
    """A count or rate with k, M or G.

    >>> count(52_300.0), count(950.0), count(None), count(1_200_000.0)
    ('52.3k', '950', '–', '1.20M')
    """
    if number is None:
        return "–"
    return units.show_count(number) if math.isfinite(number) else "∞"


def whole(number: float) -> str:
    """A number of things, grouped by thousands.

    >>> whole(1234567.0)
    '1,234,567'
    """
    return f"{number:,.0f}"


def share(part: float | None) -> str:
    """A share of one as a percentage.

    >>> share(0.7), share(0.9812), share(0.00042), share(1.0), share(None)
    ('70 %', '98.1 %', '0.042 %', '100 %', '–')
    """
    if part is None:
        return "–"
    if not math.isfinite(part):
        return "∞"
    percent = float(f"{100 * part:.3g}")
    return f"{percent:g} %" if abs(percent) >= 1e-3 or percent == 0 else "<0.001 %"


def shares(interval: Interval | None) -> str:
    """An interval of shares.

    >>> shares(Interval(lo=0.68, hi=0.714))
    '68–71.4 %'
    """
    if interval is None:
        return "–"
    return f"{share(interval.lo).removesuffix(' %')}–{share(interval.hi)}"


def rates(interval: Interval | None) -> str:
    """An interval of rates, requests/s.

    >>> rates(Interval(lo=35_500.0, hi=37_100.0))
    '35.5k–37.1k'
    """
    return "–" if interval is None else f"{count(interval.lo)}–{count(interval.hi)}"


def quantile(q: float | None) -> str:
    """A quantile's name for people.

    >>> quantile(0.99), quantile(0.999), quantile(0.5), quantile(None)
    ('p99', 'p99.9', 'p50', 'mean')
    """
    return "mean" if q is None else f"p{100 * q:.6g}"


def estimate(found: Estimate | None) -> str:
    """An estimate as a cell: the number, or why there is none."""
    if found is None:
        return "–"
    if found.value is None:
        return f"refused: {found.refused}" if found.refused else "refused"
    return time(found.value)


def verdict(what: Verdict) -> str:
    """The verdict with its sign: `✓ holds`."""
    return f"{SIGNS[what]} {what.value}"


def sentences(reasons: Sequence[str]) -> str:
    """Reasons in one line."""
    return "; ".join(reason for reason in reasons if reason)
