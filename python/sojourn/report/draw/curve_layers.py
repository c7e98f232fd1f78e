"""The layers of a curve against load, back to front: bands, bound, lines, intervals, dots."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sojourn.findings.findings import ServiceFinding
from sojourn.findings.highest_load import MaxLoad
from sojourn.findings.load_point import Line
from sojourn.report import show
from sojourn.report.draw import known_layers, marks, thin
from sojourn.report.draw.axes import TimeAxis, load_x
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import HEIGHT, Sheet
from sojourn.report.draw.known import SURE, Sort
from sojourn.report.draw.lookup import is_bound, lines_of, load_title
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Record, is_finite, number
from sojourn.stats.interval import Interval

ASIDE = 5  # px by which intervals stand left and runs right of their load, so that both are seen
BEYOND = 10.0  # a share of max RPS beyond every axis, where JSON has no infinity
SOLID, DASHED, DOTTED = [1, 0], [6, 4], [3, 3]


@dataclass(frozen=True, slots=True)
class Frame:
    """What all layers share: the rows by name, and the axes."""

    sheet: Sheet
    axis: TimeAxis
    x: alt.X
    y: alt.Y


@dataclass(frozen=True, slots=True)
class Band:
    """An interval of loads to be shaded."""

    name: str
    interval: Interval
    colour: str
    dash: list[int]


def draw(
    service: ServiceFinding, q: float | None, records: list[Record], sheet: Sheet
) -> alt.LayerChart:
    """All layers of the curve, back to front; their rows go into `sheet`."""
    label = show.quantile(q)
    highest = max(point.fraction for point in service.points)
    axis = _axis(service, q, records)
    frame = Frame(
        sheet,
        axis,
        load_x(title=load_title(service), highest=highest),
        axis.y("y", f"{label} sojourn time"),
    )
    bands = _bands(service)
    lines = lines_of(service, q)
    colour, dash = _legend(lines, bands)
    layers = [
        *_shaded(frame, bands, colour),
        *_qos(frame, service, q),
        *_drawn(frame, lines, colour, dash),
        *_through(frame, service, records),
        *_intervals(frame, records),
        *_bounds(frame, records),
        *_loads(frame, records),
        *_runs(frame, records, label),
    ]
    return alt.layer(*layers, width="container", height=HEIGHT)


def _axis(service: ServiceFinding, q: float | None, records: list[Record]) -> TimeAxis:
    """Room for what was measured and the bound; ideal curves that run off are cut."""
    measured = [r for r in records if r["what"] in {"estimate", "run"}]
    across = [number(r.get(key)) for r in measured for key in ("restarts_lo_ns", "restarts_hi_ns")]
    # Above the bound there must be room for its label, and for what lies beyond the edge.
    bound = [1.2 * service.qos.bound_ns] if service.qos and is_bound(service, q) else []
    return known_layers.axis(measured, [*across, *bound])


def _bands(service: ServiceFinding) -> list[Band]:
    """The max-load interval and the crossing of the smoothed curve, where they were found."""
    search = service.section(MaxLoad)
    decided = search.border.fraction if search and search.border else None
    return [
        Band(name, interval, role(colour), dash)
        for name, interval, colour, dash in (
            ("max load within QoS", decided, "band", SOLID),
            ("curve crosses QoS", service.crossing, "crossing", DOTTED),
        )
        if interval is not None
    ]


def _legend(lines: list[Line], bands: list[Band]) -> tuple[alt.Color, alt.StrokeDash]:
    """One legend that names lines and bands, by colour and dash."""
    looks = [_look(line.name) for line in lines]
    looks += [(band.name, band.colour, band.dash) for band in bands]
    names = [name for name, _, _ in looks]
    key = alt.Legend(title=None, symbolType="stroke", symbolStrokeWidth=3, symbolSize=300)
    colours = alt.Scale(domain=names, range=[colour for _, colour, _ in looks])
    dashes = alt.Scale(domain=names, range=[dash for _, _, dash in looks])
    return (
        alt.Color("line:N", scale=colours, legend=key),
        alt.StrokeDash("line:N", scale=dashes, legend=key),
    )


def _look(line: str) -> tuple[str, str, list[int]]:
    is_smooth = "lowess" in line.lower()
    return (line, role("curve"), SOLID) if is_smooth else (line, role("theory"), DASHED)


def _shaded(frame: Frame, bands: list[Band], colour: alt.Color) -> list[alt.Chart]:
    """Load intervals as bands over all times."""
    return [
        frame.sheet.chart(
            band.name,
            [
                {
                    "lo": band.interval.lo,
                    "hi": min(band.interval.hi, BEYOND),
                    "bottom": frame.axis.lo,
                    "top": frame.axis.hi,
                    "line": band.name,
                    "shown": show.shares(band.interval),
                }
            ],
        )
        .mark_rect(
            clip=True, fillOpacity=0.16, stroke=band.colour, strokeWidth=1, strokeDash=band.dash
        )
        .encode(
            x=alt.X("lo:Q"),
            x2=alt.X2("hi:Q"),
            y=alt.Y("bottom:Q"),
            y2=alt.Y2("top:Q"),
            color=colour,
            tooltip=marks.tooltip("line", "shown"),
        )
        for band in bands
    ]


def _qos(frame: Frame, service: ServiceFinding, q: float | None) -> list[alt.Chart]:
    """The bound as a labelled line; only where the figure shows the quantile it is about."""
    if service.qos is None or not is_bound(service, q):
        return []
    row: Record = {
        "bound": service.qos.bound_ns,
        "label": f"QoS: {show.quantile(service.qos.q)} ≤ {show.time(service.qos.bound_ns)}",
        "rule": service.qos.rule,
    }
    base = frame.sheet.chart("bound", [row]).encode(
        y=alt.Y("bound:Q"), tooltip=marks.tooltip("label", "rule")
    )
    return [
        base.mark_rule(color=role("qos"), strokeWidth=2),
        base.mark_text(
            color=role("qos"), align="left", baseline="bottom", dx=6, dy=-4, fontWeight="bold"
        ).encode(x=alt.XValue(0), text=alt.Text("label:N")),
    ]


def _drawn(
    frame: Frame, lines: list[Line], colour: alt.Color, dash: alt.StrokeDash
) -> list[alt.Chart]:
    """Smoothed and ideal curves, cut at the edges of the axis."""
    rows: list[Record] = [
        {"fraction": thin.rounded(f), "y": thin.rounded(ns), "line": line.name, "about": line.about}
        for line in lines
        for f, ns in zip(line.fraction, line.value_ns, strict=True)
        if math.isfinite(ns) and ns > 0
    ]
    if not rows:
        return []
    tooltip = marks.tooltip("line", "about")
    chart = frame.sheet.chart("lines", rows).mark_line(clip=True, strokeWidth=2)
    return [chart.encode(x=frame.x, y=frame.y, color=colour, strokeDash=dash, tooltip=tooltip)]


def _intervals(frame: Frame, records: list[Record]) -> list[alt.Chart]:
    """Thin: within the runs. Broad and pale: of the mean over restarts."""
    layers = []
    for lo, hi, width, opacity in (
        ("restarts_lo_ns", "restarts_hi_ns", 9, 0.25),
        ("lo_ns", "hi_ns", 2, 1.0),
    ):
        rows = [
            r | {"y": frame.axis.place(number(r[lo])), "end": frame.axis.place(number(r[hi]))}
            for r in records
            if r["what"] == "estimate" and is_finite(r[lo])
        ]
        if rows:
            rule = frame.sheet.chart(lo, rows).mark_rule(
                strokeWidth=width, opacity=opacity, color=role("ink"), xOffset=-ASIDE
            )
            layers.append(rule.encode(x=frame.x, y=frame.y, y2=alt.Y2("end:Q"), tooltip=_of_load()))
    return layers


def _loads(frame: Frame, records: list[Record]) -> list[alt.Chart]:
    """The number over all valid runs of a load, a bar across."""
    selected = [r for r in records if r["what"] == "estimate" and is_finite(r["value_ns"])]
    if not selected:
        return []
    bars = frame.sheet.chart("loads", [r | {"y": r["value_ns"]} for r in selected]).mark_tick(
        orient="horizontal", size=14, thickness=2.5, color=role("ink"), xOffset=-ASIDE
    )
    return [bars.encode(x=frame.x, y=frame.y, tooltip=_of_load())]


def _bounds(frame: Frame, records: list[Record]) -> list[alt.Chart]:
    """Of an upper bound an arrow from the number to what it is at least."""
    selected = [r for r in known_layers.rows(_of(records, "estimate"), frame.axis) if "tip" in r]
    selected = [r for r in selected if r["known"] == Sort.AT_MOST]
    if not selected:
        return []
    base = frame.sheet.chart("bounds", selected).encode(x=frame.x, tooltip=_of_load())
    rule = base.mark_rule(strokeDash=[2, 2], color=role("ink"), xOffset=-ASIDE, clip=True)
    head = base.mark_point(
        shape="triangle-down", filled=True, size=45, color=role("ink"), xOffset=-ASIDE, yOffset=-4
    )
    return [rule.encode(y=alt.Y("begin:Q"), y2=alt.Y2("tip:Q")), head.encode(y=alt.Y("tip:Q"))]


def _through(frame: Frame, service: ServiceFinding, records: list[Record]) -> list[alt.Chart]:
    """Loads joined by lines, where there are too few for a smoothed curve."""
    result = known_layers.rows(_of(records, "estimate"), frame.axis)
    pieces = [row for row in result if row["layer"] == known_layers.PIECE]
    if not pieces or any("lowess" in line.name.lower() for line in service.lines):
        return []
    chart = frame.sheet.chart("through", pieces).mark_rule(color=role("curve"), strokeWidth=2)
    dash = alt.StrokeDashValue(
        condition={"test": "datum.is_sure", "value": SOLID}, value=known_layers.DASHES
    )
    return [
        chart.encode(x=frame.x, x2=alt.X2("to:Q"), y=frame.y, y2=alt.Y2("end:Q"), strokeDash=dash)
    ]


def _of(records: list[Record], what: str) -> list[Record]:
    return [record for record in records if record["what"] == what]


def _dots(records: list[Record]) -> list[Record]:
    """Runs; where they are not there, the loads whose number is no bar across."""
    sure = {str(sort) for sort in SURE}
    return _of(records, "run") or [r for r in _of(records, "estimate") if r["known"] not in sure]


def _runs(frame: Frame, records: list[Record], label: str) -> list[alt.Chart]:
    """Every run a dot; what was not measured is a cross on the axis."""
    result = _dots(records)
    if not result:
        return []
    dots = frame.sheet.chart(
        "runs", [r | {"y": _place(frame.axis, number(r["mark_ns"]))} for r in result]
    ).mark_point(size=50, opacity=0.85, strokeWidth=1.8, xOffset=ASIDE)
    return [
        dots.encode(
            x=frame.x,
            y=frame.y,
            tooltip=[alt.Tooltip("shown:N", title=label), *marks.tooltip(*marks.TOOLTIP)],
            **marks.encodings([str(r["status"]) for r in result]),
        )
    ]


def _place(axis: TimeAxis, ns: float | None) -> float | None:
    return axis.lo if ns is None else axis.place(ns)


def _of_load() -> list[alt.Tooltip]:
    return marks.tooltip("offered", "shown", "interval", "restarts")
