"""Stages of requests stacked by load, a panel for each service: all requests beside the slowest."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.findings.findings import Findings
from sojourn.questions.breakdown.figure import PARTS
from sojourn.questions.breakdown.findings import Breakdown, Stages
from sojourn.questions.breakdown.show import known, named
from sojourn.report import show
from sojourn.report.draw import marks
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import Figure, Kind, Sheet, Spec, finish
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Record, from_records

NAME = "stage-loads"
COLUMNS = ("service", "condition", "of", "stage", "mean_ns", "time_share")
ALL, SLOWEST = OF = ("all requests", "slowest 1 %")
ROW_PX, PANEL_MIN = 46, 300
ABOVE = 1.4  # of the axis: room for the totals
NO_NEIGHBOUR = "none"


def shown(breakdown: Breakdown) -> tuple[Stages, ...]:
    """The conditions of one service by itself: unloaded, then by load; else all there are."""
    columns = known(breakdown)
    return tuple(c for c in columns if c.neighbour in ("", NO_NEIGHBOUR)) or columns


def draw(findings: Findings) -> list[Figure]:
    """One figure; none where nothing was traced."""
    results = {
        service.service: columns
        for service in findings.services
        if (section := service.section(Breakdown)) and (columns := shown(section))
    }
    if not results:
        return []
    records = [
        record
        for service, columns in results.items()
        for column in columns
        for of in OF
        for record in _records(service, column, of)
    ]
    title = "Where the time of requests goes in the server, by load"
    return [
        Figure(
            name=NAME,
            title=title,
            caption=(
                "Two bars for each load: the mean over all requests, and over those at and above"
                " p99. Shares of the time in the server, from the first segment received to the"
                " last one sent; their sum is beside each bar. Colours: interrupts blue,"
                " queuing orange, system calls green, the service itself violet. (L12, C8 to C10)"
            ),
            alt=show.sentences(
                [f"{service}: {len(columns)} conditions" for service, columns in results.items()]
            )
            + ".",
            table=from_records(COLUMNS, records),
            chart=_chart(records, results, title),
            facet_min=PANEL_MIN,
            panels=len(results),
            is_wide=True,
        )
    ]


def _records(service: str, column: Stages, of: str) -> list[Record]:
    is_tail = of == SLOWEST
    total = (column.tail_mean_ns if is_tail else column.mean_ns) or 0.0
    return [
        {
            "service": service,
            "condition": named(column),
            "of": of,
            "stage": stage,
            "mean_ns": ns,
            "time_share": ns / total if total else 0.0,
            "order": order,
            "shown": show.time(ns),
            "share": show.share(ns / total if total else 0.0),
        }
        for order, (stage, ns) in enumerate(column.tail if is_tail else column.stages)
    ]


def _total(column: Stages, of: str) -> str:
    if of == SLOWEST:
        return f"{show.time(column.tail_mean_ns)} tail"
    return f"{show.time(column.mean_ns)} mean"


def _chart(records: Sequence[Record], stages: dict[str, tuple[Stages, ...]], title: str) -> Spec:
    sheet = Sheet()
    seen = {r["stage"] for r in records if r["mean_ns"]}
    drawn: list[Record] = [r for r in records if r["stage"] in seen]
    names = list(dict.fromkeys(str(r["stage"]) for r in drawn))
    colours = [role(PARTS[name][1] if name in PARTS else "series-5") for name in names]
    totals: list[Record] = [
        {
            "service": service,
            "condition": named(c),
            "of": of,
            "time_share": 1.0,
            "total": _total(c, of),
        }
        for service, columns in stages.items()
        for c in columns
        for of in OF
    ]
    conditions = list(dict.fromkeys(named(c) for columns in stages.values() for c in columns))
    y = alt.Y("condition:N", title=None, sort=conditions, axis=alt.Axis(labelLimit=62, tickSize=0))
    offset = alt.YOffset("of:N", sort=list(OF))
    x = alt.X(
        "time_share:Q",
        title="share of the time",
        scale=alt.Scale(domain=[0, ABOVE]),
        axis=alt.Axis(format="~%", values=[0, 0.25, 0.5, 0.75, 1]),
    )
    rows = [r | {"total": ""} for r in drawn] + [r | {"order": 0} for r in totals]
    base = alt.Chart().encode(y=y, yOffset=offset)
    bars = base.transform_filter("isValid(datum.stage)").mark_bar(
        stroke=role("paper"), strokeWidth=0.5
    )
    tooltip = marks.tooltip("service", "condition", "of", "stage", "shown", "share")
    legend = alt.Legend(title=None)
    layers = alt.layer(
        bars.encode(
            x=x,
            color=alt.Color("stage:N", scale=alt.Scale(domain=names, range=colours), legend=legend),
            order=alt.Order("order:Q"),
            tooltip=tooltip,
        ),
        base.transform_filter("!isValid(datum.stage)")
        .mark_text(align="left", dx=5, fontSize=11, color=role("ink"))
        .encode(x=x, text=alt.Text("total:N")),
        data=sheet.data("stages", rows),
    )
    height = ROW_PX * len(conditions)
    facets = layers.properties(width=PANEL_MIN, height=height).facet(
        facet=alt.Facet("service:N", sort=list(stages), title=None), columns=2
    )
    return finish(facets, sheet, title=title)


KIND = Kind(
    name="stage_loads",
    place=32,
    about="stages of traced requests stacked by load, all services (C10, L12)",
    of_study=draw,
)
