"""Where the time of requests goes: bars stacked by stage over load, mean and tail (C10).

Shares stand on a linear axis beside the times: on a log axis the parts of a bar could not be
compared, and on a linear one the unloaded column would vanish beside the loaded one.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from sojourn.analysis.findings import Breakdown, ServiceFinding, Stages
from sojourn.report import show
from sojourn.report.draw import marks, palette
from sojourn.report.draw.figure import HEIGHT, Figure, Kind, Sheet, Spec, finish
from sojourn.report.draw.lookup import slug
from sojourn.report.draw.table import Record, from_records
from sojourn.report.stages import known, named

COLUMNS = ("condition", "requests", "stage", "mean_ns", "time_share")
OVERVIEW = (
    "condition", "requests", "mean_ns", "p50_ns", "p95_ns", "p99_ns", "residual_ns",
    "wire_p50_ns", "gap_p50_ns", "wire_p99_ns", "gap_p99_ns",
    "throughput_ratio", "cost_p99_ratio", "cpu_ratio", "pairs", "verdict",
)  # fmt: skip


def draw(service: ServiceFinding) -> list[Figure]:
    """Two figures and a table; none if the study did not trace."""
    found = service.breakdown
    if found is None:
        return []
    return [_bars(service, found, is_tail=False), _bars(service, found, is_tail=True),
            _overview(service, found)]  # fmt: skip


def _bars(service: ServiceFinding, found: Breakdown, *, is_tail: bool) -> Figure:
    who = "requests at and above p99" if is_tail else "all requests"
    title = f"{service.service}: where the time of {who} goes"
    columns = known(found)
    records = [record for column in columns for record in _records(column, is_tail=is_tail)]
    name = slug(f"{service.service}-stages{'-tail' if is_tail else ''}")
    table = from_records(COLUMNS, records)
    if not records:
        return Figure(
            name=name, title=title, caption="", alt="", table=table, missing=_missing(found)
        )
    return Figure(
        name=name,
        title=title,
        caption=(
            f"Mean time per stage of {who}, as shares of their mean total, which stands above each"
            " bar. The stages, in the papers' words (L12, C8, C9), add to the total; what no stage"
            " explains is `residual`. From the first segment received to the last one sent, in the"
            " server's kernel: the client and its own kernel are not in it. `?`: in doubt, see the"
            " reasons."
        ),
        alt=found.answer,
        table=table,
        chart=_chart(records, columns, title, is_tail=is_tail),
    )


def _records(column: Stages, *, is_tail: bool) -> list[Record]:
    total = (column.tail_mean_ns if is_tail else column.mean_ns) or 0.0
    return [
        {
            "condition": named(column),
            "requests": column.requests,
            "stage": stage,
            "order": order,
            "mean_ns": ns,
            "time_share": ns / total if total else 0.0,
            "shown": show.time(ns),
            "share": show.share(ns / total if total else 0.0),
        }
        for order, (stage, ns) in enumerate(column.tail if is_tail else column.stages)
    ]


def _chart(records: list[Record], columns: Sequence[Stages], title: str, *, is_tail: bool) -> Spec:
    sheet = Sheet()
    stages = list(dict.fromkeys(str(r["stage"]) for r in records))
    colours = [palette.load(at, len(stages)) for at in range(len(stages))]
    x = alt.X(
        "condition:N", title=None, sort=[named(c) for c in columns], axis=alt.Axis(labelAngle=-40)
    )
    share = alt.Axis(format="~%", tickCount=5)
    bars = (
        sheet.chart("stages", records)
        .mark_bar(stroke=palette.role("paper"), strokeWidth=0.5)
        .encode(
            x=x,
            y=alt.Y("time_share:Q", title="share of the time", scale=alt.Scale(domain=[0, 1.08]),
                    axis=share),
            color=alt.Color("stage:N", scale=alt.Scale(domain=stages, range=colours), title=None),
            order=alt.Order("order:Q"),
            tooltip=marks.tooltip("condition", "stage", "shown", "share"),
        )
    )  # fmt: skip
    totals: list[Record] = [
        {
            "condition": named(c),
            "time_share": 1.0,
            "total": show.time(c.tail_mean_ns if is_tail else c.mean_ns),
        }
        for c in columns
    ]
    labels = (
        sheet.chart("totals", totals)
        .mark_text(dy=-8, color=palette.role("ink"))
        .encode(x=x, y=alt.Y("time_share:Q"), text="total:N")
    )
    chart = alt.layer(bars, labels).properties(width="container", height=HEIGHT)
    return finish(chart, sheet, title=title)


def _overview(service: ServiceFinding, found: Breakdown) -> Figure:
    """Totals, reconciliation with the client, and the tracer's cost: a table alone."""
    title = f"{service.service}: server-side total, the client's wire time, and the tracer's cost"
    return Figure(
        name=slug(f"{service.service}-traced"),
        title=title,
        caption="",
        alt="",
        table=from_records(OVERVIEW, [_line(column) for column in found.columns]),
        missing=(
            "Numbers only, in its CSV. Wire time is the client's, from sent to done; the gap to the"
            " server's total, quantile against quantile, is the client's and the network's share."
            " Ratios are medians with the tracer over medians without, taking turns (M21)."
        ),
    )


def _line(column: Stages) -> Record:
    gaps = {gap.q: gap for gap in column.gaps}
    quantiles = dict(column.quantiles)
    line: Record = {
        "condition": named(column),
        "requests": column.requests,
        "mean_ns": column.mean_ns,
        "residual_ns": column.residual_ns,
        "throughput_ratio": column.cost.throughput,
        "cost_p99_ratio": column.cost.p99,
        "cpu_ratio": column.cost.cpu,
        "pairs": column.cost.pairs,
        "verdict": str(column.verdict),
    }
    for q, name in ((0.5, "p50"), (0.95, "p95"), (0.99, "p99")):
        line[f"{name}_ns"] = quantiles.get(q)
        gap = gaps.get(q)
        line[f"wire_{name}_ns"] = gap.wire_ns if gap else None
        line[f"gap_{name}_ns"] = gap.wire_ns - gap.server_ns if gap else None
    return line


def _missing(found: Breakdown) -> str:
    why = [reason for column in found.columns for reason in column.reasons]
    return f"Nothing was traced: {why[0] if why else 'the study has not come so far'}."


KIND = Kind(
    name="stages",
    about="stages of traced requests over load, for the mean and the tail (C10, L12, M21)",
    of_service=draw,
)
