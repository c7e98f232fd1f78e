"""Tail and a neighbour's pace against load: a colour for each neighbour and setting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sojourn.report import show
from sojourn.report.draw import marks
from sojourn.report.draw.axes import load_x, time_axis
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import HEIGHT, Sheet, Spec, finish
from sojourn.report.draw.palette import curves, role
from sojourn.report.draw.table import Record, number

X_TITLE = ["offered load, % of max RPS of the service alone"]
ADMITTED = "upright: the highest load that is admitted"
LEFT, PAPER = "dashed: what the service's share leaves", "dotted: the paper's mean"
FIELDS = ("series", "shown_load", "shown_tail", "shown_kept", "shown_verdict", "why")


def tail(
    records: Sequence[Record], admitted: Sequence[Record], *, bound_ns: float, tail: str
) -> Spec:
    """The tail of each load with its interval, and the QoS bound.

    Args:
        records: cells with `fraction`, `series`, `tail_ns`, its ends, `cell` and the texts.
        admitted: the highest load of each series that is admitted, with `fraction` and `said`.
        bound_ns: of the target.
        tail: name of the quantile.
    """
    sheet, drawn = Sheet(), [r for r in records if r["tail_ns"] is not None]
    ends = [number(r[key]) for r in drawn for key in ("tail_lo_ns", "tail_hi_ns")]
    axis = time_axis([*ends, 1.2 * bound_ns], dots=[number(r["tail_ns"]) for r in drawn])
    rows: list[Record] = [
        r
        | {
            "y": axis.place(number(r["tail_ns"])),
            "low": axis.place(number(r["tail_lo_ns"])),
            "high": axis.place(number(r["tail_hi_ns"])),
        }
        for r in drawn
    ]
    look = _look(records)
    x = _x(records, *([ADMITTED] if admitted else []))
    base = alt.Chart(sheet.data("cells", rows)).encode(x=x, color=look)
    y = alt.datum(bound_ns)
    once = alt.Chart(sheet.data("bound", [{"said": f"QoS: {tail} ≤ {show.time(bound_ns)}"}]))
    word = once.mark_text(color=role("qos"), align="left", baseline="bottom", dx=6, dy=-4)
    layers = [
        _admitted(sheet, admitted, x=x, look=look),
        *_layers(base, axis.y("y", f"{tail} sojourn time"), look),
        once.mark_rule(color=role("qos"), strokeWidth=1.5).encode(y=y),
        word.encode(x=alt.XValue(0), y=y, text=alt.Text("said:N")),
    ]
    chart = alt.layer(*layers, width="container", height=HEIGHT)
    return finish(chart, sheet, title=f"{tail} against load")


def pace(
    records: Sequence[Record],
    admitted: Sequence[Record],
    paper: Sequence[Record],
    *,
    least: Sequence[float],
) -> Spec:
    """What neighbours keep of their pace alone, what is left by the service's share, the paper's.

    Args:
        records: cells as in `tail`, with `kept` and its ends.
        admitted: as in `tail`.
        paper: rows with `fraction`, `kept` and `series`.
        least: shares of its pace that a neighbour must keep.
    """
    sheet = Sheet()
    rows: list[Record] = [
        r | {"y": r["kept"], "low": r["kept_lo"], "high": r["kept_hi"]}
        for r in records
        if r["kept"] is not None
    ]
    more = [ADMITTED] if admitted else []
    x = _x(records, *more, LEFT, *([PAPER] if paper else []))
    look = _look(records, is_alone_too=False)
    top = max([1.0, *(end for r in rows for end in (number(r["y"]), number(r["high"])) if end)])
    y = alt.Y(
        "y:Q",
        title="share of its pace alone",
        scale=alt.Scale(domain=[0, 1.04 * top], nice=False),
        axis=alt.Axis(format="~%"),
    )
    base = alt.Chart(sheet.data("cells", rows)).encode(x=x, color=look)
    ideal = alt.Chart(sheet.data("ideal", [{"fraction": 0, "y": 1}, {"fraction": 1, "y": 0}]))
    others = alt.Chart(sheet.data("paper", [r | {"y": r["kept"]} for r in paper]))
    grey: dict[str, Any] = {"color": role("unknown"), "strokeWidth": 1.4}
    layers = [
        ideal.mark_line(strokeDash=[6, 4], **grey).encode(x=x, y=y),
        others.mark_line(strokeDash=[2, 3], **grey).encode(x=x, y=y, tooltip=_tip("series")),
        *_least(sheet, least),
        _admitted(sheet, admitted, x=x, look=look),
        *_layers(base, y, look),
    ]
    chart = alt.layer(*layers, width="container", height=HEIGHT)
    return finish(chart, sheet, title="pace of the neighbour against load")


def _layers(base: alt.Chart, y: alt.Y, look: alt.Color) -> list[alt.Chart]:
    """Line, interval and mark of each cell, back to front."""
    return [
        base.mark_line(strokeWidth=1.6, opacity=0.8).encode(y=y),
        base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_point(size=60, strokeWidth=1.8, opacity=1).encode(
            y=y,
            tooltip=_tip(*FIELDS),
            fill=look,
            fillOpacity=alt.condition("datum.cell === 'unknown'", alt.value(0), alt.value(1)),
        ),
    ]


def _admitted(sheet: Sheet, admitted: Sequence[Record], *, x: alt.X, look: alt.Color) -> alt.Chart:
    """An upright line at the highest load of each series that is admitted."""
    return (
        sheet.chart("admitted", admitted)
        .mark_rule(strokeWidth=2.5, strokeDash=[2, 2], opacity=0.8)
        .encode(x=x, color=look, tooltip=_tip("said"))
    )


def _least(sheet: Sheet, least: Sequence[float]) -> list[alt.Chart]:
    """What a neighbour must keep, as lines across with their words."""
    rows: list[Record] = [{"y": one, "said": f"must keep {show.share(one)}"} for one in least]
    base = sheet.chart("least", rows).encode(y=alt.Y("y:Q"))
    word = base.mark_text(color=role("qos"), align="left", baseline="bottom", dx=6, dy=-4)
    return [
        base.mark_rule(color=role("qos"), strokeWidth=1.5),
        word.encode(x=alt.XValue(0), text=alt.Text("said:N")),
    ]


def _tip(*fields: str) -> list[alt.Tooltip]:
    return marks.tooltip(*fields)


def _x(records: Sequence[Record], *more: str) -> alt.X:
    highest = max((number(r["fraction"]) or 0.0 for r in records), default=1.0)
    return load_x(title=[*X_TITLE, *more], highest=highest)


def _look(records: Sequence[Record], *, is_alone_too: bool = True) -> alt.Color:
    """A colour for each series, the same in both figures."""
    every = list(dict.fromkeys(str(r["series"]) for r in records))
    of = dict(zip(every, curves(every), strict=True))
    shown = {str(r["series"]) for r in records if is_alone_too or not r["is_alone"]}
    names = [name for name in every if name in shown]
    colours = [of[name] for name in names]
    return alt.Color(
        "series:N",
        scale=alt.Scale(domain=names, range=colours),
        legend=alt.Legend(
            title=None, orient="top", direction="vertical", columns=1, labelLimit=600
        ),
    )
