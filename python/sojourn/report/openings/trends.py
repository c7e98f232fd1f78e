"""Factors whose levels are amounts: where the number breaks, by how much, or how flat it is."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sojourn.findings.findings import Findings
from sojourn.report import dot_rows, labels, numbers, ratios
from sojourn.report.figures import effects, trends
from sojourn.report.figures.trends import ShownTrend
from sojourn.report.openings.opening import SENTENCES_MAX, Opening, Opens, fitting, sentence
from sojourn.spec.levels import level_of
from sojourn.stats.interval import Interval

KINDS_FIRST = ("cliff", "knee", "rises", "falls", "mixed", "flat", "unclear")


class Trends(Opens):
    """How numbers change over sizes, counts and limits."""

    name = "trends"
    place = 130

    def applies(self, findings: Findings) -> bool:
        """Where something is known of how a number goes with levels that have an order."""
        return bool(trends.shown_trends(findings))

    def opening(self, findings: Findings, width: int) -> Opening:
        """The clearest trend first; other factors' ratios below."""
        result = ordered(findings)
        others = any(not factor.trends for factor in findings.factors)
        return Opening(
            headline=headline(result[0]),
            sentences=tuple(map(trend_text, result[:SENTENCES_MAX])),
            figures=(trends.NAME, *([effects.NAME] if others else [])),
            text=tuple(lines(result, width)),
        )


def ordered(findings: Findings) -> list[ShownTrend]:
    """Those that break first, then those that rise or fall, the flat ones, and the open ones."""
    result = trends.shown_trends(findings)
    return sorted(result, key=lambda one: KINDS_FIRST.index(one.trend.kind))


def headline(one: ShownTrend) -> str:
    """`max RPS: knee between 256,000 and 1,024,000 items`."""
    trend, short = one.trend, one.trend.what.partition(" at ")[0]
    by = one.factor.name.replace("_", " ")
    if trend.kind in trends.NAMED:
        where = between(one.factor.key, *trend.between)
        return fitting(
            f"{short}: {trend.kind} between {where}", f"{short} has a {trend.kind} with {by}"
        )
    if trend.kind == "flat":
        return fitting(f"{short} is flat within ±{within(one)} with {by}")
    if trend.kind == "unclear":
        return fitting(f"{short}: no step with {by} was shown", f"{short}: no step was shown")
    word = {"rises": "rises", "falls": "falls"}.get(trend.kind, "goes up and down")
    last = trend.curve[-1][0]
    return fitting(f"{short} {word} with {by}, in all × {last:.2g}", f"{short} {word} with {by}")


def trend_text(one: ShownTrend) -> str:
    """Where, by how much; or within how much it is flat."""
    trend, key = one.trend, one.factor.key
    span = between(key, trend.levels[0], trend.levels[-1])
    ends = trend.interval
    ratio = numbers.ratio(trend.ratio, ends) if trend.ratio else ""
    number, _, sure = ratio.partition(" ")
    how = "as high" if trend.what in {ratios.PEAK, ratios.WITHIN} else "as long"
    if trend.kind in trends.NAMED:
        where = between(key, *trend.between)
        return sentence(
            f"{trend.what} has a {trend.kind} between {where}: {number} times {sure} {how}"
        )
    if trend.kind == "flat":
        return sentence(
            f"{trend.what} is flat from {span.replace(' and ', ' to ')}, within ±{within(one)}"
        )
    if trend.kind == "unclear":
        return sentence(
            f"{trend.what} shows no step from {span.replace(' and ', ' to ')}; in all it is"
            f" {number} times {sure} {how}",
            f"{trend.what} shows no step; in all it is {number} times {sure} {how}",
        )
    word = {"rises": "rises", "falls": "falls"}.get(trend.kind, "goes up and down")
    span = span.replace(" and ", " to ")
    return sentence(f"{trend.what} {word} from {span}: in all {number} times {sure} {how}")


def within(one: ShownTrend) -> str:
    """By how much any level may differ from the lowest, as a percentage."""
    far = max(max(abs(math.log(lo)), abs(math.log(hi))) for _, lo, hi in one.trend.curve)
    return numbers.factor(math.exp(far))


def between(key: str, low: str, high: str) -> str:
    """Two levels with what they share reported once: `256,000 and 1,024,000 items`."""
    first, second = (_grouped(labels.label(key, level_of(one))).split() for one in (low, high))
    start = _shared(first, second)
    end = _shared(first[start:][::-1], second[start:][::-1])
    lean = first[start : len(first) - end] or first
    return " ".join([*first[:start], *lean, "and", *second[start:]])


def _shared(first: list[str], second: list[str]) -> int:
    """How many words both begin with."""
    same = [a == b for a, b in zip(first, second, strict=False)]
    return same.index(False) if False in same else len(same)


def _grouped(text: str) -> str:
    """Whole numbers from 10,000 on with their thousands apart."""
    parts = (
        f"{int(word):,}" if word.isdecimal() and len(word) > 4 else word for word in text.split()
    )
    return " ".join(parts)


def lines(results: list[ShownTrend], width: int) -> Iterator[str]:
    """The same curves as text: a level a line, lowest first."""
    for n, one in enumerate(results):
        if n:
            yield ""
        yield f"{one.title}, as a ratio to the lowest; │ is 1"[:width]
        yield from dot_rows.lines(list(_rows(one)), width)


def _rows(one: ShownTrend) -> Iterator[dot_rows.Row]:
    step = one.trend.between
    for level, (ratio, lo, hi) in zip(one.trend.levels, one.trend.curve, strict=True):
        broken = f"  {one.trend.kind}" if step and level == step[1] else ""
        is_first = level == one.trend.levels[0]
        yield dot_rows.Row(
            name=_grouped(labels.label(one.factor.key, level_of(level))),
            at=ratio,
            lo=None if is_first else lo,
            hi=None if is_first else hi,
            words="1" if is_first else f"{numbers.ratio(ratio, Interval(lo, hi))}{broken}",
            sign="open" if one.trend.kind == "unclear" and not is_first else "shown",
        )


KIND = Trends()
