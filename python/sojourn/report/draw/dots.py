"""Rows of dots with intervals on a log axis: 1 marked, what was not shown hollow."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from sojourn.report.draw import marks
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import Sheet, Spec, finish
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Cell, Record, number
from sojourn.text.cut import cut

ROW_PX, PAD_PX = 26, 40
EDGE = 100.0  # an axis of ratios goes no further from 1
LABEL_PX, LABEL_MAX = 190, 30  # of a row's name: px, characters
_TICKS: Mapping[float, Sequence[float]] = {  # by how many times the axis' end is its beginning
    3: (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.5, 2, 2.5),
    30: (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20),
    math.inf: (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100),
}
MARGIN = 0.15  # of the axis at each end, where a text beside a dot would leave the picture
SHAPES = ("circle", "square", "diamond", "triangle-up")


def ratios(
    records: Sequence[Record],
    *,
    looks: Mapping[str, str],
    hollow: str,
    tooltip: Sequence[str],
    title: str,
    across: str,
    kinds: Sequence[str] = (),
    lines_at: Mapping[float, str] | None = None,
) -> Spec:
    """A chart as wide as its column, with a row for each `row` of the records.

    Args:
        records: of `row`, `ratio`, `lo`, `hi`, `look`, `shown`; `floor`, up to which equal runs
            differ, and `what`, where a row has a dot for each of several numbers.
        looks: colour of each look, in the order of the legend.
        hollow: the look whose dots are not filled.
        tooltip: fields that already hold text.
        title: of the picture.
        across: of the axis.
        kinds: the values of `what`, which shapes distinguish; () where there is only one.
        lines_at: further ratios that are marked, with their names.
    """
    sheet, name = Sheet(), "rows"
    names = list(dict.fromkeys(str(record["row"]) for record in records))
    rows = cut(names, LABEL_MAX)
    placed = _aligned([_placed(r, dict(zip(names, rows, strict=True))) for r in records])
    base = alt.Chart(sheet.data(name, placed))
    on: dict[str, object] = {
        "y": alt.Y(
            "row:N",
            title=None,
            sort=rows,
            axis=alt.Axis(labelLimit=LABEL_PX, grid=True, tickSize=0),
        ),
    }
    if len(kinds) > 1:
        on["yOffset"] = alt.YOffset("what:N", sort=list(kinds))
    seen = [look for look in looks if any(record["look"] == look for record in records)]
    scale = alt.Scale(domain=seen, range=[role(looks[look]) for look in seen])
    colour = alt.Color("look:N", legend=alt.Legend(title=None), scale=scale)
    fields = marks.tooltip(*tooltip)
    ends = (number(record[key]) for record in records for key in ("ratio", "lo", "hi"))
    x = alt.X(
        "x:Q", title=across, axis=axis(ends), scale=alt.Scale(type="log", nice=False, padding=16)
    )
    dots: dict[str, object] = {
        "x": x,
        "color": colour,
        "tooltip": fields,
        "fill": alt.Fill("look:N", scale=scale, legend=None),
        "fillOpacity": alt.condition(f"datum.look === '{hollow}'", alt.value(0), alt.value(1)),
    }
    if len(kinds) > 1:
        dots["shape"] = _shape(kinds)
    floor = base.transform_filter("isValid(datum.floor_high)").mark_bar(
        color=role("grid"), opacity=0.8, size=11
    )
    layers = [
        floor.encode(x=alt.X("floor_low:Q"), x2=alt.X2("floor_high:Q"), **on),
        *_lines({1.0: "", **(lines_at or {})}),
        base.mark_rule(strokeWidth=2).encode(
            x=alt.X("low:Q"), x2=alt.X2("high:Q"), color=colour, tooltip=fields, **on
        ),
        base.mark_point(size=75, strokeWidth=1.8, opacity=1).encode(**dots, **on),
        base.mark_text(dy=-11, fontSize=11, align=alt.expr("datum.align")).encode(
            x=x, text=alt.Text("shown:N"), color=colour, **on
        ),
    ]
    height = ROW_PX * len(records) + PAD_PX
    chart = alt.layer(*layers, width="container", height=height)
    return finish(chart, sheet, title=title)


def _shape(kinds: Sequence[str]) -> alt.Shape:
    legend = alt.Legend(
        title=None, symbolStrokeColor=role("ink"), symbolFillColor=role("ink"), labelLimit=220
    )
    shapes = [SHAPES[n % len(SHAPES)] for n in range(len(kinds))]
    return alt.Shape("what:N", legend=legend, scale=alt.Scale(domain=list(kinds), range=shapes))


def _lines(at: Mapping[float, str]) -> list[alt.Chart]:
    """A dashed line at each ratio; 1 is the darker one."""
    charts = []
    for ratio, word in at.items():
        ink = role("ink" if ratio == 1 else "muted")
        once = alt.Chart(alt.InlineData(values=[{}])).encode(x=alt.datum(ratio))
        charts.append(once.mark_rule(color=ink, strokeDash=[4, 3]))
        if word:
            label = once.mark_text(color=ink, align="left", baseline="top", dx=4, dy=3, fontSize=11)
            charts.append(label.encode(y=alt.YValue(0), text=alt.TextValue(word)))
    return charts


def _placed(record: Record, called: Mapping[str, str]) -> Record:
    """A record with its places on the axis; what lies beyond it is put at its edge, with an arrow.

    Args:
        record: one dot.
        called: the name of each row as it is shown.
    """
    floor, ratio = _inside(record.get("floor")), number(record["ratio"])
    shown = record.get("shown") or ""
    if ratio is not None and shown and not 1 / EDGE <= ratio <= EDGE:
        shown = f"{shown} →" if ratio > EDGE else f"← {shown}"
    return record | {
        "row": called[str(record["row"])],
        "shown": shown,
        "x": _inside(record["ratio"]),
        "low": _inside(record["lo"]),
        "high": _inside(record["hi"]),
        "floor_low": 1 / floor if floor else None,
        "floor_high": floor,
    }


def _aligned(placed: Sequence[Record]) -> list[Record]:
    """The same with where each number's text begins: at the edges it goes inwards."""
    every = [end for r in placed for key in ("x", "low", "high") if (end := number(r[key]))]
    lo, hi = math.log(min((*every, 1.0))), math.log(max((*every, 1.0)))

    def side(cell: Cell) -> str:
        at = (math.log(number(cell) or 1.0) - lo) / ((hi - lo) or 1.0)
        return "left" if at < MARGIN else "right" if at > 1 - MARGIN else "center"

    return [record | {"align": side(record["x"])} for record in placed]


def _inside(cell: Cell) -> float | None:
    value = number(cell)
    if value is None or math.isnan(value):
        return None
    return min(max(value, 1 / EDGE), EDGE)


def axis(ratios_of: Iterable[float | None]) -> alt.Axis:
    """Ticks of a ratio's log axis: few where it is long, and always 1.

    Args:
        ratios_of: what lies on it.
    """
    known = [min(max(one, 1 / EDGE), EDGE) for one in ratios_of if one and math.isfinite(one)]
    span = max((*known, 1.0)) / min((*known, 1.0))
    ticks = next(ticks for most, ticks in _TICKS.items() if span <= most)
    return alt.Axis(values=list(ticks), format="~r", labelOverlap="greedy", labelSeparation=4)
