"""The whole distribution of sojourn times, a line per load, on an axis of nines."""

from __future__ import annotations

import math

from sojourn.findings.findings import Qos, ServiceFinding
from sojourn.findings.load_point import LoadPoint
from sojourn.plan.points import Verdict
from sojourn.report import labels, show
from sojourn.report.draw import marks, thin
from sojourn.report.draw.axes import TimeAxis, time_axis
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import HEIGHT, Figure, Kind, Sheet, Spec, finish
from sojourn.report.draw.lookup import slug
from sojourn.report.draw.palette import load, role
from sojourn.report.draw.table import Record, from_records, is_finite

COLUMNS = ("fraction", "offered_rps", "verdict", "share", "sojourn_ns")

# 0 is every request, 1 is p90, 2 is p99: the tail gets as much room as the body.
# The lowest tenth would take half of the time axis and is no one's question.
BODY = 0.1
NINES_LABEL = "datum.value == 0 ? 'p0' : 'p' + format(100 * (1 - pow(10, -datum.value)), '~r')"
STEPS = 240  # points a line is drawn with; the table keeps all


def draw(service: ServiceFinding) -> list[Figure]:
    """The distribution of sojourn times per load; no figure if no point has one."""
    title = f"{labels.called(service)}: distribution of sojourn time per load"
    name = slug(f"{service.service}-distribution")
    points = [point for point in service.points if point.distribution]
    table = from_records(COLUMNS, [r for point in points for r in _rows(point)])
    if not points:
        missing = (
            "No run at any load is valid, so there is no distribution."
            if service.points
            else "No load was swept."
        )
        return [Figure(name=name, title=title, caption="", alt="", table=table, missing=missing)]
    return [
        Figure(
            name=name,
            title=title,
            caption=(
                "Read a quantile below and its sojourn time at the left; each step to the right"
                " by one label is ten times rarer. A line that ends at the top edge was cut there"
                " by requests that never completed. Dashed: loads without a verdict."
            ),
            alt=f"{len(points)} distributions, from {show.load(points[0].fraction)} to "
            f"{show.load(points[-1].fraction)} of max RPS; higher load lies higher.",
            table=table,
            chart=_chart(service, points, title),
        )
    ]


def nines(share: float) -> float | None:
    """How many nines a share has; None for all requests, which have infinitely many.

    >>> nines(0.0), round(nines(0.999), 6), nines(1.0)
    (0.0, 3.0, None)
    """
    return None if share >= 1 else -math.log10(1 - share) + 0.0


def nines_x(deepest: float) -> alt.X:
    """The axis of nines, as far as the rarest that is drawn."""
    return alt.X(
        "x:Q",
        title="quantile of requests",
        scale=alt.Scale(domain=[0, max(deepest, 2.0)], nice=False),
        axis=alt.Axis(
            values=[0, nines(0.5), *range(1, math.ceil(deepest) + 1)],
            labelExpr=NINES_LABEL,
            labelOverlap="greedy",
            labelSeparation=6,
        ),
    )


def _rows(point: LoadPoint) -> list[Record]:
    return [
        {
            "fraction": point.fraction,
            "offered_rps": point.offered_rps,
            "verdict": marks.word(point),
            "share": share,
            "sojourn_ns": ns,
        }
        for share, ns in point.distribution
    ]


def _drawn(point: LoadPoint, axis: TimeAxis) -> list[Record]:
    """The line, thinned evenly on the axis, up to the first request that never completed."""
    label = show.load(point.fraction)
    records: list[Record] = []
    last = -math.inf
    deepest = max(
        (n for share, _ in point.distribution if (n := nines(share)) is not None), default=0.0
    )
    for share, ns in point.distribution:
        x = nines(share)
        if x is None or (x - last < deepest / STEPS and math.isfinite(ns)):
            continue
        last = x
        records.append(
            {
                "x": thin.rounded(x),
                "y": None if (y := axis.place(ns)) is None else thin.rounded(y),
                "load": label,
                "quantile": f"p{100 * share:.6g}",
                "sojourn": show.time(ns),
                "verdict": marks.word(point),
                "is_open": point.verdict is Verdict.UNKNOWN,
            }
        )
        if not math.isfinite(ns):
            break
    return records


def _chart(service: ServiceFinding, points: list[LoadPoint], title: str) -> Spec:
    times = [ns for point in points for share, ns in point.distribution if share >= BODY]
    # Room above the bound tells a line at the bound from one that was cut at the edge.
    bound = [1.2 * service.qos.bound_ns] if service.qos else []
    axis = time_axis([*times, *bound])
    sheet = Sheet()
    rows = [row for point in points for row in _drawn(point, axis)]
    deepest = max((float(row["x"] or 0) for row in rows if is_finite(row["x"])), default=2.0)
    labels = [show.load(point.fraction) for point in points]
    colours = [load(i, len(points)) for i in range(len(points))]
    lines = (
        sheet.chart("shares", rows)
        .mark_line(strokeWidth=2)
        .encode(
            x=nines_x(deepest),
            y=axis.y("y", "sojourn time"),
            color=alt.Color(
                "load:N",
                scale=alt.Scale(domain=labels, range=colours),
                legend=alt.Legend(title="offered load, % of max RPS", symbolType="stroke"),
            ),
            strokeDash=alt.StrokeDash(
                "is_open:N",
                scale=alt.Scale(domain=[False, True], range=[[1, 0], [4, 4]]),
                legend=None,
            ),
            tooltip=marks.tooltip("load", "quantile", "sojourn", "verdict"),
        )
    )
    target = _target(service.qos, deepest, sheet) if service.qos else []
    chart = alt.layer(*target, lines, width="container", height=HEIGHT)
    return finish(chart, sheet, title=title)


def _target(qos: Qos, deepest: float, sheet: Sheet) -> list[alt.Chart]:
    """The corner of the QoS target: lines must pass below and to the right of it."""
    corner = nines(qos.q) or 0.0
    # Above the picture, where no line runs; near the right edge it must not be cut.
    align = "right" if corner > 0.8 * deepest else "center"
    label = f"QoS: {show.quantile(qos.q)} ≤ {show.time(qos.bound_ns)}"
    row: Record = {"x": min(corner, deepest), "y": qos.bound_ns, "label": label, "rule": qos.rule}
    base = sheet.chart("target", [row]).encode(tooltip=marks.tooltip("label", "rule"))
    return [
        base.mark_rule(color=role("qos"), strokeWidth=1.5).encode(y=alt.Y("y:Q")),
        base.mark_rule(color=role("qos"), strokeWidth=1.5, strokeDash=[3, 3]).encode(
            x=alt.X("x:Q")
        ),
        base.mark_text(color=role("qos"), align=align, baseline="bottom", fontWeight="bold").encode(
            x=alt.X("x:Q"), y=alt.YValue(-5), text=alt.Text("label:N")
        ),
    ]


KIND = Kind(
    name="distribution",
    about="full distribution per load on an axis of nines",
    of_service=draw,
    is_detail=True,
)
