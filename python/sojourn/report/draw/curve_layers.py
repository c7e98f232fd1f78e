"""The layers of a curve against load, back to front: bands, bound, lines, intervals, dots."""

from __future__ import annotations

import math
from dataclasses import dataclass

import altair as alt

from sojourn.analysis.findings import Interval, Line, ServiceFinding
from sojourn.report import show
from sojourn.report.draw import marks
from sojourn.report.draw.axes import TimeAxis, load_x, time_axis
from sojourn.report.draw.figure import HEIGHT
from sojourn.report.draw.lookup import is_bound, lines_of, load_title
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Record, drawable, is_finite, number

ASIDE = 5  # px by which intervals stand left and runs right of their load, so that both are seen
SOLID, DASHED, DOTTED = [1, 0], [6, 4], [3, 3]


@dataclass(frozen=True, slots=True)
class Band:
    """An interval of loads to be shaded."""

    name: str
    interval: Interval
    colour: str
    dash: list[int]


def draw(service: ServiceFinding, q: float | None, records: list[Record]) -> alt.LayerChart:
    """All layers of the curve, back to front."""
    label = show.quantile(q)
    axis = _axis(service, q, records)
    x = load_x(title=load_title(service), highest=max(point.fraction for point in service.points))
    y = axis.y("y", f"{label} sojourn time")
    estimates = [r for r in records if r["what"] == "estimate"]
    bands, colour, dash = _named(service, q)
    layers = [
        *_bands(bands, axis, colour),
        *_qos(service, q),
        *_lines(lines_of(service, q), x, y, colour, dash),
        *_intervals(estimates, axis, x, y),
        *_dots(records, axis, x, y, label),
    ]
    return alt.layer(*layers).properties(width="container", height=HEIGHT)


def _axis(service: ServiceFinding, q: float | None, records: list[Record]) -> TimeAxis:
    """Room for what was measured and the bound; ideal curves that run off are cut."""
    measured = [r for r in records if r["what"] in {"estimate", "run"}]
    keys = ("value_ns", "lo_ns", "hi_ns", "restarts_lo_ns", "restarts_hi_ns")
    values = [number(r.get(key)) for r in measured for key in keys]
    # Above the bound there must be room for its label, and for what lies beyond the edge.
    bound = [1.2 * service.qos.bound_ns] if service.qos and is_bound(service, q) else []
    return time_axis([*values, *bound])


def _named(
    service: ServiceFinding, q: float | None
) -> tuple[list[Band], alt.Color, alt.StrokeDash]:
    """The bands, and the one legend that names lines and bands by colour and dash."""
    search = service.max_load
    bands = [
        Band(name, interval, role(colour), dash)
        for name, interval, colour, dash in (
            ("max load within QoS", search.fraction if search else None, "band", SOLID),
            ("smoothed curve crosses QoS", service.crossing, "crossing", DOTTED),
        )
        if interval is not None
    ]
    looks = [_look(line.name) for line in lines_of(service, q)]
    looks += [(band.name, band.colour, band.dash) for band in bands]
    names = [name for name, _, _ in looks]
    key = alt.Legend(title=None, symbolType="stroke", symbolStrokeWidth=3, symbolSize=300)
    colours = alt.Scale(domain=names, range=[colour for _, colour, _ in looks])
    dashes = alt.Scale(domain=names, range=[dash for _, _, dash in looks])
    return (
        bands,
        alt.Color("line:N", scale=colours, legend=key),
        alt.StrokeDash("line:N", scale=dashes, legend=key),
    )


def _look(line: str) -> tuple[str, str, list[int]]:
    is_smooth = "lowess" in line.lower()
    return (line, role("curve"), SOLID) if is_smooth else (line, role("theory"), DASHED)


def _bands(bands: list[Band], axis: TimeAxis, colour: alt.Color) -> list[alt.Chart]:
    """Load intervals as bands over all times."""
    return [
        alt.Chart(
            alt.InlineData(
                values=[
                    {
                        "lo": band.interval.lo,
                        "hi": band.interval.hi,
                        "bottom": axis.lo,
                        "top": axis.hi,
                        "line": band.name,
                        "shown": show.shares(band.interval),
                    }
                ]
            )
        )
        .mark_rect(fillOpacity=0.16, stroke=band.colour, strokeWidth=1, strokeDash=band.dash)
        .encode(
            x=alt.X("lo:Q"),
            x2="hi:Q",
            y=alt.Y("bottom:Q"),
            y2="top:Q",
            color=colour,
            tooltip=marks.tooltip("line", "shown"),
        )
        for band in bands
    ]


def _qos(service: ServiceFinding, q: float | None) -> list[alt.Chart]:
    """The bound as a labelled line; only where the figure shows the quantile it is about."""
    if service.qos is None or not is_bound(service, q):
        return []
    row = {
        "bound": service.qos.bound_ns,
        "label": f"QoS: {show.quantile(service.qos.q)} ≤ {show.time(service.qos.bound_ns)}",
        "rule": service.qos.rule,
    }
    base = alt.Chart(alt.InlineData(values=[row])).encode(
        y=alt.Y("bound:Q"), tooltip=marks.tooltip("label", "rule")
    )
    return [
        base.mark_rule(color=role("qos"), strokeWidth=2),
        base.mark_text(
            color=role("qos"), align="left", baseline="bottom", dx=6, dy=-4, fontWeight="bold"
        ).encode(x=alt.value(0), text="label:N"),
    ]


def _lines(
    lines: list[Line], x: alt.X, y: alt.Y, colour: alt.Color, dash: alt.StrokeDash
) -> list[alt.Chart]:
    rows = [
        {"fraction": f, "y": ns, "line": line.name, "about": line.about}
        for line in lines
        for f, ns in zip(line.fraction, line.value_ns, strict=True)
        if math.isfinite(ns) and ns > 0
    ]
    if not rows:
        return []
    return [
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(clip=True, strokeWidth=2)
        .encode(x=x, y=y, color=colour, strokeDash=dash, tooltip=marks.tooltip("line", "about"))
    ]


def _intervals(estimates: list[Record], axis: TimeAxis, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Thin: within the run. Broad and pale: of the mean over restarts."""
    layers = []
    for lo, hi, width, opacity in (
        ("restarts_lo_ns", "restarts_hi_ns", 9, 0.25),
        ("lo_ns", "hi_ns", 2, 1.0),
    ):
        rows = [
            r | {"y": axis.place(number(r[lo])), "end": axis.place(number(r[hi]))}
            for r in estimates
            if r[lo] is not None and is_finite(r[lo])
        ]
        if rows:
            layers.append(
                alt.Chart(alt.InlineData(values=drawable(rows)))
                .mark_rule(strokeWidth=width, opacity=opacity, color=role("ink"), xOffset=-ASIDE)
                .encode(
                    x=x,
                    y=y,
                    y2="end:Q",
                    tooltip=marks.tooltip("offered", "shown", "interval", "restarts"),
                )
            )
    return layers


def _dots(records: list[Record], axis: TimeAxis, x: alt.X, y: alt.Y, label: str) -> list[alt.Chart]:
    """Every run a dot; the merged estimate a bar across; what has no number at the edge."""
    estimates = [r for r in records if r["what"] == "estimate"]
    runs = [r for r in records if r["what"] == "run"]
    bars = [r | {"y": r["value_ns"]} for r in estimates if is_finite(r["value_ns"])]
    edge = [r for r in estimates if r["status"] in {"refused", "never completed"}]
    dots = [r | {"y": axis.place(number(r["value_ns"]))} for r in runs] or [
        r | {"y": axis.place(number(r["value_ns"]))} for r in edge
    ]
    layers = []
    if bars:
        layers.append(
            alt.Chart(alt.InlineData(values=drawable(bars)))
            .mark_tick(
                orient="horizontal", size=14, thickness=2.5, color=role("ink"), xOffset=-ASIDE
            )
            .encode(x=x, y=y, tooltip=marks.tooltip("offered", "shown", "interval", "restarts"))
        )
    if dots:
        layers.append(
            alt.Chart(alt.InlineData(values=drawable(dots)))
            .mark_point(size=50, opacity=0.85, strokeWidth=1.8, xOffset=ASIDE)
            .encode(
                x=x,
                y=y,
                tooltip=[alt.Tooltip("shown:N", title=label), *marks.tooltip(*marks.TOOLTIP)],
                **marks.encodings([str(r["status"]) for r in dots]),
            )
        )
    return layers
