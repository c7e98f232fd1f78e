"""The table of all points: what can be chosen, and the points themselves, packed by column.

The page has filters for service, phase, verdict and every factor, small multiples of what is left,
and the table. A run's own seconds lie in a pack of its combination and are unpacked for the first
run that somebody opens.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.load_point import Run
from sojourn.findings.point_row import PointRow
from sojourn.plan.setting import level_text
from sojourn.report import show
from sojourn.report.draw.axes import load_x, time_axis
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import Sheet, Spec, finish
from sojourn.report.draw.marks import tooltip
from sojourn.report.draw.palette import SERIES, role, series
from sojourn.report.draw.table import Table, from_records
from sojourn.report.pack import packed
from sojourn.spec.levels import names

PANEL, PANEL_MIN, SECONDS = 190, 260, 150  # heights and least width, px
# fmt: off
COLUMNS = (
    "point", "service", "phase", "repeat", "fraction", "offered_rps", "achieved_rps", "p50_ns",
    "p99_ns", "verdict", "reason",
)
# fmt: on
KNOWN = ("number", "not valid")  # of a run, as the page's script has it too
NO_LEVEL = -1  # the level of a factor that a service does not feel


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What points can be chosen by: `key` names the column, `name` is for people."""

    key: str
    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """All that the page needs.

    Attributes:
        panels, colours: the choices by which the picture is parted at first.
        points: all points, packed; see `_columns`.
        runs: of each combination its runs' own numbers, packed.
        charts: by name, without data: `explored` and `one-run`.
    """

    count: int
    choices: tuple[Choice, ...]
    panels: str
    colours: str
    points: str
    runs: tuple[str, ...]
    charts: Mapping[str, Spec]


def of(findings: Findings) -> Explored:
    """The table of all points of a study."""
    choices = _choices(findings.points)
    factors = [choice.key for choice in choices[3:]]
    return Explored(
        count=len(findings.points),
        choices=choices,
        panels=factors[0] if factors else "service",
        colours="service" if factors else "phase",
        points=packed(_columns(findings, choices)),
        runs=tuple(packed(_runs(service)) for service in findings.services),
        charts={"explored": _small_multiples(findings.points), "one-run": _one_run(findings)},
    )


def table(findings: Findings) -> Table:
    """All points as a file has them, a column for each factor."""
    called = names(dict.fromkeys(key for row in findings.points for key, _ in row.levels))
    return from_records(
        (*called.values(), *COLUMNS),
        [
            {
                **{called[key]: level_text(level) for key, level in row.levels},
                "point": row.key,
                **{name: getattr(row, name) for name in COLUMNS[1:-2]},
                "verdict": row.verdict.value,
                "reason": show.sentences(row.reasons),
            }
            for row in findings.points
        ],
    )


def _choices(points: Sequence[PointRow]) -> tuple[Choice, ...]:
    """Service, phase and verdict, then every factor; levels in the order of their coming."""
    levels: dict[str, dict[str, None]] = {}
    for row in points:
        for key, level in row.levels:
            levels.setdefault(key, {})[level_text(level)] = None
    called = names(levels)
    return (
        _choice("service", (row.service for row in points)),
        _choice("phase", (row.phase for row in points)),
        _choice("verdict", (row.verdict.value for row in points)),
        *(Choice(key=key, name=called[key], levels=tuple(levels[key])) for key in levels),
    )


def _choice(name: str, texts: Iterable[str]) -> Choice:
    return Choice(key=name, name=name, levels=tuple(dict.fromkeys(texts)))


def _columns(findings: Findings, choices: Sequence[Choice]) -> dict[str, object]:
    """A list per column; words are places in the lists of `choices` and `reasons`."""
    points = findings.points
    reasons = list(dict.fromkeys(show.sentences(row.reasons) for row in points))
    at = {reason: n for n, reason in enumerate(reasons)}
    home = {
        run.key: n
        for n, service in enumerate(findings.services)
        for point in service.points
        for run in point.runs
    }
    chosen = [_texts(row) for row in points]
    return {
        "chosen": {c.key: _places(c, [texts.get(c.key) for texts in chosen]) for c in choices},
        "key": [row.key for row in points],
        "repeat": [row.repeat + 1 for row in points],
        "load": [row.fraction for row in points],
        "offered": [_digits(row.offered_rps) for row in points],
        "achieved": [_digits(row.achieved_rps) for row in points],
        "p50": [_digits(row.p50_ns) for row in points],
        "p99": [_digits(row.p99_ns) for row in points],
        "believed": [int(row.is_believed) for row in points],
        "reason": [at[show.sentences(row.reasons)] for row in points],
        "reasons": reasons,
        "home": [home.get(row.key, NO_LEVEL) for row in points],
    }


def _texts(row: PointRow) -> dict[str, str]:
    own = {"service": row.service, "phase": row.phase, "verdict": row.verdict.value}
    return own | {key: level_text(level) for key, level in row.levels}


def _places(choice: Choice, texts: Sequence[str | None]) -> list[int]:
    at = {level: n for n, level in enumerate(choice.levels)}
    return [NO_LEVEL if text is None else at[text] for text in texts]


def _digits(value: float | None) -> float | int | str | None:
    """Four digits are what a table shows; `inf`, which JSON has not, as a word."""
    if value is None or not math.isfinite(value):
        return value if value is None else "inf"
    short = float(f"{value:.4g}")
    return int(short) if short.is_integer() else short


def _runs(service: ServiceFinding) -> dict[str, object]:
    return {run.key: _run(run) for point in service.points for run in point.runs}


def _run(run: Run) -> dict[str, object]:
    """What the page says of one run, and the p99 of its seconds."""
    quantiles = [f"{show.quantile(q)} {show.time(ns)}" for q, ns in run.quantiles]
    return {
        "said": {
            "sojourn time": ", ".join((f"mean {show.time(run.mean_ns)}", *quantiles)),
            "timely": show.share(run.timely_ratio),
            "send lag p99": show.time(run.send_lag_p99_ns),
            "pick-up p99": show.time(run.pick_up_p99_ns),
            "outage": show.share(run.outage_share),
            "excluded": show.share(run.excluded_share),
            "steal": show.share(run.steal_share),
        },
        "at": [_digits(second) for second, *_ in run.series],
        "p99": [_digits(p99) for *_, p99 in run.series],
    }


def _small_multiples(points: Sequence[PointRow]) -> Spec:
    """Median, least and greatest p99 of what is left, by load; the page puts in the rows.

    Of runs that are not believed only where no other is left, as hollow marks off the line. What is
    infinite is put at the upper edge, which the page knows, and has an arrow there.
    """
    sheet = Sheet()
    axis = time_axis([], dots=[row.p99_ns for row in points])
    x = load_x(
        title=["load, % of max RPS"],
        highest=max((row.fraction or 0.0 for row in points), default=1.0),
    )
    look = alt.Color(
        "colour:N",
        sort=None,
        scale=alt.Scale(range=[series(n) for n in range(SERIES)]),
        legend=alt.Legend(title=None, orient="top", symbolOpacity=1),
    )
    base = alt.Chart().encode(x=x, color=look)
    tooltips = tooltip("colour", "load", "median", "least", "greatest", "points", "known")
    sure = base.transform_filter("!datum.doubted")
    chart = alt.layer(
        sure.mark_area(opacity=0.13).encode(y=axis.y("low", "p99"), y2=alt.Y2("high:Q")),
        sure.mark_line(strokeWidth=2).encode(y=alt.Y("y:Q")),
        sure.mark_point(filled=True, size=40, opacity=1).encode(y=alt.Y("y:Q"), tooltip=tooltips),
        base.transform_filter("datum.endless")
        .mark_point(shape="triangle-up", filled=True, size=90, opacity=1, clip=False)
        .encode(y=alt.Y("high:Q"), tooltip=tooltips),
        base.transform_filter("datum.doubted")
        .mark_point(filled=False, size=40, strokeWidth=1.8, opacity=1)
        .encode(y=alt.Y("y:Q"), tooltip=tooltips),
        data=sheet.data("rows", []),
    ).properties(width=PANEL_MIN, height=PANEL)
    facets = chart.facet(facet=alt.Facet("panel:N", sort=None, title=None), columns=3)
    return {**finish(facets, sheet, title="p99 by load"), "usermeta": {"top_ns": axis.hi}}


def _scale(values: Sequence[object]) -> alt.Scale:
    return alt.Scale(domain=list(KNOWN), range=list(values))


def _one_run(findings: Findings) -> Spec:
    """p99 of each second of a run; the page says of its rows whether the run is valid."""
    sheet = Sheet()
    times = [
        p99
        for service in findings.services
        for point in service.points
        for run in point.runs
        for *_, p99 in run.series
        if p99
    ]
    axis = time_axis([min(times), max(times)] if times else [])
    legend = alt.Legend(title=None, symbolType="stroke")
    chart = (
        sheet.chart("rows", [])
        .mark_line(strokeWidth=1.5, point=alt.OverlayMarkDef(size=14, filled=True))
        .encode(
            x=alt.X("second:Q", title="s since start"),
            y=axis.y("y", "p99"),
            color=alt.Color("known:N", scale=_scale([series(0), role("unknown")]), legend=legend),
            strokeDash=alt.StrokeDash("known:N", scale=_scale([[1, 0], [2, 3]]), legend=legend),
            tooltip=tooltip("shown", "second", "known"),
        )
        .properties(width="container", height=SECONDS)
    )
    return finish(chart, sheet, title="p99 of every second")
