"""All services in one picture: the tail against load, the targets, and where the knee lies (C7).

The load axis is each service's share of its own max RPS, linear, as in the papers: services of
different speed lie on one another, and the knee, where the decision is, gets the room that a log
axis of requests/s would give to the lowest loads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sojourn.analysis.findings import Findings, MaxLoad, ServiceFinding
from sojourn.report import show, tiles, volume
from sojourn.report.draw import limits, overview_layers
from sojourn.report.draw.figure import Figure, Kind
from sojourn.report.draw.lookup import of_point, tail_q
from sojourn.report.draw.marks import word
from sojourn.report.draw.table import Record, from_records

NAME = "overview"
COLUMNS = (
    "service", "quantile", "fraction", "offered_rps", "value_ns", "lo_ns", "hi_ns",
    "at_least_ns", "lateness_ns", "verdict", "reason",
)  # fmt: skip


def draw(findings: Findings) -> list[Figure]:
    """One figure; none if no load was swept, or by more than one picture can tell apart."""
    swept = [s for s in findings.services if s.points]
    if not swept or volume.is_crowded(findings):
        return []
    records = [record for service in swept for record in _records(service)]
    title = f"{tail_name(swept)} sojourn time against offered load"
    chart = overview_layers.draw(swept, records, f"{tail_name(swept)} sojourn time")
    # The page has the words beside the picture; a paper has them nowhere else.
    chart["title"] = {"text": title, "subtitle": [_subtitle(service) for service in swept]}
    return [
        Figure(
            name=NAME,
            title=title,
            caption=_caption(swept),
            alt=". ".join(_alt(service) for service in swept) + ".",
            table=from_records(COLUMNS, records),
            chart=chart,
        )
    ]


def tail_name(services: Sequence[ServiceFinding]) -> str:
    """`p99`, or what each service is judged on where they differ."""
    names = list(dict.fromkeys(show.quantile(tail_q(service)) for service in services))
    return " or ".join(names)


def _records(service: ServiceFinding) -> Iterator[Record]:
    q = tail_q(service)
    for point in sorted(service.points, key=lambda p: p.fraction):
        found = of_point(point, q)
        inner = found.interval if found else None
        is_open = limits.is_open(found)
        at_least = limits.of_load(point, q) if is_open else None
        value = found.value if found else None
        late = found.lateness_ns if found else 0.0
        shown = show.estimate(found)
        if is_open and at_least is not None:
            shown = f"at least {show.time(at_least)} ({shown})"
        elif late:
            shown = f"at most {shown}, up to {show.time(late)} of it the client's"
        yield {
            "service": service.service,
            "quantile": show.quantile(q),
            "fraction": point.fraction,
            "offered_rps": point.offered_rps,
            "value_ns": value,
            "lo_ns": inner.lo if inner else None,
            "hi_ns": inner.hi if inner else None,
            "at_least_ns": at_least,
            "lateness_ns": late,
            "verdict": word(point),
            "reason": show.sentences((found.refused if found else "", *point.reasons)),
            "is_open": is_open,
            "load": f"{show.share(point.fraction)}, {show.count(point.offered_rps)} requests/s",
            "shown": shown,
            "interval": show.times(inner),
        }


def _subtitle(service: ServiceFinding) -> str:
    tile = tiles.of_service(service)
    goal = f", {tile.target}" if tile.target else ""
    return f"{tile.service}: {tile.line}{goal}"


def _caption(services: Sequence[ServiceFinding]) -> str:
    band = any((m := s.section(MaxLoad)) and m.border for s in services)
    return (
        "A mark is the number over all valid runs of a load, its line the 95 % interval; hollow"
        " marks are not decided, loads without one not believed. Arrows start at the least the"
        " number can be, where it was refused or requests never completed."
        + (" Shaded: how much load fits." if band else "")
        + " Ctrl and wheel zoom, dragging moves, a double click resets; a click on a name in the"
        " legend shows it alone."
    )


def _alt(service: ServiceFinding) -> str:
    tile = tiles.of_service(service)
    q = tail_q(service)
    known = [(p, e) for p in service.points if (e := of_point(p, q)) and not limits.is_open(e)]
    if not known:
        return f"{service.service}: {tile.line}; no load has a {show.quantile(q)}"
    (low, first), (high, last) = known[0], known[-1]
    return (
        f"{service.service}: {tile.line}; from {show.estimate(first)} at"
        f" {show.share(low.fraction)} to {show.estimate(last)} at {show.share(high.fraction)} load"
    )


KIND = Kind(
    name="overview",
    about="all services' tail against load with targets and max load, for page and paper (C7)",
    of_study=draw,
)
