"""How numbers go with a factor whose levels are amounts: a curve over levels, its knee or cliff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sojourn.findings.effects import FactorFinding, Trend
from sojourn.findings.findings import Findings
from sojourn.report import labels, show
from sojourn.report.draw import marks
from sojourn.report.draw.charts import alt
from sojourn.report.draw.dots import axis
from sojourn.report.draw.figure import Figure, Kind, Sheet, Spec, finish
from sojourn.report.draw.lookup import of_point, tail_q
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Record, from_records, number
from sojourn.spec.levels import level_of, level_text

NAME = "trends"
COLUMNS = ("service", "factor", "what", "kind", "level", "ratio", "lo", "hi", "value", "sentence")
PANEL, PANEL_MIN = 230, 300  # height and least width of a panel, px
NAMED = {"knee": "knee", "cliff": "cliff"}
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ShownTrend:
    """A trend with the factor that it is of."""

    factor: FactorFinding
    trend: Trend

    @property
    def title(self) -> str:
        """`p99 at 60 % load, by items`."""
        return f"{self.trend.what}, by {self.factor.name.replace('_', ' ')}"


def shown_trends(findings: Findings) -> tuple[ShownTrend, ...]:
    """Every trend of which something is known."""
    return tuple(
        ShownTrend(factor, trend)
        for factor in findings.factors
        for trend in factor.trends
        if trend.kind != UNKNOWN and trend.curve
    )


def draw(findings: Findings) -> list[Figure]:
    """One figure of all trends; none where no factor's levels are amounts, or nothing is known."""
    result = shown_trends(findings)
    if not result:
        return []
    several = len({one.factor.service for one in result}) > 1
    panels = {_title(one, several=several): list(_records(findings, one)) for one in result}
    records = [record for rows in panels.values() for record in rows]
    title = "How it goes with the levels"
    if len({one.factor.name for one in result}) == 1:
        title = f"How it goes with {result[0].factor.name.replace('_', ' ')}"
    return [
        Figure(
            name=NAME,
            title=title,
            caption=(
                "Each level's number as a ratio to the lowest level's, from blocks that have both."
                " Lines are 95 % intervals that hold for all levels at once. Words at the marks"
                " are the numbers themselves. Shaded: the step that makes most of the change, a"
                " cliff if it is a factor of two, else a knee. (M15 to M17)"
            ),
            alt=show.sentences([one.trend.sentence for one in result]) + ".",
            table=from_records(COLUMNS, records),
            chart=_chart(panels, title),
            facet_min=PANEL_MIN,
            panels=len(panels),
            is_wide=True,
        )
    ]


def _title(one: ShownTrend, *, several: bool) -> str:
    return f"{one.factor.service}: {one.title}" if several else one.title


def _records(findings: Findings, one: ShownTrend) -> Iterator[Record]:
    """A record of each level, lowest first."""
    trend, values = one.trend, _values(findings, one)
    step = [trend.levels.index(level) for level in trend.between]
    for at, (level, ends) in enumerate(zip(trend.levels, trend.curve, strict=True)):
        ratio, lo, hi = ends
        value = values.get(level, "")
        yield {
            "service": one.factor.service,
            "factor": one.factor.name,
            "what": trend.what,
            "kind": trend.kind,
            "level": bare(level),
            "ratio": ratio,
            "lo": lo,
            "hi": hi,
            "value": value,
            "sentence": trend.sentence,
            "at": at,
            "shown": value or (f"× {ratio:.2g}" if at else ""),
            "times": f"{ratio:.3g} ({lo:.3g} to {hi:.3g})" if at else "1, the lowest",
            "label": labels.label(one.factor.key, level_of(level)),
            "step_low": min(step, default=None),
            "step_high": max(step, default=None),
            "step": NAMED.get(trend.kind, ""),
        }


def bare(level: str) -> str:
    """A level as the end of an axis: thousands apart, no quotes.

    >>> bare("1024000"), bare('"64MiB"')
    ('1,024,000', '64MiB')
    """
    result = level_of(level)
    return show.whole(result) if isinstance(result, int) and result >= 10_000 else str(result)


def _values(findings: Findings, one: ShownTrend) -> dict[str, str]:
    """The number itself by level, where each level has one combination."""
    results: dict[str, str] = {}
    own = [s for s in findings.services if s.label == one.factor.service]
    if len(own) > len(one.factor.levels):
        return {}
    for service in own:
        level = level_text(dict(service.levels)[one.factor.key])
        if not one.trend.what.startswith("p"):
            results[level] = f"{show.count(service.max_rps)}/s" if service.max_rps else ""
            continue
        load = one.trend.what.partition(" at ")[2].removesuffix(" load")
        for point in service.points:
            estimate = of_point(point, tail_q(service))
            if show.load(point.fraction) == load and estimate and estimate.value:
                results[level] = show.time(estimate.value)
    return results


def _chart(panels: dict[str, list[Record]], title: str) -> Spec:
    sheet = Sheet()
    drawn = [
        alt.layer(*_panel(sheet, name, rows), title=name, width=PANEL_MIN, height=PANEL)
        for name, rows in panels.items()
    ]
    return finish(alt.concat(*drawn, columns=2), sheet, title=title)


def _panel(sheet: Sheet, name: str, rows: Sequence[Record]) -> list[alt.Chart]:
    """The step behind, then interval, curve, mark and number of each level."""
    last = len(rows) - 1
    names = ", ".join(f"'{row['level']}'" for row in rows)
    x = alt.X(
        "at:Q",
        title=str(rows[0]["factor"]).replace("_", " "),
        scale=alt.Scale(domain=[-0.3, last + 0.6], nice=False),
        axis=alt.Axis(
            values=list(range(len(rows))),
            labelExpr=f"[{names}][datum.value]",
            grid=False,
            labelOverlap=True,
        ),
    )
    low = min(number(row["lo"]) or 1.0 for row in rows)
    high = max(number(row["hi"]) or 1.0 for row in rows)
    low, high = min(low, 1 / 1.25) / 1.1, max(high, 1.25) * 1.15
    y = alt.Y(
        "ratio:Q",
        title="as a ratio to the lowest",
        axis=axis((low, high)),
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
    )
    base = sheet.chart(name, rows).encode(x=x)
    fields = marks.tooltip("label", "what", "shown", "times")
    ink = role("curve")
    layers = [base.mark_line(strokeWidth=2, color=ink).encode(y=y)]
    if rows[0]["step"]:
        layers = [*_step(sheet, name, rows[0], x, high), *layers]
    one = alt.Chart(alt.InlineData(values=[{}])).mark_rule(color=role("muted"), strokeDash=[4, 3])
    return [
        one.encode(y=alt.datum(1.0)),
        *layers,
        base.mark_rule(strokeWidth=2, color=ink).encode(y=alt.Y("lo:Q"), y2=alt.Y2("hi:Q")),
        base.mark_point(size=70, filled=True, opacity=1, color=ink).encode(y=y, tooltip=fields),
        base.mark_text(dx=8, dy=-9, align="left").encode(y=y, text=alt.Text("shown:N")),
    ]


def _step(sheet: Sheet, name: str, row: Record, x: alt.X, high: float) -> list[alt.Chart]:
    """The levels between which it breaks, shaded, with its name."""
    low, up = number(row["step_low"]) or 0.0, number(row["step_high"]) or 0.0
    band: list[Record] = [
        {"at": low, "end": up, "middle": (low + up) / 2, "step": row["step"], "top": high}
    ]
    base = sheet.chart(f"{name} step", band)
    colour = role("crossing")
    return [
        base.mark_rect(color=colour, opacity=0.14).encode(x=x, x2=alt.X2("end:Q")),
        base.mark_text(color=colour, fontWeight="bold", baseline="top", dy=5).encode(
            x=alt.X("middle:Q"), y=alt.Y("top:Q"), text=alt.Text("step:N")
        ),
    ]


KIND = Kind(
    name=NAME,
    about="a number over the ordered levels of a factor, with its knee or cliff (M15 to M17)",
    of_study=draw,
)
