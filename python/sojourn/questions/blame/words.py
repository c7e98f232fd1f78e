"""Who is to blame, in a sentence: numbers with their intervals."""

from __future__ import annotations

import math

from sojourn import units
from sojourn.questions.blame.blames import Blames
from sojourn.questions.blame.randomisation import Contrast
from sojourn.questions.blame.suspects import CLEARED, GUILTY, UNDECIDED, Row
from sojourn.stats.interval import Interval
from sojourn.text.numbers import percentile


def sentence(section: Blames, label: str) -> str:
    """Who is to blame, who is cleared, and what is left: numbers with intervals."""
    q, guilty = percentile(section.q), [r for r in section.rows if r.word == GUILTY]
    guilty.sort(key=lambda row: -(row.comparison.ratio or 0.0))
    bound = units.show_ns(section.bound_ns)
    target = f"{q} ≤ {bound}" if section.bound_ns else f"a target for {q} that has no bound"
    verb = {True: "misses", False: "meets", None: "may miss"}[section.misses]
    parts = [f"{label} {verb} {target}"]
    if guilty and section.misses is not False:
        parts[0] += f" because of {_harm(guilty[0], q)}"
        parts += [f"and of {_harm(row, q)}" for row in guilty[1:]]
    else:
        at = f": {q} {_time(section.as_is_ns)}{_span(section.as_is)} as it is"
        parts[0] += at
        parts += [f"made longer by {_harm(row, q)}" for row in guilty]
    for word in (CLEARED, UNDECIDED):
        parts += [f"{r.name} {word} {_ratios(r)}" for r in section.rows if r.word == word]
    text = f"{'; '.join(parts)}."
    if section.misses is not False and section.rows:
        text += _rest(section, q)
    if section.strangers and section.misses is not False:
        named = ", ".join(section.strangers_named[:3])
        text += f" Not suspected, but on its CPUs: {named}."
    return text


def _rest(section: Blames, q: str) -> str:
    """What is left with all suspects stopped, where that is over the bound or may be."""
    if not section.bound_ns or (section.rest_ns or 0.0) <= section.bound_ns:
        return ""
    rest = f"{q} {_time(section.rest_ns)}{_span(section.rest)}"
    if section.rest is None or section.rest.lo <= section.bound_ns:
        return f" With all suspects stopped it is {rest}: whether that misses it is not sure."
    return f" With all suspects stopped it is still {rest}: the rest is not theirs."


def _harm(row: Row, q: str) -> str:
    report = row.comparison
    where = f", on {row.resource}" if row.resource else ", on an unknown resource"
    how = "stopped"
    beside = "with it"
    if row.is_hidden:
        beside, how = "with it alone", "nobody"
        hidden = f"; beside the others {_ratio(row.stop)}"
        return (
            f"{row.name}{where}: {q} {_time(report.with_ns)} {beside} and "
            f"{_time(report.without_ns)} with {how} (ratio {_ratio(report)}{hidden})"
        )
    return (
        f"{row.name}{where}: {q} {_time(report.with_ns)} {beside} and "
        f"{_time(report.without_ns)} with it {how} (ratio {_ratio(report)})"
    )


def _ratios(row: Row) -> str:
    """The ratio of stopping it; where it is not that which leaves it open, also by itself."""
    both = f"({_ratio(row.stop)}"
    if row.word == UNDECIDED and row.alone is not None:
        both += f"; by itself {_ratio(row.alone)}"
    return f"{both})"


def limit(contrast: Contrast) -> str:
    """A ratio that lost requests make infinite or 0, as far as it is known; "" of all others."""
    if contrast.ratio is None or contrast.interval is None or 0 < contrast.ratio < math.inf:
        return ""
    lo, hi = contrast.interval.lo, contrast.interval.hi
    if contrast.ratio > 0:
        return f"at least {_digits(lo, -1)}" if lo > 0 else "unknown, lost requests decide it"
    return f"at most {_digits(hi, 1)}" if hi < math.inf else "unknown, lost requests decide it"


def _ratio(contrast: Contrast) -> str:
    if contrast.ratio is None or contrast.interval is None:
        return contrast.refused or "no ratio"
    if text := limit(contrast):
        return text
    lo, hi = contrast.interval.lo, contrast.interval.hi
    return f"{_digits(contrast.ratio)}, {_digits(lo)} to {_digits(hi)}"


def _digits(value: float, way: int = 0) -> str:
    """Three digits around one, two elsewhere; `way` as in `units`.

    >>> _digits(1.024), _digits(23.4), _digits(0.934), _digits(1.024, 1), _digits(23.9, -1)
    ('1.02', '23', '0.93', '1.03', '23')
    >>> _digits(9.96), _digits(9.96, -1)
    ('10', '9.96')
    """
    if way:
        digits = 2 if value < 10 else 0
        return f"{units.outward(value, digits, way):.{digits}f}"
    return f"{value:.2f}" if value < 9.95 else f"{value:.0f}"


def _time(ns: float | None) -> str:
    if ns is None:
        return "unknown"
    return units.show_ns(ns) if ns != float("inf") else "beyond every request that ended"


def _span(interval: Interval | None) -> str:
    if interval is None or math.isinf(interval.lo):
        return ""
    if math.isinf(interval.hi):
        return f" ({units.show_ns(interval.lo, -1)} or more)"
    return f" ({units.show_ns(interval.lo)} to {units.show_ns(interval.hi)})"
