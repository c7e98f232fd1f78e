"""Many services under few scenarios: a small panel of tail against load for each (P7 to P10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.report import labels, show
from sojourn.report.draw import marks
from sojourn.report.draw.axes import load_x
from sojourn.report.draw.charts import alt
from sojourn.report.draw.dots import axis
from sojourn.report.draw.figure import Figure, Kind, Sheet, Spec, finish
from sojourn.report.draw.lookup import of_point, tail_q
from sojourn.report.draw.palette import SERIES, role, series
from sojourn.report.draw.table import Record, from_records, number
from sojourn.spec.levels import short

NAME = "services"
MANY = 3  # from which on a panel each says more than one picture of all
SCENARIOS = frozenset({"cores", "threads", "workers", "smt", "cpuset"})
PANEL, PANEL_MIN = 130, 230  # height and least width of a panel, px
FAR = 30.0  # beyond so many times the target a tail is at the edge
# fmt: off
COLUMNS = (
    "service", "scenario", "fraction", "offered_rps", "value_ns", "lo_ns", "hi_ns", "target_ns",
    "over_target", "verdict", "reason",
)
# fmt: on


def is_many(findings: Findings) -> bool:
    """Whether a study asks several services for what they do with cores and threads."""
    named = {service.label or service.service for service in findings.services}
    varied = {short(key) for service in findings.services for key, _ in service.levels}
    return len(named) >= MANY and bool(varied & SCENARIOS)


def scenario(service: ServiceFinding) -> str:
    """The levels in a few words: `1 core`."""
    return ", ".join(labels.map_labels(service.levels))


def draw(findings: Findings) -> list[Figure]:
    """One figure; none of few services, or where no load was swept."""
    swept = [s for s in findings.services if s.points and s.qos]
    if not is_many(findings) or not swept:
        return []
    records = [record for service in swept for record in _records(service)]
    title = "Tail over target against load, by service"
    table = from_records(COLUMNS, records)
    drawn = [record for record in records if record["y"] is not None]
    if not drawn:
        missing = "No load of any service has a tail."
        return [Figure(name=NAME, title=title, caption="", alt="", table=table, missing=missing)]
    panels = list(dict.fromkeys(str(record["service"]) for record in drawn))
    return [
        Figure(
            name=NAME,
            title=title,
            caption=(
                "Each service's tail divided by its target: below 1 the target is met. Load is a"
                " share of max RPS, of each scenario its own. Lines through the marks join loads;"
                " upright lines are 95 % intervals; hollow marks are not decided. (P7 to P10)"
            ),
            alt=f"{len(panels)} services: {', '.join(panels)}.",
            table=table,
            chart=_chart(drawn, panels, title),
            facet_min=PANEL_MIN,
            panels=len(panels),
            is_wide=True,
        )
    ]


def _records(service: ServiceFinding) -> Iterator[Record]:
    q, target = tail_q(service), service.qos.bound_ns if service.qos else 1.0
    for point in sorted(service.points, key=lambda p: p.fraction):
        estimate = of_point(point, q)
        value = estimate.value if estimate and point.is_believed else None
        ends = estimate.interval if estimate and value is not None else None
        over = value / target if value is not None and target > 0 else None
        yield {
            "service": service.label or service.service,
            "scenario": scenario(service),
            "fraction": point.fraction,
            "offered_rps": point.offered_rps,
            "value_ns": value,
            "lo_ns": ends.lo if ends else None,
            "hi_ns": ends.hi if ends else None,
            "target_ns": target,
            "over_target": over,
            "verdict": marks.word(point),
            "reason": show.sentences(point.reasons),
            "y": _inside(over),
            "low": _inside(ends.lo / target if ends and over else None),
            "high": _inside(ends.hi / target if ends and over else None),
            "load": f"{show.load(point.fraction)}, {show.count(point.offered_rps)} requests/s",
            "shown": f"{show.quantile(q)} {show.estimate(estimate)}, target {show.time(target)}",
        }


def _inside(over: float | None) -> float | None:
    return None if over is None else min(max(over, 1 / FAR), FAR)


def _chart(records: Sequence[Record], panels: Sequence[str], title: str) -> Spec:
    sheet = Sheet()
    scenarios = list(dict.fromkeys(str(record["scenario"]) for record in records))
    legend = alt.Legend(title=None) if len(scenarios) > 1 else None
    scale = alt.Scale(domain=scenarios, range=[series(n % SERIES) for n in range(len(scenarios))])
    colour = alt.Color("scenario:N", scale=scale, legend=legend)
    highest = max(number(record["fraction"]) or 0.0 for record in records)
    x = load_x(title=["load, % of max RPS"], highest=highest)
    y = alt.Y(
        "y:Q",
        title="tail over target",
        axis=axis(map(number, (r["y"] for r in records))),
        scale=alt.Scale(type="log"),
    )
    base = alt.Chart().encode(x=x, color=colour)
    decided = "datum.verdict === 'holds' || datum.verdict === 'violated'"
    once = alt.Chart().transform_aggregate(n="count()", groupby=["service"])
    layers = alt.layer(
        once.mark_rule(color=role("qos"), strokeWidth=1.5).encode(y=alt.datum(1.0)),
        base.mark_line(strokeWidth=1.6, opacity=0.8).encode(y=y),
        base.transform_filter("isValid(datum.high)")
        .mark_rule(strokeWidth=2)
        .encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_point(size=45, strokeWidth=1.6, opacity=1).encode(
            y=y,
            tooltip=marks.tooltip("service", "scenario", "load", "shown", "verdict", "reason"),
            fill=alt.Fill("scenario:N", scale=scale, legend=None),
            fillOpacity=alt.condition(decided, alt.value(1), alt.value(0)),
        ),
        data=sheet.data("rows", records),
    )
    facets = layers.properties(width=PANEL_MIN, height=PANEL).facet(
        facet=alt.Facet("service:N", sort=list(panels), title=None), columns=3
    )
    return finish(facets, sheet, title=title)


KIND = Kind(
    name=NAME,
    about="tail over target against load, a panel for each of many services (P7 to P10)",
    of_study=draw,
)
