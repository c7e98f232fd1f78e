"""Distributions of several tools' results on one axis of nines."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.report import show
from sojourn.report.draw import marks
from sojourn.report.draw.axes import TimeAxis, time_axis
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import HEIGHT, Figure, Sheet, Spec, finish
from sojourn.report.draw.palette import series
from sojourn.report.draw.table import Record, from_records
from sojourn.report.figures.distribution import BODY, nines, nines_x
from sojourn.report.opened import Side

COLUMNS = ("series", "how", "share", "sojourn_ns")
#: What a line looks like by the clock of its times; a clock that is missing would repeat another.
DASHES = {
    "intended": [1, 0],
    "send": [6, 3],
    "not known": [2, 2],
    "intended, roughly": [12, 3],
    "server": [8, 2, 2, 2],
    "kernel event": [2, 6],
}
TITLE = "Distribution of response times"


def draw(sides: Sequence[Side]) -> Figure:
    """A line for each side of which the distribution is known, dots for printed quantiles."""
    drawn = [side for side in sides if side.line or side.dots]
    records: list[Record] = [
        {"series": side.letter, "how": how, "share": share, "sojourn_ns": ns}
        for side in drawn
        for how, pairs in (("line", side.line), ("printed", side.dots))
        for share, ns in pairs
    ]
    table = from_records(COLUMNS, records)
    if not drawn:
        missing = "No file has a distribution or a quantile."
        return Figure(name="opened", title=TITLE, caption="", alt="", table=table, missing=missing)
    return Figure(
        name="opened",
        title=TITLE,
        caption=(
            "Read a quantile below and its time at the left; each step to the right by one label "
            "is ten times rarer. A line ends where its file ends: beyond are fewer than two "
            "requests. Dots alone: quantiles that a tool printed, with nothing between them."
        ),
        alt=f"{len(drawn)} distributions: " + "; ".join(f"{s.letter} {s.name}" for s in drawn),
        table=table,
        chart=_chart(drawn),
    )


def _rows(side: Side, pairs: Sequence[tuple[float, float]], axis: TimeAxis) -> list[Record]:
    return [
        {
            "x": x,
            "y": axis.place(ns),
            "series": side.letter,
            "quantile": f"p{100 * share:.6g}",
            "time": show.time(ns),
            "from": side.facts.clock,
            "loop": side.facts.loop,
        }
        for share, ns in pairs
        if (x := nines(share)) is not None
    ]


def _chart(sides: Sequence[Side]) -> Spec:
    pairs = [pair for side in sides for pair in (*side.line, *side.dots)]
    axis = time_axis([ns for share, ns in pairs if share >= BODY])
    deepest = max((x for share, _ in pairs if (x := nines(share)) is not None), default=2.0)
    sheet = Sheet()
    colour = alt.Color(
        "series:N",
        scale=alt.Scale(
            domain=[side.letter for side in sides], range=[series(i) for i in range(len(sides))]
        ),
        legend=alt.Legend(title="series", symbolType="stroke"),
    )
    present = {side.facts.clock for side in sides}
    dashes = {clock: dash for clock, dash in DASHES.items() if clock in present}
    dash = alt.StrokeDash(
        "from:N",
        scale=alt.Scale(domain=list(dashes), range=list(dashes.values())),
        legend=alt.Legend(title="measured from"),
    )
    common = {
        "x": nines_x(deepest),
        "y": axis.y("y", "response time"),
        "color": colour,
        "tooltip": marks.tooltip("series", "quantile", "time", "from", "loop"),
    }
    lines = [row for side in sides for row in _rows(side, side.line, axis)]
    dots = [row for side in sides for row in _rows(side, side.dots, axis)]
    layers: list[alt.Chart] = []
    if lines:
        drawn = sheet.chart("lines", lines).mark_line(strokeWidth=2)
        layers.append(drawn.encode(strokeDash=dash, **common))
    if dots:
        layers.append(sheet.chart("dots", dots).mark_point(size=70, filled=True).encode(**common))
    chart = alt.layer(*layers, width="container", height=HEIGHT)
    return finish(chart, sheet, title=TITLE)
