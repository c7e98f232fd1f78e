"""Second by second within the runs: does it hold still? (M8)."""

from __future__ import annotations

import math

from sojourn.findings.findings import ServiceFinding
from sojourn.findings.load_point import Run
from sojourn.report import labels, show
from sojourn.report.draw import marks, thin
from sojourn.report.draw.axes import time_axis
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import Figure, Kind, Sheet, Spec, finish
from sojourn.report.draw.lookup import slug
from sojourn.report.draw.table import Cell, Record, from_records, number

COLUMNS = ("fraction", "restart", "run", "second_s", "achieved_rps", "p50_ns", "p99_ns", "verdict")
PANEL_MIN = 130  # px: narrower panels have no room for their seconds
PANEL_HEIGHT = 90
SECONDS_MAX = 2_000  # that are drawn: a panel has room for some five runs of them
_DASHES = {"holds": [1, 0], "violated": [1, 0], "undecided": [5, 3], marks.DOUBTED: [2, 3]}


def draw(service: ServiceFinding) -> list[Figure]:
    """Small multiples: a panel per load, a line per run."""
    title = f"{labels.called(service)}: p99 of every second"
    records = _records(service)
    table = from_records(COLUMNS, records)
    drawn = _thinned(records)
    name = slug(f"{service.service}-series")
    if not any(r["p99_ns"] is not None for r in records):
        missing = "No second has a p99." if records else "There is no per-second series."
        return [Figure(name=name, title=title, caption="", alt="", table=table, missing=missing)]
    drifting = [show.load(p.fraction) for p in service.points if not p.is_steady]
    if len(drawn) < len(records):
        seen = len({r["run"] for r in drawn})
        some = thin.caption_sentence(seen, len({r["run"] for r in records}))
    else:
        some = ""
    drift = f" Not steady: {', '.join(drifting)}." if drifting else " All loads are steady."
    return [
        Figure(
            name=name,
            title=title,
            caption=f"A line is a run; dashed ones have no verdict.{drift}{some} (METHOD M8)",
            alt=f"p99 per second in {len(service.points)} panels, one per load.{drift}",
            table=table,
            chart=_chart(drawn, title),
            facet_min=PANEL_MIN,
            panels=len({r["load"] for r in records}),
        )
    ]


def _records(service: ServiceFinding) -> list[Record]:
    return [
        row
        | {"fraction": point.fraction, "load": _panel(point.fraction, is_steady=point.is_steady)}
        for point in service.points
        for run in point.runs
        for row in _seconds(run)
    ]


def _thinned(records: list[Record]) -> list[Record]:
    """All runs if they can be drawn, else those with the slowest second and evenly others."""
    if len(records) <= SECONDS_MAX:
        return records
    highest: dict[tuple[str, str], float] = {}
    for r in records:
        run = (str(r["load"]), str(r["run"]))
        highest[run] = max(highest.get(run, 0.0), number(r.get("p99_ns")) or 0.0)
    drawn = thin.thinned(
        list(highest),
        most=math.ceil(len(highest) * SECONDS_MAX / len(records)),
        group=lambda run: run[0],
        extremes=[lambda run: highest[run]],
    )
    selected = {run for _, run in drawn}
    return [r for r in records if r["run"] in selected]


def _panel(fraction: float, *, is_steady: bool) -> str:
    return f"{show.load(fraction)} load" + ("" if is_steady else ", not steady")


def _seconds(run: Run) -> list[Record]:
    return [
        {
            "restart": run.repeat + 1,
            "run": run.key,
            "second_s": second,
            "achieved_rps": _short(achieved),
            "p50_ns": _short(p50),
            "p99_ns": _short(p99),
            "verdict": marks.word(run),
            "shown": show.time(p99),
        }
        for second, achieved, p50, p99 in run.series
    ]


def _short(value: float | None) -> float | None:
    """Four digits are enough to draw, and keep the page of a long study small."""
    return None if value is None else float(f"{value:.4g}")


def _chart(records: list[Record], title: str) -> Spec:
    sheet = Sheet()
    axis = time_axis(number(r["p99_ns"]) for r in records)
    keep = ("load", "restart", "run", "second_s", "verdict", "shown")
    rows: list[dict[str, Cell]] = [
        {key: r[key] for key in keep} | {"y": axis.place(number(r["p99_ns"]))}
        for r in records
        if r["p99_ns"] is not None
    ]
    words = [name for name in marks.STATUSES if any(r["verdict"] == name for r in rows)]
    lines = (
        alt.Chart()
        .mark_line(strokeWidth=1.3, point=alt.OverlayMarkDef(size=8, filled=True))
        .encode(
            x=alt.X("second_s:Q", title="s since start", axis=alt.Axis(tickCount=4)),
            y=axis.y("y", None),
            detail=alt.Detail("run:N"),
            color=alt.Color(
                "verdict:N",
                scale=alt.Scale(domain=words, range=marks.colours(words)),
                legend=alt.Legend(title=None, symbolType="stroke"),
            ),
            strokeDash=alt.StrokeDash(
                "verdict:N",
                scale=alt.Scale(domain=words, range=[_DASHES[word] for word in words]),
                legend=alt.Legend(title=None, symbolType="stroke"),
            ),
            tooltip=[
                alt.Tooltip("shown:N", title="p99"),
                alt.Tooltip("second_s:Q", title="second"),
                *marks.tooltip("load", "restart", "verdict"),
            ],
        )
        .properties(width=PANEL_MIN, height=PANEL_HEIGHT)
    )
    panels = list(dict.fromkeys(str(r["load"]) for r in records))
    chart = lines.facet(
        facet=alt.Facet("load:N", sort=panels, title=None),
        columns=4,
        data=sheet.data("seconds", rows),
    )
    return finish(chart, sheet, title=title)


KIND = Kind(
    name="series",
    about="p99 of every second, a panel per load, a line per run (M8)",
    of_service=draw,
    is_detail=True,
)
