"""Small multiples by factor: a panel per factor, a line per level, combinations behind (M16).

For services under many combinations, where a panel for each can no longer be compared: there are as
many panels as factors, however many levels are crossed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import altair as alt

from sojourn.analysis.findings import Findings, ServiceFinding
from sojourn.plan.setting import level_text
from sojourn.report import show
from sojourn.report.draw.axes import TimeAxis, load_x, time_axis
from sojourn.report.draw.figure import Figure, Kind, Sheet, Spec, finish
from sojourn.report.draw.lookup import is_bound, of_point, slug, tail_q
from sojourn.report.draw.marks import tooltip
from sojourn.report.draw.palette import SERIES, role, series
from sojourn.report.draw.table import Record, from_records, number
from sojourn.spec.levels import names

SUFFIX = "-by-level"
FEW = 8  # combinations that can be compared panel by panel (`factors`)
PANEL, PANEL_MIN = 230, 280  # height and least width of a panel, px
COLUMNS = (
    "factor",
    "level",
    "fraction",
    "value_ns",
    "least_ns",
    "greatest_ns",
    "of",
    "with_number",
)


def draw(findings: Findings) -> list[Figure]:
    """One figure for each service that was measured under many combinations."""
    found: dict[str, list[ServiceFinding]] = defaultdict(list)
    for service in findings.services:
        if service.levels and service.points:
            found[service.label].append(service)
    return [_figure(label, some) for label, some in found.items() if len(some) > FEW]


def _figure(label: str, found: Sequence[ServiceFinding]) -> Figure:
    called = names([key for key, _ in found[0].levels])
    keys = [key for key in called if len(_levels(found, key)) > 1]
    tail = show.quantile(tail_q(found[0]))
    means = {key: _means(found, key, called[key]) for key in keys}
    title = f"{label}: {tail} against load, by factor"
    rows = [row for of_factor in means.values() for row in of_factor]
    panels = [called[key] for key in keys]
    return Figure(
        name=slug(f"{label}{SUFFIX}"),
        title=title,
        caption=(
            f"A panel is a factor. Bold: geometric mean of {tail} over the combinations of a level;"
            " hollow where some of them have no number. Pale: each combination. Load is a share of"
            " max RPS, of each combination its own, beside a neighbour that of the service alone."
        ),
        alt=f"{len(found)} combinations, a panel for each of {', '.join(panels)}.",
        table=from_records(COLUMNS, rows),
        chart=_chart(found, means, called, tail),
        facet_min=PANEL_MIN,
        panels=len(keys),
        is_wide=True,
    )


def _levels(found: Sequence[ServiceFinding], key: str) -> list[str]:
    return list(dict.fromkeys(level_text(dict(s.levels)[key]) for s in found))


def _numbers(service: ServiceFinding) -> dict[float, float]:
    """The tail by load, where it is a number that can be believed."""
    q = tail_q(service)
    known = {p.fraction: of_point(p, q) for p in service.points if p.is_believed}
    return {
        load: one.value
        for load, one in known.items()
        if one and one.value and math.isfinite(one.value)
    }


def _means(found: Sequence[ServiceFinding], key: str, name: str) -> list[Record]:
    """Geometric mean, least and greatest over the combinations of each level, by load."""
    rows: list[Record] = []
    for level in _levels(found, key):
        mine = [s for s in found if level_text(dict(s.levels)[key]) == level]
        values: dict[float, list[float]] = defaultdict(list)
        for service in mine:
            for load, value in _numbers(service).items():
                values[load].append(value)
        for load, some in sorted(values.items()):
            mean = math.exp(sum(map(math.log, some)) / len(some))
            rows.append(
                {
                    "factor": name,
                    "level": level,
                    "fraction": load,
                    "value_ns": mean,
                    "least_ns": min(some),
                    "greatest_ns": max(some),
                    "of": len(mine),
                    "with_number": len(some),
                    "y": mean,
                    "load": show.load(load),
                    "mean": show.time(mean),
                    "range": f"{show.time(min(some))}–{show.time(max(some))}",
                    "combinations": f"{len(some)} of {len(mine)}",
                    "is_whole": len(some) == len(mine),
                }
            )
    return rows


def _chart(
    found: Sequence[ServiceFinding],
    means: dict[str, list[Record]],
    called: dict[str, str],
    tail: str,
) -> Spec:
    sheet = Sheet()
    values = {s.service: _numbers(s) for s in found}
    qos = found[0].qos
    bound = qos.bound_ns if qos and is_bound(found[0], tail_q(found[0])) else None
    axis = time_axis(
        [*(ns for of in values.values() for ns in of.values()), 1.2 * bound if bound else None]
    )
    highest = max(point.fraction for service in found for point in service.points)
    panels = []
    for key, rows in means.items():
        levels = _levels(found, key)
        each: list[Record] = [
            {"level": level_text(dict(s.levels)[key]), "combination": s.service,
             "fraction": load, "y": ns, "load": show.load(load), "shown": show.time(ns)}
            for s in found
            for load, ns in sorted(values[s.service].items())
        ]  # fmt: skip
        panel = _panel(
            sheet, called[key], levels=levels, means=rows, each=each, axis=axis,
            highest=highest, tail=tail,
        )  # fmt: skip
        if bound:
            panel += _bound(bound, f"QoS: {tail} ≤ {show.time(bound)}")
        panels.append(
            alt.layer(*panel, title=called[key]).properties(width=PANEL_MIN, height=PANEL)
        )
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
    scale = alt.Scale(domain=levels, range=[series(n % SERIES) for n in range(len(levels))])
    look = alt.Color(
        "level:N",
        scale=scale,
        legend=alt.Legend(
            title=None, orient="top", symbolType="stroke", symbolOpacity=1, symbolStrokeWidth=3
        ),
    )
    x = load_x(title=["load, % of max RPS"], highest=highest)
    y = axis.y("y", f"{tail} sojourn time")
    behind = (
        sheet.chart(f"each {name}", each)
        .mark_line(strokeWidth=1, opacity=0.22)
        .encode(x=x, y=y, color=look, detail="combination:N")
    )
    base = sheet.chart(f"means {name}", means).encode(x=x, y=y, color=look)
    dots = base.mark_point(size=55, strokeWidth=1.8, opacity=1).encode(
        fill=alt.Fill("level:N", scale=scale, legend=None),
        fillOpacity=alt.condition("datum.is_whole", alt.value(1), alt.value(0)),
        tooltip=tooltip("level", "load", "mean", "range", "combinations"),
    )
    return [behind, base.mark_line(strokeWidth=2.6), dots]


def _bound(bound_ns: float, said: str) -> list[alt.Chart]:
    once = alt.Chart(alt.InlineData(values=[{}]))
    y = alt.datum(number(bound_ns))
    return [
        once.mark_rule(color=role("qos"), strokeWidth=1.5).encode(y=y),
        once.mark_text(
            color=role("qos"), align="left", baseline="bottom", dx=6, dy=-4, fontWeight="bold"
        ).encode(x=alt.value(0), y=y, text=alt.value(said)),
    ]


KIND = Kind(
    name="by_level",
    about="tail against load by factor, where there are too many combinations for a panel each",
    of_study=draw,
)
