"""Small multiples by factor: a panel per factor, a line per level, combinations behind (M16).

For services under many combinations, where a panel for each can no longer be compared: there are as
many panels as factors, however many levels are crossed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.plan.setting import level_text
from sojourn.report import labels, show
from sojourn.report.draw import known, known_layers
from sojourn.report.draw.axes import TimeAxis, load_x, time_axis
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import Figure, Kind, Sheet, Spec, finish
from sojourn.report.draw.known import Known
from sojourn.report.draw.lookup import is_bound, slug, tail_q
from sojourn.report.draw.marks import tooltip
from sojourn.report.draw.palette import curves, role
from sojourn.report.draw.table import Record, from_records, number
from sojourn.spec.levels import names

SUFFIX = "-by-level"
FEW = 8  # combinations that can be compared panel by panel (`factors`)
PANEL, PANEL_MIN = 230, 280  # height and least width of a panel, px
PART = 0.6  # how full the mark of a mean over some of the combinations is
COLUMNS = (
    "factor",
    "level",
    "fraction",
    "known",
    "value_ns",
    "at_least_ns",
    "not_believed_ns",
    "least_ns",
    "greatest_ns",
    "of",
    "with_number",
)


def draw(findings: Findings) -> list[Figure]:
    """One figure for each service that was measured under many combinations."""
    results: dict[str, list[ServiceFinding]] = defaultdict(list)
    for service in findings.services:
        if service.levels and service.points:
            results[service.label].append(service)
    return [_figure(label, some) for label, some in results.items() if len(some) > FEW]


def _figure(label: str, findings: Sequence[ServiceFinding]) -> Figure:
    called = names([key for key, _ in findings[0].levels])
    keys = [key for key in called if len(_levels(findings, key)) > 1]
    tail = show.quantile(tail_q(findings[0]))
    means = {key: _means(findings, key, called[key]) for key in keys}
    title = f"{label}: {tail} against load, by factor"
    rows = [row for of_factor in means.values() for row in of_factor]
    panels = [called[key] for key in keys]
    return Figure(
        name=slug(f"{label}{SUFFIX}"),
        title=title,
        caption=(
            f"A panel is a factor. Bold: geometric mean of {tail} over the combinations of a level."
            " Pale: some of them have no valid number. Hollow and off the curve: none has. A"
            " triangle: at least so much. Thin: each combination. Load is a share of the max RPS"
            " of each combination; beside a neighbour, of the service alone."
        ),
        alt=f"{len(findings)} combinations, a panel for each of {', '.join(panels)}.",
        table=from_records(COLUMNS, rows),
        chart=_chart(findings, means, called, tail),
        facet_min=PANEL_MIN,
        panels=len(keys),
        is_wide=True,
    )


def _levels(findings: Sequence[ServiceFinding], key: str) -> list[str]:
    return list(dict.fromkeys(level_text(dict(s.levels)[key]) for s in findings))


def _called(findings: Sequence[ServiceFinding], key: str) -> dict[str, str]:
    return labels.distinct(key, (dict(s.levels)[key] for s in findings))


_OPEN = known.IN_CURVE - known.SURE
_SHAPES = {
    known.Sort.AT_MOST: "triangle-down",
    known.Sort.AT_LEAST: "triangle-up",
    known.Sort.ENDLESS: "triangle-up",
}
_SIGNS = {known.Sort.AT_MOST: ("≤ ", 1), known.Sort.AT_LEAST: ("≥ ", -1)}


def _numbers(
    service: ServiceFinding, wanted: Collection[known.Sort] = known.SURE
) -> dict[float, Known]:
    """The tail by load, where as much is known of it."""
    every = {p.fraction: known.of_load(p, tail_q(service)) for p in service.points}
    return {load: one for load, one in every.items() if one.sort in wanted and one.ns}


def _means(findings: Sequence[ServiceFinding], key: str, name: str) -> list[Record]:
    """Geometric mean, least and greatest over the combinations of each level, by load.

    At a load where no combination has a believed number, it is over what they are at least, and
    where there is none of these either, over what is not believed.
    """
    rows: list[Record] = []
    called = _called(findings, key)
    for level in _levels(findings, key):
        own = [s for s in findings if level_text(dict(s.levels)[key]) == level]
        sure = _by_load(_numbers(s) for s in own)
        least = _by_load(_numbers(s, _OPEN) for s in own)
        doubted = _by_load(_numbers(s, {known.Sort.DOUBTED}) for s in own)
        for load in sorted({*sure, *least, *doubted}):
            some = sure.get(load) or least.get(load) or doubted[load]
            values = [one.ns for one in some if one.ns]
            mean = math.exp(sum(map(math.log, values)) / len(values))
            sign, way = _SIGNS.get(_word(some), ("", 0))
            rows.append(
                {
                    "factor": name,
                    "level": level,
                    "called": called[level],
                    "fraction": load,
                    "known": _word(some).value,
                    "value_ns": mean if load in sure else None,
                    "at_least_ns": mean if load in least and load not in sure else None,
                    "not_believed_ns": None if load in sure or load in least else mean,
                    "least_ns": min(values),
                    "greatest_ns": max(values),
                    "of": len(own),
                    "with_number": len(some) if load in sure else 0,
                    "y": mean,
                    "load": show.load(load),
                    "mean": f"{sign}{show.time(mean, way)}",
                    "range": f"{show.time(min(values))}–{show.time(max(values))}",
                    "combinations": f"{len(some)} of {len(own)}",
                    "is_sure": int(load in sure),
                    "mark": _SHAPES.get(_word(some), "circle"),
                    "full": _full(
                        is_sure=load in sure or load in least, of=len(own), known=len(some)
                    ),
                    "reason": next((one.short for one in some if one.short), ""),
                }
            )
    return rows


def _full(*, is_sure: bool, of: int, known: int) -> float:
    """How full the mark of a mean is, 0 to 1."""
    return (1.0 if known == of else PART) if is_sure else 0.0


def _by_load(each: Iterable[dict[float, Known]]) -> dict[float, list[Known]]:
    """What is known of every combination, by load."""
    knowns: dict[float, list[Known]] = defaultdict(list)
    for one in each:
        for load, value in one.items():
            knowns[load].append(value)
    return knowns


def _word(some: Sequence[Known]) -> known.Sort:
    """What is known of a mean: no more than of its weakest number."""
    sorts = {one.sort for one in some}
    return max(sorts, key=list(known.Sort).index)


def _chart(
    findings: Sequence[ServiceFinding],
    means: dict[str, list[Record]],
    called: dict[str, str],
    tail: str,
) -> Spec:
    sheet = Sheet()
    values = {s.service: _numbers(s) for s in findings}
    qos = findings[0].qos
    bound = qos.bound_ns if qos and is_bound(findings[0], tail_q(findings[0])) else None
    axis = time_axis(
        [
            *(one.ns for of in values.values() for one in of.values()),
            1.2 * bound if bound else None,
        ],
        dots=[number(row["y"]) for of_factor in means.values() for row in of_factor],
    )
    highest = max(point.fraction for service in findings for point in service.points)
    panels = []
    for key, rows in means.items():
        names_of = _called(findings, key)
        each: list[Record] = [
            {
                "called": names_of[level_text(dict(s.levels)[key])],
                "combination": s.service,
                "fraction": load,
                "y": one.ns,
                "load": show.load(load),
                "shown": one.shown,
            }
            for s in findings
            for load, one in sorted(values[s.service].items(), key=lambda pair: pair[0])
        ]
        panel = _panel(
            sheet,
            called[key],
            levels=list(names_of.values()),
            means=rows,
            each=each,
            axis=axis,
            highest=highest,
            tail=tail,
        )
        if bound:
            panel += _bound(bound, f"QoS: {tail} ≤ {show.time(bound)}")
        panels.append(alt.layer(*panel, title=called[key], width=PANEL_MIN, height=PANEL))
    chart = alt.concat(*panels, columns=2).resolve_scale(color="independent", fill="independent")
    return finish(chart, sheet, title=f"{tail} by factor")


def _panel(
    sheet: Sheet,
    name: str,
    *,
    levels: Sequence[str],
    means: list[Record],
    each: list[Record],
    axis: TimeAxis,
    highest: float,
    tail: str,
) -> list[alt.Chart]:
    """Every combination behind, the means in front."""
    scale = alt.Scale(domain=levels, range=curves(levels))
    look = alt.Color(
        "called:N",
        scale=scale,
        legend=alt.Legend(
            title=None, orient="top", symbolType="stroke", symbolOpacity=1, symbolStrokeWidth=3
        ),
    )
    x = load_x(title=["load, % of max RPS", *known_layers.key(means)], highest=highest)
    y = axis.y("y", f"{tail} sojourn time")
    behind = (
        sheet.chart(f"each {name}", each)
        .mark_line(strokeWidth=1, opacity=0.22)
        .encode(x=x, y=y, color=look, detail=alt.Detail("combination:N"))
    )
    placed = [row | {"y": axis.place(number(row["y"]))} for row in means]
    base = sheet.chart(f"means {name}", placed).encode(x=x, y=y, color=look)
    dots = base.mark_point(size=55, strokeWidth=1.8, opacity=1).encode(
        fill=alt.Fill("called:N", scale=scale, legend=None),
        fillOpacity=alt.FillOpacity("full:Q", scale=None, legend=None),
        shape=alt.Shape("mark:N", scale=None, legend=None),
        tooltip=tooltip("called", "load", "mean", "range", "combinations", "known", "reason"),
    )
    return [behind, base.transform_filter("datum.is_sure").mark_line(strokeWidth=2.6), dots]


def _bound(bound_ns: float, text: str) -> list[alt.Chart]:
    once = alt.Chart(alt.InlineData(values=[{}]))
    y = alt.datum(number(bound_ns))
    return [
        once.mark_rule(color=role("qos"), strokeWidth=1.5).encode(y=y),
        once.mark_text(
            color=role("qos"), align="left", baseline="bottom", dx=6, dy=-4, fontWeight="bold"
        ).encode(x=alt.XValue(0), y=y, text=alt.TextValue(text)),
    ]


KIND = Kind(
    name="by_level",
    about="tail against load by factor, where there are too many combinations for a panel each",
    of_study=draw,
)
