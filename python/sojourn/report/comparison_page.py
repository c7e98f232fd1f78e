"""A comparison as a page of its own: one logarithmic scale for all ratios."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from sojourn.analysis.comparison import Comparison
from sojourn.analysis.comparison_rows import Ratio
from sojourn.report import page
from sojourn.report.comparison import (
    MOVED,
    called,
    columns,
    lines,
    notes,
    reasons,
    sentence,
    shared,
    verdict,
)
from sojourn.stats.paired_ratio import Judgement

LARGEST = 10.0  # ratio at the end of the scale; a larger one is drawn there, its number says more
TICKS = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0)
#: Colours by role, of `palette`.
ROLES = {
    Judgement.WORSE: "violated",
    Judgement.BETTER: "holds",
    Judgement.SAME: "band",
    Judgement.OPEN: "unknown",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One ratio on the scale.

    Attributes:
        what: service, number and load.
        verdict: in words.
        role: of its colour.
        middle, low, high: ratio and ends of its interval, as shares of the scale in [0, 1]; of a
            number without a ratio `middle` is None.
    """

    what: str
    verdict: str
    role: str
    middle: float | None
    low: float
    high: float


def html(comparison: Comparison) -> str:
    """The page: the answer, what differs, one scale for all ratios, the table."""
    return page.rendered(
        "comparison.html.j2",
        [],
        found=comparison,
        sentence=sentence(comparison),
        columns=columns(comparison),
        rows=lines(comparison),
        notes=notes(comparison),
        bars=bars(comparison),
        ticks=ticks(comparison),
        called=called(comparison),
        moved_columns=MOVED,
    )


def bars(comparison: Comparison) -> list[Bar]:
    """Every number of every record but the first; without a ratio it is listed and not drawn."""
    span, once = _span(comparison), reasons(comparison)

    def bar(what: str, side: Ratio) -> Bar:
        middle = None if side.ratio is None else _at(side.ratio, span)
        ends = side.interval
        low, high = (
            (_at(ends.lo, span), _at(ends.hi, span)) if ends else (middle or 0.5, middle or 0.5)
        )
        role = ROLES[side.judgement]
        text = verdict(side, once)
        return Bar(what=what, verdict=text, role=role, middle=middle, low=low, high=high)

    return [bar(what, side) for what, side in _sides(comparison)]


def ticks(comparison: Comparison) -> list[tuple[str, float]]:
    """(ratio as text, its place on the scale) for 1 and one or two ratios on either side."""
    span = _span(comparison)
    inside = [ratio for ratio in TICKS if math.log(ratio) <= 0.9 * span]
    if not inside:
        return [("1", 0.5)]
    half = min(inside, key=lambda ratio: abs(math.log(ratio) - math.log(inside[-1]) / 2))
    each = sorted({half, inside[-1]})
    values = [*(1 / ratio for ratio in reversed(each)), 1.0, *each]
    return [(f"{value:.3g}", _at(value, span)) for value in values]


def _sides(comparison: Comparison) -> Iterator[tuple[str, Ratio]]:
    names = called(comparison)
    for row in shared(comparison):
        load = f" at {row.load}" if row.load else ""
        for name, side in list(zip(names, row.sides, strict=True))[1:]:
            record = f" · {name}" if len(names) > 2 else ""
            yield f"{row.service} {row.number}{load}{record}", side


def _span(comparison: Comparison) -> float:
    """From 1 to the end of the scale, as a logarithm."""
    ends = [
        abs(math.log(end))
        for _, side in _sides(comparison)
        for end in (side.ratio, *((side.interval.lo, side.interval.hi) if side.interval else ()))
        if end is not None and 0 < end < math.inf
    ]
    return min(max(ends, default=0.0), math.log(LARGEST)) or 1.0


def _at(ratio: float, span: float) -> float:
    """The place of a ratio, as a share of the scale."""
    shift = math.log(ratio) if 0 < ratio < math.inf else math.inf if ratio else -math.inf
    return min(1.0, max(0.0, 0.5 + shift / span / 2))
