"""Latency against load: the tail of each load as number, table and picture."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from sojourn.findings import answer
from sojourn.findings.findings import ServiceFinding
from sojourn.findings.highest_load import MaxLoad
from sojourn.findings.load_point import LoadPoint
from sojourn.plan.points import Verdict
from sojourn.report import disturbed, people, plot, show, verdict_of_all
from sojourn.report.draw import known
from sojourn.report.draw.known import Sort
from sojourn.report.draw.lookup import of_max, of_point, tail_q
from sojourn.report.section import Number, Shown

AT_MOST, NOTHING = "v", "!"  # signs in the plot
WHOLE = 80  # columns in which the whole table fits
SIGNS = {
    "o": "holds",
    "#": "violated",
    "?": "undecided",
    ".": "one run",
    "x": "not valid",
    AT_MOST: "at most that",
    "^": "at least that",
    NOTHING: "no number",
}


class SweepShown(Shown):
    """The loads that were measured, whoever asked for them."""

    name = "sweep"
    template = "sweep/section.html.j2"

    def number(self, service: ServiceFinding) -> Number | None:
        """Loads on both sides of the border, or the tail at the highest load."""
        if service.qos is not None and service.points:
            number = answer.load_range(service.points, None)
            return Number(
                number=number, unit=of_max(service), said="by the sweep alone", short=number
            )
        return _of_tail(service)

    def facts(self, service: ServiceFinding) -> Iterator[tuple[str, str]]:
        """Where the smoothed curve meets the target."""
        if service.crossing:
            crossing = f"{show.shares(service.crossing)} {of_max(service)}"
            yield "smoothed curve crosses QoS at", crossing

    def table(self, service: ServiceFinding, width: int) -> Iterator[str]:
        """A line per load, in the order of loads."""
        if service.points:
            yield from _table(service, width)

    def plot(self, service: ServiceFinding, width: int) -> Iterator[str]:
        """The judged quantile against load, with its bound."""
        if service.points:
            yield ""
            yield from _plot(service, width)
            yield ""


def _of_tail(service: ServiceFinding) -> Number | None:
    """Without a target the number is the tail at the highest load that has one."""
    q = tail_q(service)
    for point in reversed(service.points):
        estimate = of_point(point, q)
        if estimate is not None and estimate.value is not None and math.isfinite(estimate.value):
            where = f"{show.quantile(q)} at {show.count(point.offered_rps)} requests/s"
            if service.max_rps_rule == answer.NULL_RULE:
                where += ", the instrument's own"
            number = show.time(estimate.value)
            return Number(number=number, said=where, short=f"{show.quantile(q)} {number}")
    return None


def _table(service: ServiceFinding, width: int) -> Iterator[str]:
    """Offered and achieved in requests/s; the interval is that of the last time column."""
    q = tail_q(service)
    tail = show.quantile(q)
    # What fits: first the achieved rate is left out, which the page has, then the median.
    achieved = " {2:>8}" if width >= WHOLE else ""
    median = " {4:>9}" if width >= WHOLE - len(" achieved") else ""
    form = f"{{0:>6}} {{1:>7}}{achieved} {{3:>9}}{median} {{5:>9}} {{6:<14}} {{7}}"
    yield form.format(
        "load", "offered", "achieved", "mean", "p50", tail, "95 % interval", "verdict"
    )
    are_few = False
    for point in service.points:
        result = known.of_load(point, q)
        cells = [_short(point, asked) for asked in (None, 0.5, q)]
        are_few |= point.is_believed and any(cell.startswith("(") for cell in cells)
        yield form.format(
            show.load(point.fraction),
            show.count(point.offered_rps),
            show.count(point.achieved_rps),
            *cells,
            show.times(result.interval),
            people.verdict(point),
        )
    if any(people.chance(point) for point in service.points):
        yield "P: the probability that this load meets the target; it is borderline"
    if are_few:
        yield show.FEW
    yield from textwrap.wrap(people.invalid_loads(service), width)
    yield from textwrap.wrap(verdict_of_all.text(service), width)
    yield from textwrap.wrap(disturbed.text(service), width)


def _short(point: LoadPoint, asked: float | None) -> str:
    """What is known, in nine characters."""
    return known.of_load(point, asked).shown.replace("≤ ", "≤").replace("≥ ", "≥")


def _plot(service: ServiceFinding, width: int) -> Iterator[str]:
    """Runs as small signs under the merged number of each load."""
    q = tail_q(service)
    tail = show.quantile(q)
    marks = [*_runs(service, q), *_loads(service, q)]
    if not marks:
        yield f"No load has a {tail} that can be drawn."
        return
    qos, search = service.qos, service.section(MaxLoad)
    fits = search.border.fraction if search and search.border else None
    yield f"{tail} sojourn time against offered load, % {of_max(service)}"
    yield from plot.draw(
        marks,
        bound_ns=qos.bound_ns if qos else None,
        bound=f"QoS {tail} <= {show.time(qos.bound_ns)}" if qos else "",
        band=(fits.lo, fits.hi) if fits else None,
        width=width,
    )
    there = {mark.sign for mark in marks}
    key = "  ".join(f"{sign} {words}" for sign, words in SIGNS.items() if sign in there)
    yield from textwrap.wrap(key, width)


def _runs(service: ServiceFinding, q: float) -> Iterator[plot.Mark]:
    """Believed numbers of runs as dots; of runs that are not believed, a cross for each."""
    for point in service.points:
        for run in point.runs:
            own = known.of_one(run, q, point)
            if own.ns is not None and own.sort is not Sort.AT_LEAST:
                sign = "x" if own.sort is Sort.DOUBTED else "."
                yield plot.Mark(x=point.fraction, y=own.ns, sign=sign)


def _loads(service: ServiceFinding, q: float) -> Iterator[plot.Mark]:
    """What is known of each load: its number, `v` on an upper bound, an arrow from a least one."""
    for point in service.points:
        own, x = known.of_load(point, q), point.fraction
        match own.sort:
            case Sort.NUMBER if own.ns is not None:
                yield plot.Mark(x=x, y=own.ns, sign=_sign(point))
            case Sort.AT_MOST if own.ns is not None:
                yield plot.Mark(x=x, y=own.ns, sign=AT_MOST)
            case Sort.DOUBTED if own.ns is not None and not point.runs:
                yield plot.Mark(x=x, y=own.ns, sign="x")
            case Sort.AT_LEAST | Sort.ENDLESS:
                least = own.ns if own.sort is Sort.AT_LEAST else own.least_ns
                if least is not None:
                    yield plot.upwards(plot.Mark(x=x, y=least, sign="^"))
                if own.sort is Sort.ENDLESS:
                    yield plot.Mark(x=x, y=math.inf, sign="^")
            case Sort.NOTHING:
                yield plot.Mark(x=x, y=0.0, sign=NOTHING)


def _sign(point: LoadPoint) -> str:
    return {Verdict.HOLDS: "o", Verdict.VIOLATED: "#", Verdict.UNKNOWN: "?"}[point.verdict]


KIND = SweepShown()
