"""Numbers as people read them: three significant digits, a unit, and never a bare infinity."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sojourn.analysis.findings import Estimate, Interval
from sojourn.plan.points import Verdict

_TIMES = ((1e3, 1.0, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms"), (math.inf, 1e9, "s"))
_SCALES = ((1e3, 1.0, ""), (1e6, 1e3, "k"), (1e9, 1e6, "M"), (math.inf, 1e9, "G"))

# A verdict is told by a word and a sign; colour only repeats it.
SIGNS = {Verdict.HOLDS: "✓", Verdict.VIOLATED: "✗", Verdict.UNKNOWN: "?"}


def digits(value: float) -> str:
    """Three significant digits without an exponent.

    >>> digits(1.3149), digits(70.0), digits(412.4), digits(0.0), digits(5230.0)
    ('1.31', '70.0', '412', '0', '5230')
    """
    if value == 0:
        return "0"
    places = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    return f"{rounded:.{max(0, 2 - math.floor(math.log10(abs(rounded))))}f}"


def time(ns: float | None) -> str:
    """A time with its unit; infinite means that requests never completed.

    >>> time(1_314_900.0), time(412.4), time(999_900.0), time(math.inf), time(None)
    ('1.31 ms', '412 ns', '1.00 ms', 'never', '–')
    """
    if ns is None:
        return "–"
    if not math.isfinite(ns):
        return "never"
    scale, unit = _time_unit(ns)
    return f"{digits(ns / scale)} {unit}"


def times(interval: Interval | None) -> str:
    """An interval of times in one unit: that of its upper end.

    >>> times(Interval(lo=890_000.0, hi=1_250_000.0)), times(None)
    ('0.890–1.25 ms', '–')
    >>> times(Interval(lo=890_000.0, hi=math.inf))
    '≥ 890 µs'
    """
    if interval is None:
        return "–"
    if not math.isfinite(interval.lo):
        return "never"
    if not math.isfinite(interval.hi):
        return f"≥ {time(interval.lo)}"
    scale, unit = _time_unit(interval.hi)
    return f"{digits(interval.lo / scale)}–{digits(interval.hi / scale)} {unit}"


def count(number: float | None) -> str:
    """A count or rate with k, M or G.

    >>> count(52_300.0), count(950.0), count(None), count(1_200_000.0)
    ('52.3k', '950', '–', '1.20M')
    """
    if number is None:
        return "–"
    if not math.isfinite(number):
        return "∞"
    scale, unit = _unit(number, _SCALES)
    return f"{digits(number / scale)}{unit}"


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


def span(seconds: float) -> str:
    """A length of wall time.

    >>> span(12.4), span(125.0), span(7380.0)
    ('12.4 s', '2 min 5 s', '2 h 3 min')
    """
    if seconds < 60:
        return f"{digits(seconds)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


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


def _time_unit(ns: float) -> tuple[float, str]:
    return _unit(ns, _TIMES)


def _unit(value: float, units: Sequence[tuple[float, float, str]]) -> tuple[float, str]:
    """The unit in which `value`, rounded to three digits, lies below the next one."""
    size = abs(float(f"{value:.3g}"))
    return next((scale, unit) for limit, scale, unit in units if size < limit)
