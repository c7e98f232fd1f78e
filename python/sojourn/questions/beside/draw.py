"""Tail and a neighbour's pace against load, a colour for each setting; where a tail breaks."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.report.draw import marks
from sojourn.report.draw.axes import load_x, time_axis
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import HEIGHT, Sheet, Spec, finish
from sojourn.report.draw.palette import curves
from sojourn.report.draw.table import Record, number

LOAD = ["offered load, % of max RPS of the service alone"]
THIN, LAYERS = 1.8, 4  # px of a line, and how many lie visibly beneath it
BREAKS = "thick: here it becomes twice that alone"
SHAPES, LOST = ("circle", "square", "diamond", "cross"), "triangle-up"
ALONE, BESIDE = "alone", "beside the neighbour"


def tail(records: Sequence[Record], breaks: Sequence[Record], *, tail: str, title: str) -> Spec:
    """The tail of each setting beside the neighbour and alone.

    Args:
        records: a row for each load, setting and `who` (`ALONE` or `BESIDE`), with `fraction`,
            `value_ns`, its ends and the texts of the tooltip.
        breaks: of each setting that breaks the last load that is as alone and the first that has
            departed, with `fraction` and `value_ns`; a line is drawn through them.
        tail: name of the quantile.
        title: of the whole.
    """
    sheet = Sheet()
    ends = [number(r[key]) for r in records for key in ("lo_ns", "hi_ns")]
    axis = time_axis(ends, dots=[number(r["value_ns"]) for r in records])
    rows: list[Record] = [
        r
        | {
            "y": axis.place(number(r["value_ns"])),
            "low": axis.place(number(r["lo_ns"])),
            "high": axis.place(number(r["hi_ns"])),
            "mark": LOST if r["shape"] == "lost" else _shape(records, r),
        }
        for r in records
    ]
    broken: list[Record] = [r | {"y": axis.place(number(r["value_ns"]))} for r in breaks]
    marked = [*LOAD, *([BREAKS] if breaks else [])]
    x, y, look = _x(records, marked), axis.y("y", f"{tail} sojourn time"), _look(records)
    base = sheet.chart("tails", rows).encode(x=x, color=look)
    dash = alt.StrokeDash(
        "who:N",
        scale=alt.Scale(domain=[BESIDE, ALONE], range=[[1, 0], [4, 3]]),
        legend=alt.Legend(title=None, orient="bottom", symbolType="stroke"),
    )
    layers = [
        sheet.chart("breaks", broken)
        .mark_line(strokeWidth=11, opacity=0.28, strokeCap="round")
        .encode(x=x, y=y, color=look, detail=alt.Detail("setting:N")),
        base.mark_line(strokeWidth=1.8, opacity=0.85).encode(y=y, strokeDash=dash),
        base.transform_filter(f"datum.who == '{BESIDE}'")
        .mark_rule(strokeWidth=2)
        .encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.transform_filter(f"datum.who == '{BESIDE}'")
        .mark_point(size=60, filled=True, opacity=1)
        .encode(
            y=y,
            shape=alt.Shape("mark:N", scale=None, legend=None),
            tooltip=marks.tooltip("setting", "who", "load", "shown", "times"),
        ),
    ]
    chart = alt.layer(*layers, width="container", height=HEIGHT)
    return finish(chart, sheet, title=title)


def kept_chart(records: Sequence[Record], *, title: str) -> Spec:
    """What the neighbour keeps of what it does alone.

    Args:
        records: a row for each load and setting with `fraction`, `kept`, its ends and the texts.
        title: of the whole.
    """
    sheet = Sheet()
    top = max([1.0, *(end for r in records if (end := number(r["kept_hi"])) is not None)])
    scale = alt.Scale(domain=[0, 1.02 * top], nice=False)
    y = alt.Y("kept:Q", title="of its work alone", axis=alt.Axis(format="~%"), scale=scale)
    names = _settings(records)
    rows: list[Record] = [
        r
        | {
            "mark": _shape(records, r),
            # Curves that coincide lie on one another: those beneath are wider.
            "width": THIN + 2 * min(LAYERS, len(names) - 1 - names.index(str(r["setting"]))),
        }
        for r in records
    ]
    base = sheet.chart("kept", rows).encode(x=_x(records), color=_look(records))
    width = alt.StrokeWidth("width:Q", scale=None, legend=None)
    layers = [
        base.mark_line().encode(y=y, strokeWidth=width),
        base.mark_rule(strokeWidth=2).encode(y=alt.Y("kept_lo:Q"), y2=alt.Y2("kept_hi:Q")),
        base.mark_point(size=60, filled=True, opacity=1).encode(
            y=y,
            shape=alt.Shape("mark:N", scale=None, legend=None),
            tooltip=marks.tooltip("setting", "load", "shown_kept"),
        ),
    ]
    chart = alt.layer(*layers, width="container", height=HEIGHT)
    return finish(chart, sheet, title=title)


def _settings(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(str(r["setting"]) for r in records))


def _shape(records: Sequence[Record], record: Record) -> str:
    """The mark of a setting: whoever sees no colours still sees which curve is which."""
    return SHAPES[_settings(records).index(str(record["setting"])) % len(SHAPES)]


def _x(records: Sequence[Record], title: Sequence[str] = LOAD) -> alt.X:
    return load_x(
        title=[*title], highest=max((number(r["fraction"]) or 0.0 for r in records), default=1)
    )


def _look(records: Sequence[Record]) -> alt.Color:
    """A colour for each setting, the same in both figures."""
    names = _settings(records)
    return alt.Color(
        "setting:N",
        scale=alt.Scale(domain=names, range=curves(names)),
        legend=alt.Legend(
            title=None,
            orient="top",
            labelLimit=320,
            symbolType="stroke",
            symbolOpacity=1,
            symbolStrokeWidth=3,
        ),
    )
