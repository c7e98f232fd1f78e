"""What applying isolation costs: a row a mechanism, the paper's Table IV, and what p99 feels."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt

from sojourn.findings.findings import ServiceFinding
from sojourn.questions.isolation_cost import bars
from sojourn.questions.isolation_cost.costs import Cost
from sojourn.questions.isolation_cost.judge import SENTENCE_ROWS, IsolationCosts, Row
from sojourn.questions.isolation_cost.plan import HOSTS, IDLE, NAME
from sojourn.questions.isolation_cost.table_iv import COLUMNS, TABLE_IV
from sojourn.report import show
from sojourn.report.draw import marks
from sojourn.report.draw.figure import Figure, Kind, Sheet, finish
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Cell, Record, from_records
from sojourn.report.section import Number, Shown

# fmt: off
COST_COLUMNS = (
    "mechanism", "host", "applications", "mean_ns", "mean_lo_ns", "mean_hi_ns",
    "p50_ns", "p50_lo_ns", "p50_hi_ns", "p99_ns", "p99_lo_ns", "p99_hi_ns", "max_ns",
    "cpu_ns", "child_cpu_ns", "by_lab_ns", "missing", "mend", "doubts", "one",
)
# fmt: on
PAPER_COLUMNS = ("column", "machine", "mean_ns", "source")
# fmt: off
TAIL_EFFECT_COLUMNS = (
    "mechanism", "changes", "requests", "before_ns", "after_ns", "times", "lo", "hi",
    "is_longer", "refused",
)
# fmt: on
ROW_PX = 26


def cost_rows(isolation_costs: IsolationCosts) -> list[Record]:
    """A record of each mechanism on each host; one of each that lacks or failed."""
    return [
        _cost(row, host, row.costs.get(host))
        for row in isolation_costs.rows
        for host in ([host for host in HOSTS if host in row.costs] or [""])
    ]


def _cost(row: Row, host: str, cost: Cost | None) -> Record:
    cells: Record = {
        "mechanism": row.name,
        "host": host,
        "missing": row.missing,
        "mend": row.mend,
        "doubts": show.sentences(row.doubts),
        "one": row.one,
        "applications": cost.count if cost else 0,
    }
    if cost is None:
        return cells
    for name, result in (("mean", cost.mean), ("p50", cost.p50), ("p99", cost.p99)):
        cells[f"{name}_ns"] = result.value
        cells[f"{name}_lo_ns"] = result.interval.lo if result.interval else None
        cells[f"{name}_hi_ns"] = result.interval.hi if result.interval else None
        cells[name] = show.time(result.value) if result.value is not None else "refused"
        cells[f"{name}_sure"] = (
            show.times(result.interval) if result.interval else _short(result.refused)
        )
    cells |= {
        "max_ns": cost.max_ns,
        "cpu_ns": cost.cpu_ns,
        "child_cpu_ns": cost.child_ns,
        "by_lab_ns": cost.lab_ns,
        "max": show.time(cost.max_ns),
        "cpu": show.time(cost.cpu_ns),
        "child": show.time(cost.child_ns) if cost.child_ns else "–",
        "lab": show.time(cost.lab_ns),
    }
    return cells


def _short(refused: str) -> str:
    """Why there is no number, for a narrow cell: applications are no requests.

    >>> _short("too few requests: p99 needs 563, there are 200")
    'p99 needs 563'
    """
    return refused.removeprefix("too few requests: ").partition(",")[0]


def tail_effect_rows(isolation_costs: IsolationCosts) -> list[Record]:
    """A record of each mechanism that was changed while requests came."""
    return [_tail_effect(row) for row in isolation_costs.rows if row.felt is not None]


def _tail_effect(row: Row) -> Record:
    effect = row.felt
    assert effect is not None  # noqa: S101  # those without were left out
    lo, hi = (effect.interval.lo, effect.interval.hi) if effect.interval else (None, None)
    text = (
        f"{effect.ratio:.2f} ({lo:.2f} to {hi:.2f})"
        if effect.ratio and effect.interval
        else "refused"
    )
    # fmt: off
    return {
        "mechanism": row.name, "changes": effect.changes, "requests": effect.requests,
        "before_ns": effect.before_ns, "after_ns": effect.after_ns, "times": effect.ratio,
        "lo": lo, "hi": hi, "is_longer": int(effect.is_longer), "refused": effect.refused,
        "said": text, "before": show.time(effect.before_ns), "after": show.time(effect.after_ns),
        "word": "longer" if effect.is_longer else effect.refused or "not shown",
    }
    # fmt: on


def paper_rows() -> list[Record]:
    """The paper's Table IV as data."""
    return [
        {
            "column": one.column,
            "machine": one.machine,
            "mean_ns": one.mean_ns,
            "source": "ISPASS 2017, Table IV: mean of 10,000 applications (C19)",
        }
        for one in TABLE_IV
    ]


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
    drawn = [record for record in records if record["times"] is not None]
    if not drawn:
        why = str(records[0]["refused"])
        return [Figure(name=name, title=title, caption="", alt="", table=table, missing=why)]
    sheet = Sheet()
    y = alt.Y("mechanism:N", title=None, sort=[str(r["mechanism"]) for r in drawn])
    base = alt.Chart(sheet.data(name, drawn))
    ink = role("curve")
    fields = marks.tooltip("mechanism", "said", "before", "after", "changes", "word")
    lines = base.mark_rule(strokeWidth=2, color=ink).encode(
        x=alt.X("lo:Q"), x2="hi:Q", y=y, tooltip=fields
    )
    scale = alt.Scale(type="log", padding=12)
    dots = base.mark_point(size=70, filled=True, opacity=1, color=ink).encode(
        x=alt.X("times:Q", title="times as long", scale=scale), y=y, tooltip=fields
    )
    one = alt.Chart().mark_rule(color=role("ink"), strokeDash=[4, 3]).encode(x=alt.datum(1.0))
    chart = alt.layer(one, lines, dots).properties(width="container", height=ROW_PX * len(drawn))
    longer = sum(int(record["is_longer"] or 0) for record in drawn)
    return [
        Figure(
            name=name,
            title=title,
            caption=(
                "Requests due within 50 ms after a single change against those due within 50 ms"
                " before it. Lines are 95 % intervals over changes, each for itself. `empty`"
                " changes nothing, and shows what chance does. (M24)"
            ),
            alt=f"After {longer} of {len(drawn)} mechanisms p99 is longer.",
            table=table,
            chart=finish(chart, sheet, title=title),
        )
    ]


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

    def felt(self, isolation_costs: IsolationCosts) -> list[Record]:
        """What p99 felt of each change."""
        return tail_effect_rows(isolation_costs)

    def number(self, service: ServiceFinding) -> Number | None:
        """The first mechanism that the answer is about."""
        section = service.section(IsolationCosts)
        rows = {row.name: row for row in section.rows} if section else {}
        for name in SENTENCE_ROWS:
            cost = rows[name].costs.get(IDLE) if name in rows else None
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
            yield f"{lack.name}: {why}{f'; {lack.mend}' if lack.mend else ''}"[:width]
        rows = self.felt(section)
        if rows:
            yield "p99 after one change, over p99 before it ".ljust(width, "=")
            for row in rows:
                yield f"{row['mechanism']!s:<16} {row['said']!s:<24} {row['word']}"[:width]


KIND = IsolationCostShown()
