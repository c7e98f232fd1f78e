"""The layers that draw what is known at each load, one rule for every figure (`known`).

Rows of one data set, told apart by `layer`: pieces of the curve, and marks. So small multiples can
share them. Lines, intervals and arrows are of believed numbers; hollow marks decide nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from sojourn.report.draw import marks
from sojourn.report.draw.axes import TimeAxis, time_axis
from sojourn.report.draw.charts import alt
from sojourn.report.draw.known import IN_CURVE, SURE, Sort
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Record, number

SHORT = 1.6  # how far an arrow goes, as a ratio, where its end is not known
PIECE, MARK = "piece", "mark"
SIZE = 55  # of a mark, px²
DASHES = [4, 4]
MEANING = {
    Sort.AT_MOST: "↓ at most",
    Sort.AT_LEAST: "↑ at least",
    Sort.ENDLESS: "↑ to the edge: never completed",
    Sort.DOUBTED: "hollow: not valid",
    Sort.NOTHING: "× on the axis: no number",
}
LINE_MAX = 56  # characters of a line of the key


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What differs from figure to figure.

    Attributes:
        tooltip: fields of every mark.
        opacity, width: of lines by their thickness, and of marks; plain values or conditions.
        shape: of marks; None: circles.
    """

    x: alt.X
    y: alt.Y
    colour: alt.Color
    tooltip: Sequence[str]
    opacity: object = field(default_factory=lambda: alt.OpacityValue(1))
    thin: object = field(default_factory=lambda: alt.StrokeWidthValue(1.5))
    broad: object = field(default_factory=lambda: alt.StrokeWidthValue(2))
    shape: alt.Shape | None = None

    def of(self, base: alt.Chart) -> alt.Chart:
        """A base in this look."""
        return base.encode(
            x=self.x,
            color=self.colour,
            opacity=self.opacity,
            tooltip=marks.tooltip(*self.tooltip),
        )


def axis(records: Sequence[Record], more: Sequence[float | None] = ()) -> TimeAxis:
    """Room for marks, intervals and arrows with some way to go, and for `more`.

    Args:
        records: with the fields of `known.Known.row`.
        more: times that must have a place, ns.
    """
    keys = ("mark_ns", "lo_ns", "hi_ns", "least_ns")
    values = [number(r[key]) for r in records for key in keys]
    values += [SHORT * (number(r["mark_ns"]) or 0.0) for r in records if _is(r, Sort.AT_LEAST)]
    endless = any(number(r["mark_ns"]) == math.inf for r in records)
    return time_axis([*values, *more], dots=[math.inf] if endless else [])


def rows(records: Sequence[Record], axis: TimeAxis) -> list[Record]:
    """Rows of one curve: pieces first, then a mark for each load.

    Args:
        records: of its loads, ascending: `fraction`, the fields of `known.Known.row`, and others
            that are handed through.
        axis: on which they have their places.
    """
    return [*_pieces(records, axis), *(_mark(record, axis) for record in records)]


def _pieces(records: Sequence[Record], axis: TimeAxis) -> list[Record]:
    """The curve through what is known, piece by piece, and never through what is not believed.

    A piece is sure if it joins two believed numbers and every load between has one. Nor does it go
    down to what a number is at least.
    """
    results: list[Record] = []
    last: Record | None = None
    is_whole = True
    for record in records:
        if Sort(str(record["known"])) not in IN_CURVE or _falls(last, record):
            is_whole = False
            continue
        if last is not None:
            ends = {Sort(str(one["known"])) for one in (last, record)}
            results.append(
                last
                | {
                    "layer": PIECE,
                    "y": axis.place(number(last["mark_ns"])),
                    "to": record["fraction"],
                    "end": axis.place(number(record["mark_ns"])),
                    "is_sure": int(is_whole and ends <= SURE),
                }
            )
        last, is_whole = record, True
    return results


def _falls(last: Record | None, record: Record) -> bool:
    """Whether a least value lies below the curve so far: a line down to it would be a fall."""
    if last is None or not _is(record, Sort.AT_LEAST):
        return False
    return (number(record["mark_ns"]) or 0.0) < (number(last["mark_ns"]) or 0.0)


def _mark(record: Record, axis: TimeAxis) -> Record:
    ns, low, high = (number(record[key]) for key in ("mark_ns", "lo_ns", "hi_ns"))
    sort = Sort(str(record["known"]))
    result: Record = {
        **record,
        "layer": MARK,
        "y": axis.lo if ns is None else axis.place(ns),
        "is_sure": int(sort in SURE),
        "is_endless": 0,
    }
    if sort in SURE and low is not None and high is not None and ns is not None:
        result |= {"low": axis.place(low), "is_endless": int(math.isinf(high))}
        result["high"] = axis.place(SHORT * ns if math.isinf(high) else high)
    if sort is Sort.AT_MOST and ns is not None:  # the client's part lies below the interval
        added = ns - (number(record["least_ns"]) or 0.0)
        begin = min(ns, ns if low is None else low)
        result |= {"begin": axis.place(begin), "tip": axis.place(begin - added)}
    if sort is Sort.AT_LEAST and ns is not None:
        result |= {"begin": axis.place(ns), "tip": axis.place(SHORT * ns)}
    if sort is Sort.ENDLESS:
        begin = number(record["least_ns"]) or axis.hi / SHORT
        result |= {"begin": axis.place(begin), "tip": axis.hi}
    return result


def layers(base: alt.Chart, look: Look) -> list[alt.Chart]:
    """Back to front; the last one has the marks of numbers, and may hold parameters.

    Args:
        base: with the rows of all curves as its data.
        look: of the figure.
    """
    of = look.of(base.transform_filter(alt.datum.layer == MARK))
    y, tip = look.y, alt.Y("tip:Q")
    line = look.of(base.transform_filter(alt.datum.layer == PIECE)).mark_rule(clip=True)
    interval = of.transform_filter("isValid(datum.low)")
    arrow = of.transform_filter("isValid(datum.tip)")
    up = f"datum.known === '{Sort.AT_LEAST}' || datum.known === '{Sort.ENDLESS}'"
    return [
        line.encode(
            y=y,
            x2=alt.X2("to:Q"),
            y2=alt.Y2("end:Q"),
            strokeWidth=look.broad,
            strokeDash=alt.StrokeDashValue(
                condition={"test": "datum.is_sure", "value": [1, 0]}, value=DASHES
            ),
        ),
        interval.mark_rule(clip=True).encode(
            y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), strokeWidth=look.thin
        ),
        _head(interval.transform_filter("datum.is_endless"), alt.Y("high:Q")),
        arrow.mark_rule(clip=True, strokeDash=[2, 2]).encode(
            y=alt.Y("begin:Q"), y2=alt.Y2("tip:Q"), strokeWidth=look.thin
        ),
        _head(arrow.transform_filter(up), tip),
        _head(arrow.transform_filter(f"!({up})"), tip, is_down=True),
        of.transform_filter(up)
        .mark_tick(orient="horizontal", size=9, thickness=1.5)
        .encode(y=alt.Y("begin:Q")),
        of.transform_filter(f"datum.known === '{Sort.NOTHING}'")
        .mark_point(shape=marks.CROSS, size=40, strokeWidth=2)
        .encode(y=y),
        _points(of, look),
    ]


def _head(base: alt.Chart, y: alt.Y, *, is_down: bool = False) -> alt.Chart:
    """The head of an arrow at its end."""
    shape, offset = ("triangle-down", -4) if is_down else ("triangle-up", 4)
    return base.mark_point(shape=shape, filled=True, size=SIZE, yOffset=offset).encode(y=y)


def _points(of: alt.Chart, look: Look) -> alt.Chart:
    """Solid where the number is believed, hollow where it is not."""
    result = (
        of.transform_filter(f"datum.is_sure || datum.known === '{Sort.DOUBTED}'")
        .mark_point(size=SIZE, strokeWidth=1.8, clip=True)
        .encode(
            y=look.y,
            fill=alt.condition("datum.is_sure", look.colour, alt.value(role("paper"))),
        )
    )
    return result if look.shape is None else result.encode(shape=look.shape)


def key(records: Sequence[Record]) -> list[str]:
    """What marks that are no plain number mean, for lines under the load axis.

    >>> key([{"known": "number"}]), key([{"known": "not valid"}, {"known": "at most"}])
    ([], ['↓ at most, hollow: not valid'])
    """
    there = {str(record["known"]) for record in records}
    parts = [words for sort, words in MEANING.items() if sort in there]
    if not parts:
        return []
    lines = [parts[0]]
    for part in parts[1:]:
        joined = f"{lines[-1]}, {part}"
        lines = [*lines[:-1], joined] if len(joined) <= LINE_MAX else [*lines, part]
    return lines


def _is(record: Record, sort: Sort) -> bool:
    return record["known"] == sort
