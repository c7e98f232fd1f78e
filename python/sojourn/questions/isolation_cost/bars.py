"""Bars of times with intervals, idle beside loaded; other people's numbers are diamonds."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.questions.isolation_cost.plan import IDLE, LOADED
from sojourn.report.draw import marks
from sojourn.report.draw.axes import TIME_LABEL, time_axis
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import Sheet, Spec, finish
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Record, number

ROW_PX, PAD_PX = 24, 20


def rows(records: Sequence[Record]) -> list[Record]:
    """What is drawn: the means of idle and loaded host, or of what there is of a mechanism."""
    known = [record for record in records if record.get("mean_ns")]
    shown = [record for record in known if record["host"] in (IDLE, LOADED)]
    return [
        record
        | {
            "row": called(str(record["mechanism"])),
            "ns": record["mean_ns"],
            "lo": record["mean_lo_ns"],
            "hi": record["mean_hi_ns"],
        }
        for record in shown or known
    ]


def called(mechanism: str) -> str:
    """A mechanism to people.

    >>> called("restart_runc"), called("cpu_quota")
    ('restart runc', 'cpu quota')
    """
    return mechanism.replace("_", " ")


def order(drawn: Sequence[Record]) -> list[str]:
    """Rows, the cheapest first; by the idle host where there is one."""
    results: dict[str, float] = {}
    for record in drawn:
        row, ns = str(record["row"]), number(record["ns"]) or 0.0
        results[row] = ns if record["host"] == IDLE else results.get(row, ns)
    return sorted(results, key=lambda row: results[row])


def chart(drawn: Sequence[Record], records: Sequence[Record], title: str) -> Spec:
    """Bars from the axis' left end, their intervals, and the paper's numbers as diamonds."""
    sheet = Sheet()
    every = order(drawn)
    axis = time_axis(
        [number(r[key]) for r in (*drawn, *records) for key in ("ns", "lo", "hi") if r.get(key)]
    )
    hosts = [host for host in (IDLE, LOADED) if any(r["host"] == host for r in drawn)]
    papers = list(dict.fromkeys(str(r["host"]) for r in records))
    inks = {IDLE: "series-0", LOADED: "series-1"}
    colours = [role(inks[host]) for host in hosts] + [
        role(f"series-{2 + n % 4}") for n in range(len(papers))
    ]
    colour = alt.Color(
        "host:N",
        legend=alt.Legend(title=None),
        scale=alt.Scale(domain=[*hosts, *papers], range=colours),
    )
    y = alt.Y("row:N", title=None, sort=every, axis=alt.Axis(labelLimit=150, tickSize=0))
    offset = alt.YOffset("host:N", sort=hosts)
    x = alt.X(
        "ns:Q",
        title="mean time of one application",
        scale=alt.Scale(type="log", domain=[axis.lo, axis.hi], nice=False),
        axis=alt.Axis(
            values=list(axis.ticks), labelExpr=TIME_LABEL, labelOverlap="greedy", labelSeparation=6
        ),
    )
    own = sheet.chart("costs", [record | {"start": axis.lo} for record in drawn])
    fields = marks.tooltip("row", "host", "mean", "mean_sure", "p50", "p99", "max")
    layers = [
        own.mark_bar(opacity=0.45).encode(
            x=x, x2=alt.X2("start:Q"), y=y, yOffset=offset, color=colour, tooltip=fields
        ),
        own.mark_rule(strokeWidth=3).encode(
            x=alt.X("lo:Q"), x2=alt.X2("hi:Q"), y=y, yOffset=offset, color=colour, tooltip=fields
        ),
    ]
    if records:
        layers.append(
            sheet.chart("theirs", records)
            .mark_point(shape="diamond", size=70, filled=True, opacity=1)
            .encode(x=x, y=y, color=colour, tooltip=marks.tooltip("row", "host", "mean"))
        )
    whole = alt.layer(*layers, width="container", height=ROW_PX * len(every) + PAD_PX)
    return finish(whole, sheet, title=title)
