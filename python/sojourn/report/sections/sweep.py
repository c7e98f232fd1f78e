"""Latency against load: the tail of each load as number, table and picture."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sojourn.analysis import answer
from sojourn.analysis.findings import LoadPoint, MaxLoad, ServiceFinding
from sojourn.plan.points import Verdict
from sojourn.report import people, plot, show
from sojourn.report.draw import limits
from sojourn.report.draw.lookup import of_max, of_point, of_run, tail_q
from sojourn.report.sections.section import Number, Shown


class SweepShown(Shown):
    """The loads that were measured, whoever asked for them."""

    name = "sweep"
    template = "loads.html.j2"

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
        del width
        if service.points:
            yield from _table(service)

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
        found = of_point(point, q)
        if found is not None and found.value is not None and math.isfinite(found.value):
            where = f"{show.quantile(q)} at {show.count(point.offered_rps)} requests/s"
            if service.max_rps_rule == answer.NULL_RULE:
                where += ", the instrument's own"
            number = show.time(found.value)
            return Number(number=number, said=where, short=f"{show.quantile(q)} {number}")
    return None


def _table(service: ServiceFinding) -> Iterator[str]:
    """Offered and achieved in requests/s; the interval is that of the last time column."""
    q = tail_q(service)
    tail = show.quantile(q)
    form = "{:>6} {:>8} {:>8} {:>8} {:>8} {:>8}  {:<16} {}"
    yield form.format(
        "load", "offered", "achieved", "mean", "p50", tail, "95 % interval", "verdict"
    )
    for point in service.points:
        found = of_point(point, q)
        yield form.format(
            show.load(point.fraction),
            show.count(point.offered_rps),
            show.count(point.achieved_rps),
            *(_short(point, asked) for asked in (None, 0.5, q)),
            show.times(found.interval) if found else "–",
            people.verdict(point),
        )
    if any(people.chance(point) for point in service.points):
        yield "P: the probability that this load meets the target; it is borderline"


def _short(point: LoadPoint, asked: float | None) -> str:
    found = of_point(point, asked)
    if found is None:
        return "–"
    if found.value is None:
        at_least = limits.of_load(point, asked) if asked else None
        if at_least is not None:
            return f"≥{show.time(at_least)}"
        return "refused" if point.is_believed else "unknown"
    return f"≤{show.time(found.value)}" if found.lateness_ns else show.time(found.value)


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
    yield "o holds  # violated  ? undecided  . one run  x not believed  ^ at least that"


def _runs(service: ServiceFinding, q: float) -> Iterator[plot.Mark]:
    for point in service.points:
        for run in point.runs:
            ns = of_run(run, q)
            if ns is not None:
                yield plot.Mark(x=point.fraction, y=ns, sign="." if run.is_believed else "x")


def _loads(service: ServiceFinding, q: float) -> Iterator[plot.Mark]:
    """The merged number of each load; an arrow upwards where only a least value is known."""
    for point in service.points:
        found = of_point(point, q)
        if not point.is_believed or found is None:
            continue
        if not limits.is_open(found) and found.value is not None:
            yield plot.Mark(x=point.fraction, y=found.value, sign=_sign(point))
            continue
        at_least = limits.of_load(point, q)
        if at_least is not None:
            yield plot.upwards(plot.Mark(x=point.fraction, y=at_least, sign="^"))
        if found.value is not None:
            yield plot.Mark(x=point.fraction, y=found.value, sign="^")


def _sign(point: LoadPoint) -> str:
    return {Verdict.HOLDS: "o", Verdict.VIOLATED: "#", Verdict.UNKNOWN: "?"}[point.verdict]


KIND = SweepShown()
