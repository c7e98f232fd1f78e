"""The instrument against closed forms: measured over theory (M20)."""

from __future__ import annotations

from sojourn.findings.findings import Findings
from sojourn.plan.points import Verdict
from sojourn.questions.check.judge import rows_of
from sojourn.questions.check.rows import CheckRow
from sojourn.report import show
from sojourn.report.draw import marks
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import Figure, Kind, Sheet, Spec, finish
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Cell, Record, from_records, is_finite

COLUMNS = (
    "system",
    "rho",
    "quantity",
    "theory_ns",
    "measured_ns",
    "lo_ns",
    "hi_ns",
    "ratio",
    "verdict",
    "reason",
)
NAME = "against-theory"
PANEL_MIN = 210
_COLOURS = ("curve", "violated", "theory", "band", "crossing", "qos")
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")


def draw(findings: Findings) -> list[Figure]:
    """One figure; none if the study compared nothing with theory."""
    if not rows_of(findings):
        return []
    title = "measured over theory"
    records = [_record(row) for row in rows_of(findings)]
    table = from_records(COLUMNS, records)
    drawn = [r for r in records if is_finite(r["ratio"])]
    if not drawn:
        missing = "No comparison has a number."
        return [Figure(name=NAME, title=title, caption="", alt="", table=table, missing=missing)]
    held = sum(row.verdict is Verdict.HOLDS for row in rows_of(findings))
    return [
        Figure(
            name=NAME,
            title=title,
            caption=(
                "A synthetic server with known service times, measured by the lab itself, divided"
                " by the closed form; lines are 95 % intervals. On the line at 1 both agree."
                " Hollow marks are unknown. (METHOD M20)"
            ),
            alt=f"{held} of {len(records)} comparisons agree with theory within their interval.",
            table=table,
            chart=_chart(drawn, title),
            facet_min=PANEL_MIN,
            panels=len({r["system"] for r in drawn}),
        )
    ]


def _record(row: CheckRow) -> Record:
    value, interval = row.estimate.value, row.estimate.interval

    def over(ns: float | None) -> float | None:
        return None if ns is None else ns / row.theory_ns

    return {
        "system": row.system,
        "rho": row.rho,
        "quantity": row.quantity,
        "theory_ns": row.theory_ns,
        "measured_ns": value,
        "lo_ns": interval.lo if interval else None,
        "hi_ns": interval.hi if interval else None,
        "ratio": over(value),
        "lo": over(interval.lo) if interval else None,
        "hi": over(interval.hi) if interval else None,
        "verdict": row.verdict.value,
        "reason": show.sentences((row.estimate.refused, *row.reasons)),
        "measured": f"{show.estimate(row.estimate)} [{show.times(interval)}]",
        "theory": show.time(row.theory_ns),
    }


def _chart(records: list[Record], title: str) -> Spec:
    quantities = list(dict.fromkeys(str(r["quantity"]) for r in records))
    sheet = Sheet()
    key = alt.Legend(title=None, symbolFillColor="transparent")
    rows: list[dict[str, Cell]] = [
        r | {"inner": "" if r["verdict"] == Verdict.UNKNOWN.value else r["quantity"]}
        for r in records
    ]
    x = alt.X("rho:O", title="utilisation ρ", axis=alt.Axis(labelAngle=0))
    offset = alt.XOffset("quantity:N", sort=quantities)
    y = alt.Y("ratio:Q", title="measured / theory", scale=alt.Scale(zero=False, padding=8))
    colours = [role(_COLOURS[i % len(_COLOURS)]) for i in range(len(quantities))]
    colour = alt.Scale(domain=quantities, range=colours)
    fields = marks.tooltip("system", "rho", "quantity", "measured", "theory", "verdict", "reason")
    one = alt.Chart().mark_rule(color=role("ink"), strokeDash=[4, 3]).encode(y=alt.datum(1.0))
    lines = (
        alt.Chart()
        .mark_rule(strokeWidth=2)
        .encode(x=x, xOffset=offset, y=alt.Y("lo:Q"), y2=alt.Y2("hi:Q"), tooltip=fields)
        .encode(stroke=alt.Stroke("quantity:N", scale=colour, legend=key))
    )
    dots = (
        alt.Chart()
        .mark_point(size=60, strokeWidth=1.8, opacity=1)
        .encode(x=x, xOffset=offset, y=y, tooltip=fields)
        .encode(
            stroke=alt.Stroke("quantity:N", scale=colour, legend=key),
            fill=alt.Fill(
                "inner:N",
                scale=alt.Scale(domain=["", *quantities], range=[role("paper"), *colours]),
                legend=None,
            ),
            shape=alt.Shape(
                "quantity:N",
                scale=alt.Scale(
                    domain=quantities,
                    range=[_SHAPES[i % len(_SHAPES)] for i in range(len(quantities))],
                ),
                legend=key,
            ),
        )
    )
    panels = list(dict.fromkeys(str(r["system"]) for r in records))
    chart = (
        alt.layer(one, lines, dots)
        .properties(width=PANEL_MIN, height=240)
        .facet(
            facet=alt.Facet("system:N", sort=panels, title=None),
            columns=3,
            data=sheet.data("checks", rows),
        )
    )
    return finish(chart, sheet, title=title)


KIND = Kind(
    name="checks",
    place=172,
    about="measured over closed form per system, utilisation and quantity (M20)",
    of_study=draw,
)
