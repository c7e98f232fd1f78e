"""The layers of the one picture of all services, back to front."""

from __future__ import annotations

import json
import math

import altair as alt

from sojourn.analysis.findings import ServiceFinding
from sojourn.report import show
from sojourn.report.draw import overview_ground
from sojourn.report.draw.axes import TimeAxis, load_x, time_axis
from sojourn.report.draw.figure import Sheet, Spec, finish
from sojourn.report.draw.marks import tooltip
from sojourn.report.draw.overview_frame import Frame
from sojourn.report.draw.palette import role, series
from sojourn.report.draw.table import Record, is_finite, number

HEIGHT = 380
SHAPES = ("circle", "square", "diamond", "triangle-right", "cross", "triangle-left")
SHORT = 1.6  # how far an arrow goes above its start, as a ratio, where the end is not the edge
TOOLTIP = ("service", "load", "quantile", "shown", "interval", "verdict", "reason")
LEGEND_COLUMNS = 3
ONLY, HOT = "only", "hot"  # picked in the legend; under the pointer, here or on a tile


def draw(services: list[ServiceFinding], records: list[Record], tail: str) -> Spec:
    """The picture; `records` are one row per service and load."""
    sheet = Sheet()
    frame = _frame(services, records, tail, sheet)
    layers = [
        *overview_ground.bands(frame, services),
        *overview_ground.bounds(frame, services),
        *_lines(frame, records),
        *_intervals(frame, records),
        *_arrows(frame, records),
        _points(frame, records),
    ]
    chart = alt.layer(*layers).properties(width="container", height=HEIGHT).add_params(frame.hot)
    return finish(chart, sheet, title=tail)


def _frame(services: list[ServiceFinding], records: list[Record], tail: str, sheet: Sheet) -> Frame:
    names = [s.service for s in services]
    full = {
        s.service: f"{s.service}, 100 % = {show.round_count(s.max_rps)} requests/s"
        if s.max_rps
        else s.service
        for s in services
    }
    key = alt.Legend(
        title=None,
        orient="top",
        labelExpr=f"({json.dumps(full)})[datum.label]",
        labelLimit=400,
        symbolOpacity=1,
        **({"columns": LEGEND_COLUMNS} if len(services) > overview_ground.MANY else {}),
    )
    axis = _axis(services, records)
    highest = max(point.fraction for s in services for point in s.points)
    return Frame(
        sheet,
        axis,
        load_x(title=["offered load, % of max RPS"], highest=highest),
        axis.y("y", tail),
        alt.Color(
            "service:N",
            scale=alt.Scale(domain=names, range=[series(i) for i in range(len(names))]),
            legend=key,
        ),
        alt.Shape(
            "service:N",
            scale=alt.Scale(domain=names, range=[shape(i) for i in range(len(names))]),
            legend=key,
        ),
        alt.selection_point(ONLY, fields=["service"], bind="legend", toggle="true"),
        alt.param(HOT, value=""),
    )


def shape(index: int) -> str:
    """The mark of one of several services; where colours repeat, its colour has another one.

    >>> shape(0), shape(5), shape(6)
    ('circle', 'triangle-left', 'square')
    """
    return SHAPES[(index + index // len(SHAPES)) % len(SHAPES)]


def _axis(services: list[ServiceFinding], records: list[Record]) -> TimeAxis:
    """Room for marks, targets with their words, and arrows with some way to go."""
    keys = ("value_ns", "lo_ns", "hi_ns")
    values = [number(r[key]) for r in records for key in keys]
    limits = [number(r["at_least_ns"]) for r in records]
    values += [limit * SHORT for limit in limits if limit is not None]
    values += limits
    bounds = [1.3 * s.qos.bound_ns for s in services if s.qos]
    return time_axis([*values, *bounds], dots=[math.inf] if any(map(_is_endless, records)) else [])


def _is_endless(record: Record) -> bool:
    value = number(record["value_ns"])
    return value is not None and math.isinf(value)


def _lines(frame: Frame, records: list[Record]) -> list[alt.Chart]:
    """Marks of neighbouring loads, joined; the line is broken where a load has no number."""
    rows: list[Record] = []
    part = 0
    for record in records:
        if record["is_open"]:
            part += 1
            continue
        rows.append({**record, "y": record["value_ns"], "part": part})
    if not rows:
        return []
    chart = frame.sheet.chart("lines", rows).mark_line(clip=True)
    return [
        chart.encode(
            x=frame.x, y=frame.y, color=frame.colour, detail="part:N",
            opacity=frame.opacity(), strokeWidth=frame.width(2),
        )
    ]  # fmt: skip


def _intervals(frame: Frame, records: list[Record]) -> list[alt.Chart]:
    """The 95 % interval of each number; what is the client's own lateness lies below it.

    One without an upper end is an arrow upwards from its lower one.
    """
    rows = [_interval(frame, r) for r in records if not r["is_open"] and is_finite(r["lo_ns"])]
    if not rows:
        return []
    base = frame.sheet.chart("intervals", rows).encode(
        x=frame.x, color=frame.colour, opacity=frame.opacity(), tooltip=tooltip(*TOOLTIP)
    )
    rule = base.mark_rule(clip=True)
    return [
        rule.encode(y=frame.y, y2="end:Q", strokeWidth=frame.width(1.5)),
        _head(base.transform_filter("datum.is_endless")),
    ]


def _interval(frame: Frame, record: Record) -> Record:
    low = (number(record["lo_ns"]) or 0.0) - (number(record["lateness_ns"]) or 0.0)
    high = number(record["hi_ns"])
    is_endless = high is not None and math.isinf(high)
    if is_endless:
        high = SHORT * (number(record["value_ns"]) or low)
    end = frame.axis.place(high)
    return {**record, "y": max(frame.axis.lo, low), "end": end, "is_endless": is_endless}


def _head(base: alt.Chart) -> alt.Chart:
    """The head of an arrow upwards at `end`."""
    head = base.mark_point(shape="triangle-up", filled=True, size=70, yOffset=4)
    return head.encode(y=alt.Y("end:Q"))


def _arrows(frame: Frame, records: list[Record]) -> list[alt.Chart]:
    """Upwards from the least the number can be; to the edge where requests never completed."""
    rows: list[Record] = []
    for record in records:
        start, endless = number(record["at_least_ns"]), _is_endless(record)
        if not record["is_open"] or (start is None and not endless):
            continue
        from_ns = frame.axis.hi / SHORT if start is None else start
        end = frame.axis.hi if endless else min(frame.axis.hi, from_ns * SHORT)
        rows.append({**record, "y": from_ns, "end": end})
    if not rows:
        return []
    base = frame.sheet.chart("arrows", rows).encode(
        x=frame.x, color=frame.colour, opacity=frame.opacity(), tooltip=tooltip(*TOOLTIP)
    )
    return [
        base.mark_rule(clip=True).encode(
            y=frame.y, y2="end:Q", strokeWidth=frame.width(1.5)
        ),
        base.mark_tick(orient="horizontal", size=9, thickness=1.5).encode(y=frame.y),
        _head(base),
    ]  # fmt: skip


def _points(frame: Frame, records: list[Record]) -> alt.LayerChart | alt.Chart:
    """One mark per load; hollow where the load is not decided. Holds the interaction too."""
    rows: list[Record] = [
        {**r, "y": r["value_ns"], "is_decided": r["verdict"] in {"holds", "violated"}}
        for r in records
        if not r["is_open"]
    ]
    zoom = alt.selection_interval(
        "zoom",
        bind="scales",
        zoom="wheel![event.ctrlKey]",
        translate="[pointerdown[event.pointerType === 'mouse'], window:pointerup]"
        " > window:pointermove!",
    )
    return (
        frame.sheet.chart("points", rows)
        .mark_point(size=55, strokeWidth=1.8, clip=True)
        .encode(
            x=frame.x,
            y=frame.y,
            color=frame.colour,
            shape=frame.shape,
            fill=alt.condition("datum.is_decided", frame.colour, alt.value(role("paper"))),
            opacity=frame.opacity(),
            tooltip=tooltip(*TOOLTIP),
        )
        .add_params(frame.only, zoom)
    )
