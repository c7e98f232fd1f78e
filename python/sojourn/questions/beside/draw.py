"""Tail and a neighbour's pace against load, a colour for each setting; where a tail breaks."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.report.draw import marks
from sojourn.report.draw.axes import load_x, time_axis
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import HEIGHT, Sheet, Spec, finish
from sojourn.report.draw.palette import SERIES, series
from sojourn.report.draw.table import Record, number

LOAD = ["offered load, % of max RPS of the service alone"]
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
        }
        for r in records
    ]
    broken: list[Record] = [r | {"y": axis.place(number(r["value_ns"]))} for r in breaks]
    x, y, look = _x(records), axis.y("y", f"{tail} sojourn time"), _look(records)
    base = sheet.chart("tails", rows).encode(x=x, color=look)
    dash = alt.StrokeDash(
        "who:N",
        scale=alt.Scale(domain=[BESIDE, ALONE], range=[[1, 0], [4, 3]]),
        legend=alt.Legend(title=None, orient="top", symbolType="stroke"),
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
            shape=alt.Shape(
                "shape:N",
                scale=alt.Scale(domain=["number", "lost"], range=["circle", "triangle-up"]),
                legend=None,
            ),
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
    base = sheet.chart("kept", records).encode(x=_x(records), color=_look(records))
    layers = [
        base.mark_line(strokeWidth=1.8).encode(y=y),
        base.mark_rule(strokeWidth=2).encode(y=alt.Y("kept_lo:Q"), y2=alt.Y2("kept_hi:Q")),
        base.mark_point(size=60, filled=True, opacity=1).encode(
            y=y, tooltip=marks.tooltip("setting", "load", "shown_kept")
        ),
    ]
    chart = alt.layer(*layers, width="container", height=HEIGHT)
    return finish(chart, sheet, title=title)


def _x(records: Sequence[Record]) -> alt.X:
    return load_x(
        title=LOAD, highest=max((number(r["fraction"]) or 0.0 for r in records), default=1)
    )


def _look(records: Sequence[Record]) -> alt.Color:
    """A colour for each setting, the same in both figures."""
    names = list(dict.fromkeys(str(r["setting"]) for r in records))
    return alt.Color(
        "setting:N",
        scale=alt.Scale(domain=names, range=[series(n % SERIES) for n in range(len(names))]),
        legend=alt.Legend(
            title=None,
            orient="top",
            columns=3,
            symbolType="stroke",
            symbolOpacity=1,
            symbolStrokeWidth=3,
        ),
    )
