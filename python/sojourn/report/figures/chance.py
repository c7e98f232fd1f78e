"""How surely a load meets the target, for studies that only search: no load was swept (M28)."""

from __future__ import annotations

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.highest_load import MaxLoad
from sojourn.report import show, tiles
from sojourn.report.draw.axes import COUNT_LABEL
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import HEIGHT, Figure, Kind, Sheet, Spec, finish
from sojourn.report.draw.marks import tooltip
from sojourn.report.draw.palette import series
from sojourn.report.draw.table import Record, from_records

NAME = "chance"
COLUMNS = ("service", "offered_rps", "probability")


def draw(findings: Findings) -> list[Figure]:
    """One figure of all services; none where a sweep shows more."""
    selected = [s for s in findings.services if (m := s.section(MaxLoad)) and m.border]
    if any(s.points for s in findings.services):
        return []
    records: list[Record] = [
        {
            "service": service.service,
            "offered_rps": rps,
            "probability": chance,
            "shown": f"{show.count(rps)} requests/s: {show.share(chance)}",
        }
        for service in selected
        for rps, chance in _curve(service)
    ]
    if not records:
        return []
    title = "how surely a load meets the target"
    chart = _chart(selected, records, title)
    lines = [f"{s.service}: {tiles.of_service(s).line}" for s in selected]
    chart["title"] = {"text": title, "subtitle": lines}
    return [
        Figure(
            name=NAME,
            title=title,
            caption="The probability, by all runs together, that an offered load meets the target;"
            " shaded: between these ends the highest such load lies.",
            alt=". ".join(lines) + ".",
            table=from_records(COLUMNS, records),
            chart=chart,
        )
    ]


def _curve(service: ServiceFinding) -> tuple[tuple[float, float], ...]:
    search = service.section(MaxLoad)
    return search.border.curve if search and search.border else ()


def _chart(services: list[ServiceFinding], records: list[Record], title: str) -> Spec:
    sheet = Sheet()
    names = [service.service for service in services]
    colour = alt.Color(
        "service:N",
        scale=alt.Scale(domain=names, range=[series(i) for i in range(len(names))]),
        legend=alt.Legend(title=None, orient="top", symbolOpacity=1),
    )
    top = max(rps for service in services for rps, _ in _curve(service))
    line = (
        sheet.chart("curve", records)
        .mark_line(strokeWidth=2, point=True)
        .encode(
            x=alt.X(
                "offered_rps:Q",
                title="offered load, requests/s",
                axis=alt.Axis(labelExpr=COUNT_LABEL, tickCount=8),
                scale=alt.Scale(domain=[0, top], nice=False),
            ),
            y=alt.Y(
                "probability:Q",
                title="probability that it meets the target",
                axis=alt.Axis(format="~%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            color=colour,
            tooltip=tooltip("service", "shown"),
        )
    )
    bands: list[Record] = [
        {
            "service": s.service,
            "lo": b.interval_rps.lo,
            "hi": min(top, b.interval_rps.hi),
            "shown": f"{show.border(b)} requests/s ({show.within(b)})",
        }
        for s in services
        if (m := s.section(MaxLoad)) and (b := m.border)
    ]
    band = (
        sheet.chart("bands", bands)
        .mark_rect(opacity=0.14, clip=True)
        .encode(
            x=alt.X("lo:Q"), x2=alt.X2("hi:Q"), color=colour, tooltip=tooltip("service", "shown")
        )
    )
    return finish(alt.layer(band, line, width="container", height=HEIGHT), sheet, title=title)


KIND = Kind(
    name="chance",
    about="the probability that a load meets the target, where no load was swept (M28)",
    of_study=draw,
)
