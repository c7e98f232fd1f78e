"""Numbers as people read them: three significant digits, a unit, and never a bare infinity."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping, Sequence

from sojourn import units
from sojourn.findings.highest_load import Border, is_closed
from sojourn.plan.points import Verdict
from sojourn.stats.interval import Estimate, Interval
from sojourn.text.numbers import load_share
from sojourn.text.some import some
from sojourn.visible import visible

# A verdict is told by a word and a sign; colour only repeats it.
SIGNS: Mapping[str, str] = {
    Verdict.HOLDS: "✓",
    Verdict.VIOLATED: "✗",
    Verdict.UNKNOWN: "?",
    "arithmetic": "=",
}


def time(ns: float | None, way: int = 0) -> str:
    """A time with its unit; infinite means that requests never completed; `way` as in `units`.

    >>> time(1_314_900.0), time(412.4), time(math.inf), time(None)
    ('1.31 ms', '412 ns', 'never', '–')
    """
    if ns is None:
        return "–"
    return units.show_ns(ns, way) if math.isfinite(ns) else "never"


def times(interval: Interval | None) -> str:
    """An interval of times; the unit is reported once where both ends share it.

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
        return f"≥ {time(interval.lo, -1)}"
    lo, hi = units.show_ns(interval.lo), units.show_ns(interval.hi)
    same_unit = lo.split()[1] == hi.split()[1]
    return f"{lo.split()[0] if same_unit else lo}–{hi}"


def count(number: float | None, way: int = 0) -> str:
    """A count or rate with k, M or G; `way` as in `units`.

    >>> count(52_300.0), count(950.0), count(None), count(1_200_000.0)
    ('52.3k', '950', '–', '1.20M')
    """
    if number is None:
        return "–"
    return units.show_count(number, way) if math.isfinite(number) else "∞"


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


def load(fraction: float) -> str:
    """A load as a share of max RPS: loads that differ look different, in every table and label.

    >>> load(0.7), load(0.9904), load(0.9905)
    ('70 %', '99.04 %', '99.05 %')
    """
    return load_share(fraction)


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


def estimate(result: Estimate | None) -> str:
    """An estimate as a cell: the number, or why there is none."""
    if result is None:
        return "–"
    if result.value is None:
        return f"refused: {result.refused}" if result.refused else "refused"
    return time(result.value)


def with_interval(result: Estimate | None) -> str:
    """An estimate as a cell, with its interval where it has one; a dash where there is no number.

    >>> with_interval(None)
    '–'
    """
    if result is None or result.value is None:
        return "–"
    ends = f" ({times(result.interval)})" if result.interval else ""
    return f"{time(result.value)}{ends}"


def verdict(what: Verdict) -> str:
    """The verdict with its sign: `✓ holds`."""
    return f"{SIGNS[what]} {what.value}"


def sentences(reasons: Sequence[str]) -> str:
    """Reasons in one line, parted by semicolons; empty ones left out."""
    return "; ".join(reason for reason in reasons if reason)


def round_count(number: float, way: int = 0) -> str:
    """A count without digits that say nothing; `way` as in `units`.

    >>> round_count(97_000.0), round_count(35_400.0), round_count(0.0)
    ('97k', '35.4k', '0')
    """
    shown = count(number, way)
    return shown.replace(".0", "") if shown[:-1].endswith(".0") else shown


def border(result: Border) -> str:
    """How much load fits, as one number.

    >>> from sojourn.findings.highest_load import Border
    >>> from sojourn.stats.interval import Interval
    >>> def of(lo, hi):
    ...     return Border(estimate_rps=1.07e5, interval_rps=Interval(lo, hi), level=0.9,
    ...                   fraction=None, runs=36, starts=9, measured_s=82.0)
    >>> [border(of(*ends)) for ends in ((9.7e4, 1.15e5), (9.7e4, math.inf), (0.0, 1.15e5))]
    ['≈ 107k', 'at least 97k', 'at most 115k']
    >>> border(of(0.0, math.inf)), border(of(97_960.0, math.inf)), border(of(0.0, 115_010.0))
    ('unknown', 'at least 97.9k', 'at most 116k')
    """
    lo, hi = result.interval_rps.lo, result.interval_rps.hi
    if hi <= 0:
        return "no load"
    if is_closed(result):
        return f"≈ {round_count(result.estimate_rps)}"
    if lo > 0:
        return f"at least {round_count(lo, -1)}"
    return f"at most {round_count(hi, 1)}" if math.isfinite(hi) else "unknown"


def within(result: Border) -> str:
    """The interval with its level: `97k–115k, 90 %`; open ends are reported in words."""
    lo, hi = result.interval_rps.lo, result.interval_rps.hi
    level = share(result.level)
    if hi <= 0:
        least = f", down to {round_count(result.curve[0][0])}" if result.curve else ""
        return f"missed at every load tried{least}"
    if is_closed(result):
        return f"{round_count(lo)}–{round_count(hi)}, {level}"
    if lo > 0:
        return f"{level} sure; no load shown to fail"
    return f"{level} sure; no load shown to hold" if math.isfinite(hi) else "no load decided"


def basis(result: Border) -> str:
    """What a border rests on: `36 runs, 82 s`."""
    runs = f"{result.runs} run{'' if result.runs == 1 else 's'}"
    return f"{runs}, {result.measured_s:.0f} s"


def listed(names: Sequence[str], most: int) -> str:
    """Names in a sentence, the first ones.

    >>> listed(("a", "b"), 2), listed(("a", "b", "c", "d"), 2)
    ('a and b', 'a, b and 2 more')
    """
    if len(names) > most or len(names) < 2:
        return some(names, most)
    return f"{', '.join(names[:-1])} and {names[-1]}"


_CODES = re.compile(r" \((?:METHOD |PAPERS )?[MCLP]\d+(?:, [MCLP]\d+)*\)")


#: Brackets of invalid loads have a sentence of their own.
FEW = "At valid loads, numbers in brackets rest on too few requests to say more."
DIGITS = 3  # shown at most, whatever is known
SMALL = 3  # leading digit of an uncertainty below which one more digit is reported


def known(value: float, half: float | None, way: int = 0) -> float:
    """A number rounded to what is known of it, three digits at most.

    Args:
        value: the number.
        half: half of its interval; None: not known, two digits then.
        way: 1 rounds up, as "at most" needs; −1 down; 0: to nearest.

    >>> known(1.2345, 0.01), known(1.2345, 0.4), known(81_234.0, 9_000.0), known(81_234.0, None)
    (1.23, 1.2, 81000.0, 81000.0)
    """
    if not math.isfinite(value) or not value:
        return value
    digits = 2
    if half and math.isfinite(half):
        place = math.floor(math.log10(half))
        finer = half < SMALL * 10**place  # ± 1.4 is known to a tenth, ± 4 to the unit
        digits = math.floor(math.log10(abs(value))) - place + 1 + finer
    digits = min(max(digits, 1), DIGITS)
    if way:
        return units.outward(value, digits - 1 - math.floor(math.log10(abs(value))), way)
    return float(f"{value:.{digits}g}")


_UNITS = re.compile(r"(?<=\d) (?=(?:%|ns|µs|ms|s|h|min|B|[kMG]B|requests/s)(?![A-Za-z]))")
FIXED = "\u00a0"


def fixed(text: str) -> str:
    """The same with numbers that no line break parts from their units.

    >>> fixed("up to 60 % load, 1.2 ms") == f"up to 60{FIXED}% load, 1.2{FIXED}ms"
    True
    """
    return _UNITS.sub(FIXED, text)


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns, broken at no hyphen and between no number and its unit."""
    lines = textwrap.wrap(fixed(visible(text)), width, break_on_hyphens=False)
    return [line.replace(FIXED, " ") for line in lines]


def ruled(title: str, width: int) -> str:
    """A title with a rule behind it up to the edge; a long one has none.

    >>> ruled("memcached", 14), ruled("memcached", 9)
    ('memcached ====', 'memcached')
    """
    return f"{title} ".ljust(width, "=").rstrip()


def uncoded(text: str) -> str:
    """A sentence without the codes of the rules behind it.

    >>> uncoded("p99 grows during the run (M8)"), uncoded("given by the study (PAPERS C4)")
    ('p99 grows during the run', 'given by the study')
    """
    return _CODES.sub("", text)
