"""Achieved against offered load: where the service stops keeping up."""

from __future__ import annotations

from sojourn.findings.findings import ServiceFinding
from sojourn.report import labels, show
from sojourn.report.draw import marks, thin
from sojourn.report.draw.axes import COUNT_LABEL
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import HEIGHT, Figure, Kind, Sheet, Spec, finish
from sojourn.report.draw.lookup import slug
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Record, from_records, number

COLUMNS = (
    "fraction",
    "offered_rps",
    "achieved_rps",
    "restart",
    "run",
    "errors",
    "verdict",
    "reason",
)


def draw(service: ServiceFinding) -> list[Figure]:
    """One figure: a dot per run, and the line on which nothing is lost."""
    title = f"{labels.called(service)}: achieved against offered load"
    records = _records(service)
    table = from_records(COLUMNS, records)
    name = slug(f"{service.service}-achieved")
    if not records:
        return [
            Figure(
                name=name,
                title=title,
                caption="",
                alt="",
                table=table,
                missing="No load was swept.",
            )
        ]
    drawn = thin.thinned(
        records,
        group=lambda r: (r["fraction"], r["status"]),
        extremes=[_done, lambda r: -(_done(r) or 0.0)],
    )
    most = max(point.achieved_rps for point in service.points)
    return [
        Figure(
            name=name,
            title=title,
            caption=(
                "On the dashed line all that was offered was done. Runs below it lost requests"
                " or left them waiting at the end."
                + thin.caption_sentence(len(drawn), len(records))
            ),
            alt=f"Achieved load rises with offered load up to {show.count(most)} requests/s.",
            table=table,
            chart=_chart(drawn, title),
        )
    ]


def _done(record: Record) -> float | None:
    return number(record["achieved_rps"])


def _records(service: ServiceFinding) -> list[Record]:
    return [
        {
            **marks.run_tooltip(run, point.fraction),
            "achieved": f"{show.count(run.achieved_rps)} requests/s",
            "fraction": point.fraction,
            "offered_rps": run.offered_rps,
            "achieved_rps": run.achieved_rps,
            "errors": sum(count for _, count in run.errors),
            "lost": ", ".join(f"{count} {kind}" for kind, count in run.errors) or "none",
            "verdict": marks.word(run),
            "status": marks.word(run),
        }
        for point in service.points
        for run in point.runs
    ]


def _chart(records: list[Record], title: str) -> Spec:
    sheet = Sheet()
    top = 1.04 * max(float(r[k] or 0) for r in records for k in ("offered_rps", "achieved_rps"))
    scale = alt.Scale(domain=[0, top], nice=False)
    ticks = alt.Axis(labelExpr=COUNT_LABEL, tickCount=6, labelOverlap="parity")
    x = alt.X("offered_rps:Q", title="offered load, requests/s", scale=scale, axis=ticks)
    y = alt.Y("achieved_rps:Q", title="achieved, requests/s", scale=scale, axis=ticks)
    ideal: list[Record] = [{"offered_rps": v, "achieved_rps": v} for v in (0.0, top)]
    diagonal = (
        sheet.chart("ideal", ideal)
        .mark_line(color=role("muted"), strokeDash=[6, 4], strokeWidth=1.5)
        .encode(x=x, y=y)
    )
    dots = (
        sheet.chart("runs", records)
        .mark_point(size=50, opacity=0.85, strokeWidth=1.8)
        .encode(
            x=x,
            y=y,
            tooltip=marks.tooltip("achieved", "lost", *marks.TOOLTIP),
            **marks.encodings([str(r["status"]) for r in records]),
        )
    )
    chart = alt.layer(diagonal, dots, width="container", height=HEIGHT)
    return finish(chart, sheet, title=title)


KIND = Kind(
    name="achieved",
    about="achieved against offered load, a dot per run (C6)",
    of_service=draw,
    is_detail=True,
)
