"""Where the time of requests goes: bars stacked by stage over load, mean beside tail (C10).

Shares stand on a linear axis beside the times: on a log axis the parts of a bar could not be
compared, and on a linear one the unloaded column would vanish beside the loaded one.
"""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.findings.findings import ServiceFinding
from sojourn.questions.breakdown.findings import Breakdown, Stages, Windows
from sojourn.questions.breakdown.show import known, named
from sojourn.report import labels, show
from sojourn.report.draw import marks, palette
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import HEIGHT, Figure, Kind, Sheet, Spec, finish
from sojourn.report.draw.lookup import slug
from sojourn.report.draw.table import Record, from_records

COLUMNS = ("condition", "of", "requests", "stage", "mean_ns", "time_share")
MEAN, TAIL = WHO = ("all", "≥ p99")
ABOVE = 1.35  # of the axis: room for the totals, upright
# What takes a stage's time (C10), and its colour.
PARTS = {
    "RX": ("IRQ", "stage-irq-0"),
    "TCP/IP": ("IRQ", "stage-irq-1"),
    "EPoll": ("queuing delay", "stage-wait-0"),
    "libevent": ("queuing delay", "stage-wait-1"),
    "Read": ("system call", "stage-call-0"),
    "Open": ("system call", "stage-call-1"),
    "Send": ("system call", "stage-call-2"),
    "application": ("user", "stage-user"),
    "waiting": ("for others", "stage-wait-2"),
    "client": ("not sent yet", "stage-rest-0"),
    "stopped": ("signal", "stage-rest-1"),
    "residual": ("not explained", "stage-rest-2"),
}
# fmt: off
OVERVIEW = (
    "condition", "requests", "mean_ns", "p50_ns", "p95_ns", "p99_ns", "residual_ns",
    "wire_p50_ns", "gap_p50_ns", "wire_p99_ns", "gap_p99_ns",
    "client_wait", "throughput_ratio", "cost_p99_ratio", "cpu_ratio", "pairs",
    "windows", "asked_share", "measured_share", "measured_lo_share", "measured_hi_share",
    "in_window_share", "p99_lo_ns", "p99_hi_ns", "slowed_mean_ratio", "slowed_tail_ratio",
    "verdict",
)
# fmt: on


def draw(service: ServiceFinding) -> list[Figure]:
    """A figure and a table; none if the study did not trace."""
    section = service.section(Breakdown)
    return [] if section is None else [_bars(service, section), _overview(service, section)]


def _bars(service: ServiceFinding, breakdown: Breakdown) -> Figure:
    title = f"{labels.called(service)}: where the time of requests goes, by load"
    columns = known(breakdown)
    records = [r for column in columns for who in WHO for r in _records(column, who)]
    name = slug(f"{service.service}-stages")
    table = from_records(COLUMNS, records)
    if not records:
        return Figure(
            name=name, title=title, caption="", alt="", table=table, missing=_missing(breakdown)
        )
    return Figure(
        name=name,
        title=title,
        caption=(
            "Two bars for each condition: all requests, and those at and above p99. Mean time per"
            " stage as a share of their mean total, which is above each bar. The stages have the"
            " papers' names (L12, C8, C9). Colours show what takes the time (C10): interrupts,"
            " queuing delay, system calls, the service itself. `waiting` is not in the papers: the"
            " thread sleeps between read and reply, for another service, a disk, a lock, a timer"
            " or a page. The stages add to the total; what no stage explains is `residual`. The"
            " time runs from the first segment received to the last one sent, in the server's"
            " kernel, while it is traced. The client and its own kernel are not in it. `?`: in"
            " doubt, see the reasons."
        ),
        alt=breakdown.answer,
        table=table,
        chart=_chart(_drawn(records), columns, title),
        is_wide=True,
    )


def _records(column: Stages, who: str) -> list[Record]:
    is_tail = who == TAIL
    total = (column.tail_mean_ns if is_tail else column.mean_ns) or 0.0
    return [
        {
            "condition": named(column),
            "of": who,
            "requests": column.tail_requests if is_tail else column.requests,
            "stage": stage,
            "part": _part(stage),
            "order": order,
            "mean_ns": ns,
            "time_share": ns / total if total else 0.0,
            "shown": show.time(ns),
            "share": show.share(ns / total if total else 0.0),
        }
        for order, (stage, ns) in enumerate(column.tail if is_tail else column.stages)
    ]


def _drawn(records: Sequence[Record]) -> list[Record]:
    """Without stages that nowhere take any time: they would only fill the legend."""
    seen = {record["stage"] for record in records if record["mean_ns"]}
    return [record for record in records if record["stage"] in seen]


def _part(stage: str) -> str:
    """A stage with what takes its time: `EPoll (queuing delay)`."""
    return f"{stage} ({PARTS[stage][0]})" if stage in PARTS else stage


def _chart(records: list[Record], columns: Sequence[Stages], title: str) -> Spec:
    sheet = Sheet()
    stages = list(dict.fromkeys(str(r["stage"]) for r in records))
    colours = [palette.role(PARTS[s][1] if s in PARTS else "series-5") for s in stages]
    x = alt.X(
        "condition:N", title=None, sort=[named(c) for c in columns], axis=alt.Axis(labelAngle=-40)
    )
    side = alt.XOffset("of:N", sort=list(WHO))
    y = alt.Y(
        "time_share:Q",
        title="share of the time",
        scale=alt.Scale(domain=[0, ABOVE]),
        axis=alt.Axis(format="~%", values=[0, 0.2, 0.4, 0.6, 0.8, 1]),
    )
    bars = (
        sheet.chart("stages", records)
        .mark_bar(stroke=palette.role("paper"), strokeWidth=0.5)
        .encode(
            x=x,
            xOffset=side,
            y=y,
            color=alt.Color(
                "part:N",
                scale=alt.Scale(domain=[_part(s) for s in stages], range=colours),
                title=None,
            ),
            order=alt.Order("order:Q"),
            tooltip=marks.tooltip("condition", "of", "stage", "shown", "share"),
        )
    )
    totals: list[Record] = [
        {"condition": named(c), "of": who, "time_share": 1.0, "total": _total(c, who)}
        for c in columns
        for who in WHO
    ]
    labels = (
        sheet.chart("totals", totals)
        .mark_text(angle=270, align="left", dx=5, fontSize=11, color=palette.role("ink"))
        .encode(x=x, xOffset=side, y=y, text=alt.Text("total:N"))
    )
    chart = alt.layer(bars, labels, width="container", height=HEIGHT)
    return finish(chart, sheet, title=title)


def _total(column: Stages, who: str) -> str:
    return f"{who} {show.time(column.tail_mean_ns if who == TAIL else column.mean_ns)}"


def _overview(service: ServiceFinding, breakdown: Breakdown) -> Figure:
    """Totals, reconciliation with the client, and the tracer's cost: a table alone."""
    name = labels.called(service)
    title = f"{name}: server-side total, the client's wire time, and the tracer's cost"
    return Figure(
        name=slug(f"{service.service}-traced"),
        title=title,
        caption="",
        alt="",
        table=from_records(OVERVIEW, [_line(column) for column in breakdown.columns]),
        missing=(
            "Numbers only, in its CSV. Wire time is the client's, from sent to done. Its gap to the"
            " server's total, quantile against quantile, is the share of client and network."
            " A client that sleeps adds its wake-up. Ratios are medians with the tracer over"
            " medians without, in turn (M21). The tracer's own estimate from windows is beside."
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
        "client_wait": column.client_wait,
        "verdict": str(column.verdict),
        **(_windows(column.windows) if column.windows else {}),
    }
    for q, name in ((0.5, "p50"), (0.95, "p95"), (0.99, "p99")):
        line[f"{name}_ns"] = quantiles.get(q)
        gap = gaps.get(q)
        line[f"wire_{name}_ns"] = gap.wire_ns if gap else None
        line[f"gap_{name}_ns"] = gap.wire_ns - gap.server_ns if gap else None
    return line


def _windows(windows: Windows) -> Record:
    return {
        "windows": windows.count,
        "asked_share": windows.asked,
        "measured_share": windows.measured,
        "measured_lo_share": windows.lo,
        "measured_hi_share": windows.hi,
        "in_window_share": windows.while_attached,
        "p99_lo_ns": windows.p99_lo_ns,
        "p99_hi_ns": windows.p99_hi_ns,
        "slowed_mean_ratio": windows.mean_ratio,
        "slowed_tail_ratio": windows.tail_ratio,
    }


def _missing(breakdown: Breakdown) -> str:
    why = [reason for column in breakdown.columns for reason in column.reasons]
    return f"Nothing was traced: {why[0] if why else 'the study has not come so far'}."


KIND = Kind(
    name="stages",
    place=91,
    about="stages of traced requests over load, for the mean and the tail (C10, L12, M21)",
    of_service=draw,
)
