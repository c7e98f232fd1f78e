"""What the instrument says about itself, run by run (M3, M27)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from sojourn.findings.findings import ServiceFinding
from sojourn.findings.load_point import Run
from sojourn.report import labels, show
from sojourn.report.draw import marks, thin
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import Figure, Kind, Sheet, Spec, finish
from sojourn.report.draw.lookup import slug
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Record, from_records

# fmt: off
COLUMNS = (
    "fraction", "restart", "run", "verdict", "timely_ratio", "send_lag_p99_ns", "pick_up_p99_ns",
    "outage_share", "excluded_share", "steal_share", "reason",
)
# fmt: on

MEASURES = ("timely", "lag", "pick-up", "outage", "excl.", "steal")
ROW = 19  # px per run
RUNS_MAX = 200  # drawn as rows; thousands overflow the stack of the library that draws
_WORST: tuple[Callable[[tuple[float, Run]], float | None], ...] = (  # greater is worse
    lambda at: -at[1].timely_ratio if at[1].timely_ratio is not None else None,
    lambda at: at[1].send_lag_p99_ns,
    lambda at: at[1].pick_up_p99_ns,
    lambda at: at[1].outage_share,
    lambda at: at[1].excluded_share,
    lambda at: at[1].steal_share,
    lambda at: float(not at[1].is_believed),
)

_GROUND = {"undecided": "transparent", marks.DOUBTED: role("unknown")}


def draw(service: ServiceFinding) -> list[Figure]:
    """One strip: a row per run, a column per measure."""
    title = f"{labels.called(service)}: self-check of every run"
    runs = [(point.fraction, run) for point in service.points for run in point.runs]
    table = from_records(COLUMNS, [_row(fraction, run) for fraction, run in runs])
    name = slug(f"{service.service}-selfcheck")
    if not runs:
        missing = "No load was swept."
        return [Figure(name=name, title=title, caption="", alt="", table=table, missing=missing)]
    drawn = thin.thinned(runs, most=RUNS_MAX, group=lambda at: at[0], extremes=_WORST)
    doubted = sum(not run.is_believed for _, run in runs)
    return [
        Figure(
            name=name,
            title=title,
            caption=(
                "A row is a run: its load, restart and verdict; not valid if a check failed."
                " Timely: share of the requests sent on time; at least 97.5 % is required (M3)."
                " Lag (send lag) and pick-up: p99 of what the client itself added. Outage: share"
                " of the time the client did not run. Excl.: share of requests left out for that"
                " reason, by the log alone (M27). Steal: CPU time given to others."
                + thin.caption_sentence(len(drawn), len(runs))
            ),
            alt=f"{doubted} of {len(runs)} runs are not valid because a self-check failed.",
            table=table,
            chart=_chart(drawn, title),
        )
    ]


def _row(fraction: float, run: Run) -> Record:
    return {
        "fraction": fraction,
        "restart": run.repeat + 1,
        "run": run.key,
        "verdict": marks.word(run),
        "timely_ratio": run.timely_ratio,
        "send_lag_p99_ns": run.send_lag_p99_ns,
        "pick_up_p99_ns": run.pick_up_p99_ns,
        "outage_share": run.outage_share,
        "excluded_share": run.excluded_share,
        "steal_share": run.steal_share,
        "reason": show.sentences(run.reasons),
    }


def _share(part: float | None) -> str:
    """Few digits: a cell is narrow on a phone, and the CSV has them all."""
    if part is None:
        return "–"
    if 0 < part < 0.0001:
        return "<0.01 %"
    if part >= 0.9995:
        return "100 %"
    return f"{100 * part:.1f} %" if part >= 0.01 or part == 0 else f"{100 * part:.2f} %"


def _time(ns: float | None) -> str:
    """A digit less, for the same reason."""
    number, _, unit = show.time(ns).partition(" ")
    return f"{float(number):.{0 if float(number) >= 10 else 1}f} {unit}" if unit else number


def _again(runs: list[tuple[float, Run]]) -> list[str]:
    """A letter for each run whose load and restart were measured before, so that rows differ."""
    seen: Counter[tuple[float, int]] = Counter()
    letters = []
    for fraction, run in runs:
        before = seen[fraction, run.repeat]
        letters.append(chr(ord("a") + before) if before else "")
        seen[fraction, run.repeat] += 1
    return letters


def _cells(fraction: float, run: Run, again: str) -> list[Record]:
    texts = (
        _share(run.timely_ratio),
        _time(run.send_lag_p99_ns),
        _time(run.pick_up_p99_ns),
        _share(run.outage_share),
        _share(run.excluded_share),
        _share(run.steal_share),
    )
    common = marks.run_tooltip(run, fraction)
    return [
        common
        | {
            "row": f"{show.load(fraction)} #{run.repeat + 1}{again} {marks.word(run)}",
            "measure": measure,
            "text": text,
            "status": marks.word(run),
        }
        for measure, text in zip(MEASURES, texts, strict=True)
    ]


def _chart(runs: list[tuple[float, Run]], title: str) -> Spec:
    rows = [
        cell
        for (fraction, run), again in zip(runs, _again(runs), strict=True)
        for cell in _cells(fraction, run, again)
    ]
    sheet = Sheet()
    order = list(dict.fromkeys(str(row["row"]) for row in rows))
    words = [name for name in marks.STATUSES if any(r["status"] == name for r in rows)]
    base = sheet.chart("cells", rows).encode(
        x=alt.X(
            "measure:N",
            sort=list(MEASURES),
            title=None,
            axis=alt.Axis(orient="top", labelAngle=0, labelFontSize=10, labelOverlap=False),
        ),
        y=alt.Y("row:N", sort=order, title=None, axis=alt.Axis(labelFontSize=11, ticks=False)),
        tooltip=marks.tooltip("measure", "text", *marks.TOOLTIP),
    )
    tiles = base.mark_rect(fillOpacity=0.16, stroke=role("paper"), strokeWidth=1).encode(
        fill=alt.Fill(
            "status:N",
            scale=alt.Scale(
                domain=words,
                range=[_GROUND.get(word) or role(word) for word in words],
            ),
            legend=None,
        )
    )
    texts = base.mark_text(color=role("ink"), fontSize=10.5).encode(text=alt.Text("text:N"))
    chart = alt.layer(tiles, texts, width="container", height=ROW * len(runs))
    return finish(chart, sheet, title=title)


KIND = Kind(
    name="selfcheck",
    place=171,
    about="timely ratio, send lag, pick-up, outages, excluded share and steal per run (M3, M27)",
    of_service=draw,
    is_detail=True,
)
