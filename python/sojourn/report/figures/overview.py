"""All services in one picture: the tail against load, the targets, and where the knee lies (C7).

The load axis is each service's share of its own max RPS, linear, as in the papers: services of
different speed lie on one another, and the knee, where the decision is, gets the room that a log
axis of requests/s would give to the lowest loads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.highest_load import MaxLoad
from sojourn.report import labels, show, tiles, volume
from sojourn.report.draw import known, limits, overview_layers
from sojourn.report.draw.figure import Figure, Kind
from sojourn.report.draw.lookup import tail_q
from sojourn.report.draw.marks import word
from sojourn.report.draw.table import Record, from_records

NAME = "overview"
# fmt: off
COLUMNS = (
    "service", "quantile", "fraction", "offered_rps", "known", "value_ns", "lo_ns", "hi_ns",
    "least_ns", "at_least_ns", "not_believed_ns", "verdict", "reason",
)
# fmt: on


def draw(findings: Findings) -> list[Figure]:
    """One figure; none if no load was swept, or by more than one picture can distinguish."""
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
        yield {
            "service": service.service,
            "quantile": show.quantile(q),
            "fraction": point.fraction,
            "offered_rps": point.offered_rps,
            "verdict": word(point),
            "load": f"{show.share(point.fraction)}, {show.count(point.offered_rps)} requests/s",
            **known.of_load(point, q).row,
        }


def _subtitle(service: ServiceFinding) -> str:
    tile = tiles.of_service(service)
    goal = f", {tile.target}" if tile.target else ""
    return f"{labels.called(service)}: {tile.line}{goal}"


def _caption(services: Sequence[ServiceFinding]) -> str:
    band = any((m := s.section(MaxLoad)) and m.border for s in services)
    return (
        "A solid mark is the number over all valid runs of a load, its line the 95 % interval."
        f" An arrow downwards starts at a number that is an upper bound. {limits.RULE} A hollow"
        " mark is what runs measured that are not valid; it decides nothing, and the curve does not"
        " go through it. The curve is dashed where a load between has no number, or where an end is"
        " a bound."
        + (" Shaded: how much load fits." if band else "")
        + " Ctrl and wheel zoom, dragging moves, a double click resets; a click on a name in the"
        " legend shows it alone."
    )


def _alt(service: ServiceFinding) -> str:
    tile = tiles.of_service(service)
    q = tail_q(service)
    every = [(point.fraction, known.of_load(point, q)) for point in service.points]
    sure = [(load, one) for load, one in every if one.sort in known.SURE]
    doubted = sum(one.sort is known.Sort.DOUBTED for _, one in every)
    rest = f"; {doubted} of {len(every)} loads are not valid" if doubted else ""
    if not sure:
        return f"{labels.called(service)}: {tile.line}; no load has a {show.quantile(q)}{rest}"
    (low, first), (high, last) = sure[0], sure[-1]
    return (
        f"{labels.called(service)}: {tile.line}; from {first.shown} at {show.share(low)} to"
        f" {last.shown} at {show.share(high)} load{rest}"
    )


KIND = Kind(
    name="overview",
    about="all services' tail against load with targets and max load, for page and paper (C7)",
    of_study=draw,
)
