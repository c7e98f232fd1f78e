"""What neighbours retained of their pace alone against load, and the tail against what they did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sojourn.analysis.pace import rate, sure, who
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.report import show
from sojourn.report.draw import marks
from sojourn.report.draw.axes import load_x, time_axis
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import HEIGHT, Figure, Kind, Sheet, Spec, finish
from sojourn.report.draw.lookup import of_point, slug, tail_q
from sojourn.report.draw.palette import SERIES, series
from sojourn.report.draw.table import Record, from_records, number

# fmt: off
COLUMNS = (
    "neighbour", "combination", "fraction", "share", "lo", "hi", "per_s", "asked_per_s",
    "alone_per_s", "unit", "runs", "tail_ns", "tail_lo_ns", "tail_hi_ns", "reason",
)
# fmt: on
RATES_MIN = 2  # of one unit, for a tail against a rate


def draw(findings: Findings) -> list[Figure]:
    """For each service with neighbours that reported their pace: one figure, or two with rates."""
    labels = dict.fromkeys(s.label or s.service for s in findings.services if s.kept)
    made = []
    for label in labels:
        own = [s for s in findings.services if (s.label or s.service) == label]
        records = [record for service in own for record in _records(service)]
        made.append(_figure(label, records))
        made += _rates(label, own, records)
    return made


def _records(service: ServiceFinding) -> Iterator[Record]:
    points = {point.fraction: point for point in service.points}
    q = tail_q(service)
    others = [f"{key.rpartition('.')[2]} = {level}" for key, level in service.levels]
    for one in service.kept:
        point, ends = points.get(one.fraction), one.interval
        tail = of_point(point, q) if point and point.is_believed else None
        inner = tail.interval if tail else None
        yield {
            "neighbour": who(one),
            "combination": ", ".join(others),
            "fraction": one.fraction,
            "share": one.share,
            "lo": ends.lo if ends else None,
            "hi": ends.hi if ends else None,
            "per_s": one.per_s,
            "asked_per_s": one.asked_per_s,
            "alone_per_s": one.alone_per_s,
            "unit": one.unit,
            "runs": one.runs,
            "tail_ns": tail.value if tail else None,
            "tail_lo_ns": inner.lo if inner else None,
            "tail_hi_ns": inner.hi if inner else None,
            "reason": one.reason,
            "load": show.load(one.fraction),
            "kept": f"{100 * one.share:.3g} % ({sure(one)})"
            if one.share is not None
            else "unknown",
            "pace": rate(one.per_s, one.unit) if one.per_s is not None else "unknown",
            "alone": rate(one.alone_per_s, one.unit) if one.alone_per_s is not None else "unknown",
            "tail": show.time(tail.value) if tail and tail.value is not None else "unknown",
        }


def _figure(label: str, records: list[Record]) -> Figure:
    name, title = slug(f"{label}-kept"), f"What neighbours of {label} kept of their pace"
    table = from_records(COLUMNS, records)
    drawn = [record for record in records if record["share"] is not None]
    if not drawn:
        missing = "No run beside a neighbour is valid."
        return Figure(name=name, title=title, caption="", alt="", table=table, missing=missing)
    return Figure(
        name=name,
        title=title,
        caption=(
            "Pace while load ran, as a share of the neighbour's pace alone, with 95 % intervals."
            " The pace alone was measured as the neighbour entered. A neighbour with a limited"
            " rate is compared with this rate. On a shared CPU it cannot have what the service"
            " uses: (100 − load) % at best. (L27, M22)"
        ),
        alt="; ".join(f"{r['neighbour']} at {r['load']} load: {r['kept']}" for r in drawn[:12]),
        table=table,
        chart=_chart(drawn, title),
    )


def _chart(drawn: Sequence[Record], title: str) -> Spec:
    sheet = Sheet()
    most = max((number(r["hi"]) or number(r["share"]) or 0.0) for r in drawn)
    y = alt.Y(
        "share:Q",
        title="of its pace alone",
        axis=alt.Axis(format="%"),
        scale=alt.Scale(domain=[0, max(1.0, most)], nice=False),
    )
    highest = max(number(r["fraction"]) or 0.0 for r in drawn)
    x = load_x(title=["load, % of max RPS"], highest=highest)
    colour = _colour(drawn)
    base = sheet.chart("kept", [*drawn])
    fields = marks.tooltip("neighbour", "combination", "load", "kept", "pace", "alone", "runs")
    layers = [
        base.mark_line(strokeWidth=2).encode(
            x=x, y=y, color=colour, detail=alt.Detail("combination:N")
        ),
        base.mark_rule(strokeWidth=2).encode(x=x, y=alt.Y("lo:Q"), y2=alt.Y2("hi:Q"), color=colour),
        base.mark_point(size=60, filled=True, opacity=1).encode(
            x=x, y=y, color=colour, tooltip=fields
        ),
    ]
    chart = alt.layer(*layers, width="container", height=HEIGHT)
    return finish(chart, sheet, title=title)


def _rates(
    label: str, findings: Sequence[ServiceFinding], records: list[Record]
) -> Iterator[Figure]:
    """The tail against the rate that was really held, where neighbours are held to several."""
    held = [r for r in records if r["asked_per_s"] is not None and r["tail_ns"] is not None]
    units = {str(r["unit"]) for r in held}
    rates = {str(r["neighbour"]) for r in held}
    if len(units) != 1 or len(rates) < RATES_MIN:
        return
    tail = show.quantile(tail_q(findings[0]))
    title = f"{label}: {tail} against what its neighbours did"
    scale, unit = (1e-6, "MB") if units == {"bytes"} else (1.0, units.pop())
    rows: list[Record] = [
        {**r, "rate": (number(r["per_s"]) or 0.0) * scale} for r in [*held, *_alone(findings)]
    ]
    sheet = Sheet()
    ends = [number(r[key]) for r in rows for key in ("tail_ns", "tail_lo_ns", "tail_hi_ns")]
    y = time_axis(ends).y("tail_ns", f"{tail} sojourn time")
    x = alt.X("rate:Q", title=f"done by the neighbour, {unit}/s", scale=alt.Scale(zero=True))
    loads = list(dict.fromkeys(str(r["load"]) for r in sorted(rows, key=lambda r: str(r["load"]))))
    colour = alt.Color(
        "load:N",
        scale=alt.Scale(domain=loads, range=[series(n % SERIES) for n in range(len(loads))]),
        legend=alt.Legend(title="load", orient="top"),
    )
    base = sheet.chart("rates", rows)
    fields = marks.tooltip("neighbour", "load", "tail", "pace", "kept", "runs")
    layers = [
        base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        base.mark_rule(strokeWidth=2).encode(
            x=x, y=alt.Y("tail_lo_ns:Q"), y2=alt.Y2("tail_hi_ns:Q"), color=colour
        ),
        base.mark_point(size=60, filled=True, opacity=1).encode(
            x=x, y=y, color=colour, tooltip=fields
        ),
    ]
    chart = alt.layer(*layers, width="container", height=HEIGHT)
    yield Figure(
        name=slug(f"{label}-held"),
        title=title,
        caption=(
            f"{tail} over all valid runs of a load with its 95 % interval, over the rate that the"
            " neighbour had while load ran. At 0 no neighbour ran beside it. (P20)"
        ),
        alt="; ".join(f"{r['pace']} at {r['load']} load: {r['tail']}" for r in held[:12]),
        table=from_records((*COLUMNS, "rate"), rows),
        chart=finish(chart, sheet, title=title),
    )


def _alone(findings: Sequence[ServiceFinding]) -> Iterator[Record]:
    """The same service with no one beside it, as a rate of 0."""
    for service in findings:
        if dict(service.levels).get("neighbour") != "none":
            continue
        q = tail_q(service)
        for point in service.points:
            tail = of_point(point, q) if point.is_believed else None
            if tail is None or tail.value is None:
                continue
            yield {
                **dict.fromkeys(COLUMNS),
                "neighbour": "none",
                "fraction": point.fraction,
                "per_s": 0.0,
                "tail_ns": tail.value,
                "tail_lo_ns": tail.interval.lo if tail.interval else None,
                "tail_hi_ns": tail.interval.hi if tail.interval else None,
                "load": show.load(point.fraction),
                "tail": show.time(tail.value),
                "pace": "nobody",
                "kept": "",
            }


def _colour(drawn: Sequence[Record]) -> alt.Color:
    names = list(dict.fromkeys(str(r["neighbour"]) for r in drawn))
    return alt.Color(
        "neighbour:N",
        scale=alt.Scale(domain=names, range=[series(n % SERIES) for n in range(len(names))]),
        legend=alt.Legend(title=None, orient="top", columns=4, labelLimit=220),
    )


KIND = Kind(
    name="kept",
    about="pace of neighbours beside a service (L27, M22), and the tail by their rate (P20)",
    of_study=draw,
)
