"""The curves of one experiment: lines, the paper's points, and where the paper sees a break."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sojourn.models.replicate.kind import Curve, Mark, Replica
from sojourn.report.draw import marks as looks
from sojourn.report.draw.axes import TimeAxis, time_axis
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import HEIGHT, Figure, Sheet, finish
from sojourn.report.draw.lookup import slug
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Record, from_records

COLUMNS = ("curve", "by", "x", "value", "unit")
_COLOURS = ("holds", "violated", "band", "qos", "theory", "crossing", "unknown")
_DASHES: tuple[list[int], ...] = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
NS_PER_US = 1e3
LONG = 22  # letters of a name that needs a line of the legend for itself on a narrow page


def figures(replica: Replica) -> list[Figure]:
    """One figure per group of curves; curves without a group are in all of them."""
    groups = list(dict.fromkeys(curve.group for curve in replica.curves if curve.group)) or [""]
    return [
        _figure(
            replica,
            group,
            [curve for curve in replica.curves if curve.group in {"", group}],
            [mark for mark in replica.marks if mark.group in {"", group}],
        )
        for group in groups
        if replica.curves
    ]


def _figure(replica: Replica, group: str, curves: Sequence[Curve], marks: Sequence[Mark]) -> Figure:
    title = f"{replica.id}: {group or replica.title}"
    records = list(_records(replica, curves))
    sheet = Sheet()
    is_time = "µs" in curves[0].y_label
    axis = _axis(curves) if is_time else None
    layers = [
        *_marks(sheet, marks, axis),
        _lines(sheet, curves, records, axis),
        *_edge(sheet, records, axis),
    ]
    chart = alt.layer(*layers, width="container", height=HEIGHT)
    return Figure(
        name=slug(f"{replica.id} {group or 'curves'}"),
        title=title,
        caption=_caption(curves, marks, records),
        alt=_alt(curves),
        table=from_records(COLUMNS, records),
        chart=finish(chart, sheet, title=title),
    )


def _records(replica: Replica, curves: Sequence[Curve]) -> Iterator[Record]:
    for curve in curves:
        for x, y in zip(curve.x, curve.y, strict=True):
            by = "paper" if curve.is_paper else replica.label
            words = "not finite" if y is None else f"{y:.4g}"
            yield {
                "curve": curve.name,
                "by": by,
                "x": x,
                "value": float("inf") if y is None else y,
                "unit": curve.y_label,
                "is_finite": y is not None,
                "shown": f"{curve.name} ({by}) at {x:g}: {words}",
            }


def _axis(curves: Sequence[Curve]) -> TimeAxis:
    values = [y * NS_PER_US for curve in curves for y in curve.y if y is not None]
    infinite = any(y is None for curve in curves for y in curve.y)
    return time_axis(values, dots=[float("inf")] if infinite else [])


def _x(curves: Sequence[Curve]) -> alt.X:
    largest = max(max(curve.x) for curve in curves)
    is_share = largest <= 1
    return alt.X(
        "x:Q",
        title=curves[0].x_label + (", % of peak" if is_share else ""),
        scale=alt.Scale(domain=[0, 1 if is_share else 1.02 * largest], nice=False),
        axis=alt.Axis(
            format="~%" if is_share else "~r",
            labelOverlap="parity",
            labelSeparation=8,
            **({} if is_share else {"tickMinStep": 1}),
        ),
    )


def _y(curves: Sequence[Curve], axis: TimeAxis | None) -> alt.Y:
    label = curves[0].y_label
    if axis is not None:
        return axis.y("y", label.replace("µs", "").strip() or "time")
    largest = max((y for curve in curves for y in curve.y if y is not None), default=1.0)
    form = "~%" if largest <= 1 else "~r"
    return alt.Y(
        "y:Q", title=label, axis=alt.Axis(format=form), scale=alt.Scale(zero=True, nice=True)
    )


def _lines(
    sheet: Sheet, curves: Sequence[Curve], records: Sequence[Record], axis: TimeAxis | None
) -> alt.Chart:
    """All curves; the paper's own are dashed with hollow points."""
    names = [curve.name for curve in curves]
    colours = [role(_COLOURS[i % len(_COLOURS)]) for i in range(len(names))]
    dashes = [
        _DASHES[1] if curve.is_paper else _DASHES[(i // len(_COLOURS)) * 2]
        for i, curve in enumerate(curves)
    ]
    key = alt.Legend(
        title=None,
        symbolType="stroke",
        symbolStrokeWidth=3,
        symbolSize=300,
        columns=1 if max(map(len, names)) > LONG else 2,
        labelLimit=330,
    )
    scale = NS_PER_US if axis is not None else 1.0
    rows: list[Record] = [
        {**r, "y": float(str(r["value"])) * scale} for r in records if r["is_finite"]
    ]
    point = alt.OverlayMarkDef(size=28, filled=True)
    return (
        sheet.chart("curves", rows)
        .mark_line(strokeWidth=2, point=point)
        .encode(
            x=_x(curves),
            y=_y(curves, axis),
            color=alt.Color("curve:N", scale=alt.Scale(domain=names, range=colours), legend=key),
            strokeDash=alt.StrokeDash(
                "curve:N", scale=alt.Scale(domain=names, range=dashes), legend=key
            ),
            tooltip=looks.tooltip("shown"),
        )
    )


def _edge(sheet: Sheet, records: Sequence[Record], axis: TimeAxis | None) -> list[alt.Chart]:
    """Values that are not finite, as triangles at the upper edge."""
    rows = [{**r, "y": axis.hi} for r in records if not r["is_finite"]] if axis else []
    if not rows:
        return []
    names = list(dict.fromkeys(str(r["curve"]) for r in records))
    colours = [role(_COLOURS[i % len(_COLOURS)]) for i in range(len(names))]
    return [
        sheet.chart("infinite", rows)
        .mark_point(shape="triangle-up", size=55, yOffset=7, strokeWidth=1.6)
        .encode(
            x=alt.X("x:Q"),
            y=alt.Y("y:Q"),
            color=alt.Color("curve:N", scale=alt.Scale(domain=names, range=colours), legend=None),
            tooltip=looks.tooltip("shown"),
        )
    ]


def _marks(sheet: Sheet, marks: Sequence[Mark], axis: TimeAxis | None) -> list[alt.Chart]:
    """Where the paper sees something: an upright line with its words."""
    if not marks:
        return []
    rows: list[Record] = [{"x": mark.x, "text": f"paper: {mark.text}"} for mark in marks]
    base = sheet.chart("paper", rows).encode(x=alt.X("x:Q"), tooltip=looks.tooltip("text"))
    del axis
    return [
        base.mark_rule(color=role("muted"), strokeWidth=1.5, strokeDash=[4, 3]),
        base.mark_text(
            color=role("muted"),
            angle=270,
            align="right",
            baseline="bottom",
            dx=-6,
            dy=-3,
            fontSize=11,
        ).encode(y=alt.YValue(0), text=alt.Text("text:N")),
    ]


def _caption(curves: Sequence[Curve], marks: Sequence[Mark], records: Sequence[Record]) -> str:
    words = []
    if any(curve.is_paper for curve in curves):
        words.append("Dashed: the paper's numbers.")
    if marks:
        words.append("Upright lines: where the paper sees it.")
    if not all(r["is_finite"] for r in records):
        words.append(
            "Triangles at the upper edge: more requests than the quantile leaves out never ended."
        )
    return " ".join(words)


def _alt(curves: Sequence[Curve]) -> str:
    ends = []
    for curve in curves:
        finite = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if y is not None]
        if finite:
            (x0, y0), (x1, y1) = finite[0], finite[-1]
            ends.append(f"{curve.name}: {y0:.3g} at {x0:g} to {y1:.3g} at {x1:g}")
    return "; ".join(ends)
