"""The layers of the one picture of all services, back to front."""

from __future__ import annotations

import json
import math

from sojourn.findings.findings import ServiceFinding
from sojourn.report import labels, show
from sojourn.report.draw import known_layers, overview_ground
from sojourn.report.draw.axes import TimeAxis, load_x
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import Sheet, Spec, finish
from sojourn.report.draw.overview_frame import Frame
from sojourn.report.draw.palette import series
from sojourn.report.draw.table import Record, number

HEIGHT = 380
ROOM = 2.0  # above the highest mark, as a ratio: words of the bands stand there
SHAPES = ("circle", "square", "diamond", "triangle-right", "cross", "triangle-left")
TOOLTIP = ("service", "load", "quantile", "shown", "interval", "verdict", "reason")
LEGEND_COLUMNS = 3
ONLY, HOT = "only", "hot"  # picked in the legend; under the pointer, here or on a tile


def draw(services: list[ServiceFinding], records: list[Record], tail: str) -> Spec:
    """The picture; `records` are one row per service and load."""
    sheet = Sheet()
    frame = _frame(services, records, tail, sheet)
    look = known_layers.Look(
        x=frame.x,
        y=frame.y,
        colour=frame.colour,
        tooltip=TOOLTIP,
        opacity=frame.opacity(),
        thin=frame.width(1.5),
        broad=frame.width(2),
        shape=frame.shape,
    )
    base = sheet.chart("known", _rows(services, records, frame.axis))
    *behind, points = known_layers.layers(base, look)
    layers = [
        *overview_ground.bands(frame, services),
        *overview_ground.bounds(frame, services),
        *behind,
        points.add_params(frame.only, _zoom()),
    ]
    chart = alt.layer(*layers, width="container", height=HEIGHT).add_params(frame.hot)
    return finish(chart, sheet, title=tail)


def _rows(services: list[ServiceFinding], records: list[Record], axis: TimeAxis) -> list[Record]:
    of = ([r for r in records if r["service"] == service.service] for service in services)
    return [row for own in of for row in known_layers.rows(own, axis)]


def _zoom() -> alt.Parameter:
    return alt.selection_interval(
        "zoom",
        bind="scales",
        zoom="wheel![event.ctrlKey]",
        translate="[pointerdown[event.pointerType === 'mouse'], window:pointerup]"
        " > window:pointermove!",
    )


def _frame(services: list[ServiceFinding], records: list[Record], tail: str, sheet: Sheet) -> Frame:
    names = [s.service for s in services]
    called = labels.each(services)
    full = {
        s.service: f"{called[s.service]}, 100 % = {show.round_count(s.max_rps)} requests/s"
        if s.max_rps
        else called[s.service]
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
    bounds = [1.3 * s.qos.bound_ns for s in services if s.qos]
    marks = [ns for r in records if (ns := number(r["mark_ns"])) is not None and math.isfinite(ns)]
    axis = known_layers.axis(records, [*bounds, *(ROOM * ns for ns in marks)])
    highest = max(point.fraction for s in services for point in s.points)
    return Frame(
        sheet,
        axis,
        load_x(title=["offered load, % of max RPS", *known_layers.key(records)], highest=highest),
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
