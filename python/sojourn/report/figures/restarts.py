"""How much restarts of the service differ at the same load: hysteresis (M15)."""

from __future__ import annotations

import math
from collections import Counter

from sojourn.findings.findings import ServiceFinding
from sojourn.report import labels, show
from sojourn.report.draw import known, marks, thin
from sojourn.report.draw.axes import TimeAxis, time_axis
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import HEIGHT, Figure, Kind, Sheet, Spec, finish
from sojourn.report.draw.lookup import load_title, of_point, slug, tail_q
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Record, from_records, number

# fmt: off
COLUMNS = (
    "fraction", "restart", "run", "known", "value_ns", "not_believed_ns", "restarts_lo_ns",
    "restarts_hi_ns", "is_bimodal", "verdict", "reason",
)
# fmt: on


def draw(service: ServiceFinding) -> list[Figure]:
    """One figure, of the quantile the service is judged on."""
    q = tail_q(service)
    label = show.quantile(q)
    title = f"{labels.called(service)}: {label} per restart"
    records = _records(service, q)
    table = from_records(COLUMNS, records)
    name = slug(f"{service.service}-restarts")
    if not records:
        missing = "No load was swept."
        return [Figure(name=name, title=title, caption="", alt="", table=table, missing=missing)]
    drawn = _drawn(records)
    groups = [show.share(p.fraction) for p in service.points if p.is_bimodal]
    split = f" Restarts fall into two groups at {', '.join(groups)}." if groups else ""
    return [
        Figure(
            name=name,
            title=title,
            caption=(
                "Each dot is the same load on a freshly started server. The pale bar is the 95 %"
                f" interval of the mean over restarts (METHOD M15).{split}"
                + thin.caption_sentence(len(drawn), len(records))
            ),
            alt=f"{label} of {len(records)} runs by load and restart.{split}",
            table=table,
            chart=_chart(service, drawn, label, title),
        )
    ]


def _records(service: ServiceFinding, q: float) -> list[Record]:
    records: list[Record] = []
    for point in service.points:
        estimate = of_point(point, q)
        across = estimate.across_restarts if estimate else None
        for place, run in enumerate(point.runs):
            own = known.of_one(run, q, point)
            records.append(
                {
                    **own.row,
                    **marks.run_tooltip(run, point.fraction),
                    "fraction": point.fraction,
                    "load": show.share(point.fraction),
                    "place": place,
                    "restarts_lo_ns": across.lo if across else None,
                    "restarts_hi_ns": across.hi if across else None,
                    "across": show.times(across),
                    "is_bimodal": str(point.is_bimodal).lower(),
                    "status": marks.status(run, own),
                    "y": own.ns,
                }
            )
    return records


def _drawn(records: list[Record]) -> list[Record]:
    """As many as can be distinguished, side by side at each load."""
    stored = thin.thinned(
        records,
        group=lambda r: (r["fraction"], r["status"]),
        extremes=[_height, lambda r: -(_height(r) or math.inf)],
    )
    if len(stored) == len(records):
        return stored
    places: Counter[object] = Counter()
    results = []
    for record in stored:
        results.append(record | {"place": places[record["fraction"]]})
        places[record["fraction"]] += 1
    return results


def _height(record: Record) -> float | None:
    return number(record["y"])


def _chart(service: ServiceFinding, records: list[Record], label: str, title: str) -> Spec:
    sheet = Sheet()
    axis = time_axis(
        (number(r[key]) for r in records for key in ("restarts_lo_ns", "restarts_hi_ns")),
        dots=(number(r["y"]) for r in records),
    )
    loads = list(dict.fromkeys(str(r["load"]) for r in records))
    x = alt.X(
        "load:N",
        title=load_title(service),
        sort=loads,
        scale=alt.Scale(domain=loads),
        axis=alt.Axis(labelAngle=0, labelOverlap="greedy"),
    )
    places = sorted({int(number(r["place"]) or 0) for r in records})
    slot = alt.XOffset("place:N", scale=alt.Scale(domain=places))
    y = axis.y("y", f"{label} sojourn time")
    rows = [r | {"y": axis.place(number(r["y"])) or axis.lo} for r in records]
    dots = (
        sheet.chart("runs", rows)
        .mark_point(size=45, opacity=0.9, strokeWidth=1.8)
        .encode(
            x=x,
            xOffset=slot,
            y=y,
            tooltip=[alt.Tooltip("shown:N", title=label), *marks.tooltip(*marks.TOOLTIP)],
            **marks.encodings([str(r["status"]) for r in rows]),
        )
    )
    layers = [
        *_across(sheet, records, axis, x=x, slot=slot, y=y),
        dots,
        *_groups(sheet, service, axis, x),
    ]
    return finish(alt.layer(*layers, width="container", height=HEIGHT), sheet, title=title)


def _across(
    sheet: Sheet,
    records: list[Record],
    axis: TimeAxis,
    *,
    x: alt.X,
    slot: alt.XOffset,
    y: alt.Y,
) -> list[alt.Chart]:
    """The interval as a bar over all restarts of a load: one piece per restart, side by side."""
    rows = [
        {key: r[key] for key in ("load", "place", "across")}
        | {
            "y": axis.place(number(r["restarts_lo_ns"])),
            "end": axis.place(number(r["restarts_hi_ns"])),
        }
        for r in records
        if r["restarts_lo_ns"] is not None
    ]
    if not rows:
        return []
    bars = sheet.chart("across", rows).mark_bar(opacity=0.22, color=role("ink"))
    return [
        bars.encode(
            x=x, xOffset=slot, y=y, y2=alt.Y2("end:Q"), tooltip=marks.tooltip("load", "across")
        )
    ]


def _groups(sheet: Sheet, service: ServiceFinding, axis: TimeAxis, x: alt.X) -> list[alt.Chart]:
    """A word over the loads whose restarts fall into two groups."""
    rows: list[Record] = [
        {"load": show.share(p.fraction), "top": axis.hi, "word": "2 groups"}
        for p in service.points
        if p.is_bimodal and p.runs
    ]
    if not rows:
        return []
    words = sheet.chart("groups", rows).mark_text(
        baseline="top", dy=5, color=role("ink"), fontSize=11
    )
    return [words.encode(x=x, y=alt.Y("top:Q"), text=alt.Text("word:N"))]


KIND = Kind(
    name="restarts",
    about="tail of every restart by load: hysteresis and bimodality (M15)",
    of_service=draw,
    is_detail=True,
)
