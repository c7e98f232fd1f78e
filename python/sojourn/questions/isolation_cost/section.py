"""What applying isolation costs: a row a mechanism, the paper's Table IV, and what p99 feels."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sojourn.findings.findings import ServiceFinding
from sojourn.questions.isolation_cost import bars
from sojourn.questions.isolation_cost.judge import SENTENCE_ROWS, IsolationCosts, Row
from sojourn.questions.isolation_cost.plan import IDLE, NAME
from sojourn.questions.isolation_cost.table_iv import COLUMNS, TABLE_IV
from sojourn.questions.isolation_cost.tables import (
    COST_COLUMNS,
    PAPER_COLUMNS,
    TAIL_EFFECT_COLUMNS,
    cost_rows,
    paper_rows,
    tail_effect_rows,
)
from sojourn.report import show
from sojourn.report.draw import marks
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import Figure, Kind, Sheet, finish
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Cell, Record, from_records, number
from sojourn.report.section import Number, Shown

ROW_PX = 26
REACH = 10.0  # times the ratio: as far a line goes where lost requests leave no end


def draw(service: ServiceFinding) -> list[Figure]:
    """Costs by host beside the paper's, and the p99 ratios; none where nothing was applied."""
    section = service.section(IsolationCosts)
    if section is None:
        return []
    records = cost_rows(section)
    return [
        _costs(service, records, section),
        _paper(),
        *_ratios(service, tail_effect_rows(section)),
    ]


def _costs(
    service: ServiceFinding, records: list[Record], isolation_costs: IsolationCosts
) -> Figure:
    name, title = f"isolation-cost-{service.service}", "One application of each mechanism"
    table = from_records(COST_COLUMNS, records)
    drawn = bars.rows(records)
    if not drawn:
        return Figure(
            name=name,
            title=title,
            caption="",
            alt="",
            table=table,
            missing="No mechanism could be applied.",
        )
    return Figure(
        name=name,
        title=title,
        caption=(
            "Bars: mean time of one application with its 95 % interval, the cheapest on top, from"
            " the calls to the kernel that the lab makes. Diamonds: the paper's numbers, means of"
            " 10,000 applications by command-line tools on its machines. Nothing is subtracted:"
            " `empty` is the measurement of nothing. The axis is logarithmic, so bars compare by"
            " where they end. (C19, M24)"
        ),
        alt=f"{len(bars.order(drawn))} mechanisms with their mean times, on a logarithmic axis.",
        table=table,
        chart=bars.chart(drawn, _paper_rows(isolation_costs), title),
        is_wide=True,
    )


def _paper_rows(isolation_costs: IsolationCosts) -> list[Record]:
    # fmt: off
    return [
        {"row": bars.called(row.name), "ns": one.mean_ns, "host": f"paper, {one.machine}",
         "mean": show.time(one.mean_ns)}
        for row in isolation_costs.rows if row.costs
        for one in TABLE_IV if one.column == COLUMNS.get(row.name)
    ]
    # fmt: on


def _paper() -> Figure:
    """The paper's table, as a file beside ours."""
    return Figure(
        name="isolation-cost-paper",
        title="The paper's Table IV",
        caption="",
        alt="",
        table=from_records(PAPER_COLUMNS, paper_rows()),
        missing="It is in the table above, and a file of its own.",
    )


def _ratios(service: ServiceFinding, records: list[Record]) -> list[Figure]:
    if not records:
        return []
    name = f"isolation-change-{service.service}"
    title = "p99 after one change, over p99 before it"
    table = from_records(TAIL_EFFECT_COLUMNS, records)
    drawn = [_with_ends(record) for record in records if record["times"] is not None]
    if not drawn:
        why = str(records[0]["refused"])
        return [Figure(name=name, title=title, caption="", alt="", table=table, missing=why)]
    sheet = Sheet()
    y = alt.Y("mechanism:N", title=None, sort=[str(r["mechanism"]) for r in drawn])
    base = alt.Chart(sheet.data(name, drawn))
    ink = role("curve")
    fields = marks.tooltip("mechanism", "said", "before", "after", "changes", "word")
    lines = base.mark_rule(strokeWidth=2, color=ink).encode(
        x=alt.X("lo:Q"), x2=alt.X2("hi:Q"), y=y, tooltip=fields
    )
    scale = alt.Scale(type="log", padding=12)
    dots = base.mark_point(size=70, filled=True, opacity=1, color=ink).encode(
        x=alt.X("times:Q", title="times as long", scale=scale), y=y, tooltip=fields
    )
    one = alt.Chart().mark_rule(color=role("ink"), strokeDash=[4, 3]).encode(x=alt.datum(1.0))
    chart = alt.layer(one, lines, dots, width="container", height=ROW_PX * len(drawn))
    longer = sum(int(record["is_longer"] or 0) for record in drawn)
    return [
        Figure(
            name=name,
            title=title,
            caption=(
                "Requests due during a single change and within 50 ms after it against those due"
                " within 50 ms before it. Lines are 95 % intervals over changes, each for itself. A"
                " line that ends at ten times the ratio, or at a tenth, has no end there. `empty`"
                " changes nothing, and shows what chance does. (M24)"
            ),
            alt=f"After {longer} of {len(drawn)} mechanisms p99 is longer.",
            table=table,
            chart=finish(chart, sheet, title=title),
        )
    ]


def _with_ends(record: Record) -> Record:
    """With ends that have a place on a logarithmic axis: 0 and infinity have none."""
    ratio, lo, hi = (number(record[key]) or 0.0 for key in ("times", "lo", "hi"))
    if math.isinf(ratio):  # a bound is all that is known of it
        ratio = lo or 1.0
    return record | {
        "times": ratio,
        "lo": lo if lo > 0 else ratio / REACH,
        "hi": hi if math.isfinite(hi) else ratio * REACH,
    }


FIGURE = Kind(
    name=NAME, about="what one application of each mechanism takes (C19)", of_service=draw
)


class IsolationCostShown(Shown):
    """Three tables: ours, what p99 feels, the paper's."""

    name = NAME
    template = "isolation_cost/section.html.j2"
    figures = (FIGURE,)

    def found(self, service: ServiceFinding) -> IsolationCosts | None:
        """The section, for the template."""
        return service.section(IsolationCosts)

    def costs(self, isolation_costs: IsolationCosts) -> list[Record]:
        """What was measured, in words and numbers."""
        return [record for record in cost_rows(isolation_costs) if record["host"]]

    def lacking(self, isolation_costs: IsolationCosts) -> list[Row]:
        """What was not measured, and why."""
        return [row for row in isolation_costs.rows if not row.costs]

    def tail_effects(self, isolation_costs: IsolationCosts) -> list[Record]:
        """How each change lengthened p99: rows of a table."""
        return tail_effect_rows(isolation_costs)

    def number(self, service: ServiceFinding) -> Number | None:
        """The first mechanism that the answer is about."""
        section = service.section(IsolationCosts)
        rows = {row.name: row for row in section.rows} if section else {}
        for name in SENTENCE_ROWS:
            is_believed = name in rows and not rows[name].doubts
            cost = rows[name].costs.get(IDLE) if is_believed else None
            if cost and cost.mean.value is not None:
                number = show.time(cost.mean.value)
                return Number(number=number, said=f"one change of {name}, idle host", short=number)
        return None

    def table(self, service: ServiceFinding, width: int) -> Iterator[str]:
        """Lines of at most `width` columns."""
        section = service.section(IsolationCosts)
        if section is None:
            return
        yield "what one application takes ".ljust(width, "=")
        form = "{:<16} {:<6} {:>5} {:>8} {:<14} {:>8} {:>8} {:>8}"  # 80 columns
        yield form.format("mechanism", "host", "times", "mean", "95 %", "p50", "p99", "max")
        for row in self.costs(section):
            # fmt: off
            cells: list[Cell] = [
                row["mechanism"], row["host"], row["applications"], row["mean"],
                row["mean_sure"], row["p50"], row["p99"], row["max"],
            ]
            # fmt: on
            yield form.format(*cells)[:width].rstrip()
        for lack in self.lacking(section):
            why = f"{lack.missing} is missing" if lack.missing else show.sentences(lack.doubts)
            yield f"{lack.name}: {why}{f'; {lack.fix}' if lack.fix else ''}"[:width]
        rows = self.tail_effects(section)
        if rows:
            yield "p99 after one change, over p99 before it ".ljust(width, "=")
            for row in rows:
                yield f"{row['mechanism']!s:<16} {row['said']!s:<24} {row['word']}"[:width]


KIND = IsolationCostShown()
