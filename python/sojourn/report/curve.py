"""A number of each load point against offered load: the lab's central picture (C7, L6).

Drawn by several kinds; they differ in the number alone (a quantile or the mean).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import altair as alt

from sojourn.analysis.findings import Estimate, Line, LoadPoint, Run, ServiceFinding
from sojourn.plan.points import Verdict
from sojourn.report import marks, show
from sojourn.report.axes import TimeAxis, load_x, time_axis
from sojourn.report.figure import HEIGHT, Figure, finish
from sojourn.report.palette import role
from sojourn.report.table import Cell, from_records

Record = dict[str, Cell]

COLUMNS = (
    "what", "fraction", "offered_rps", "achieved_rps", "restart", "value_ns", "lo_ns", "hi_ns",
    "restarts_lo_ns", "restarts_hi_ns", "requests", "effective", "verdict", "reason",
)  # fmt: skip


def draw(service: ServiceFinding, q: float | None) -> Figure:
    """The curve of quantile `q`, or of the mean if None."""
    label = show.quantile(q)
    title = f"{service.service}: {label} sojourn time against offered load"
    records = [*_estimates(service, q), *_runs(service, q), *_curves(service, q)]
    name = f"{service.service}-{label.replace('.', '_')}-against-load"
    table = from_records(COLUMNS, records)
    if not service.points:
        return Figure(
            name=name, title=title, caption="", alt="", table=table,
            missing="No load was measured.",
        )  # fmt: skip
    return Figure(
        name=name,
        title=title,
        caption=_caption(service, q, label),
        alt=_alt(service, q, label),
        table=table,
        chart=finish(_layers(service, q, records), title=title),
    )


def of_point(point: LoadPoint, q: float | None) -> Estimate | None:
    """The point's estimate of quantile `q` or of the mean."""
    if q is None:
        return point.mean
    return next((e for e in point.quantiles if e.q is not None and math.isclose(e.q, q)), None)


def of_run(run: Run, q: float | None) -> float | None:
    """The run's quantile `q` or mean, ns."""
    if q is None:
        return run.mean_ns
    return next((ns for other, ns in run.quantiles if math.isclose(other, q)), None)


def lines_of(service: ServiceFinding, q: float | None) -> list[Line]:
    """The lines about this number: those whose name ends with its label."""
    return [line for line in service.lines if line.name.split()[-1:] == [show.quantile(q)]]


def load_title(service: ServiceFinding) -> str:
    """The axis title with the definition of max RPS (M19)."""
    if service.max_rps is None:
        return "offered load, % of max RPS (unknown)"
    return (
        f"offered load, % of max RPS ({show.count(service.max_rps)} requests/s,"
        f" {service.max_rps_rule.replace('_', ' ')})"
    )


def _estimates(service: ServiceFinding, q: float | None) -> Iterator[Record]:
    for point in service.points:
        found = of_point(point, q)
        value = found.value if found else None
        inner, outer = (found.interval, found.across_restarts) if found else (None, None)
        refused = found.refused if found else "not measured"
        yield {
            "what": "estimate",
            "fraction": point.fraction,
            "offered_rps": point.offered_rps,
            "achieved_rps": point.achieved_rps,
            "value_ns": value,
            "lo_ns": inner.lo if inner else None,
            "hi_ns": inner.hi if inner else None,
            "restarts_lo_ns": outer.lo if outer else None,
            "restarts_hi_ns": outer.hi if outer else None,
            "requests": found.requests if found else None,
            "effective": found.effective if found else None,
            "verdict": point.verdict.value,
            "reason": show.sentences((refused, *point.reasons)),
            "status": marks.status(point.verdict, value),
            "offered": f"{show.share(point.fraction)} of max RPS,"
            f" {show.count(point.offered_rps)} requests/s",
            "shown": show.estimate(found),
            "interval": show.times(inner),
            "restarts": show.times(outer),
        }


def _runs(service: ServiceFinding, q: float | None) -> Iterator[Record]:
    for point in service.points:
        for run in point.runs:
            value = of_run(run, q)
            yield {
                "what": "run",
                "fraction": point.fraction,
                "offered_rps": run.offered_rps,
                "achieved_rps": run.achieved_rps,
                "value_ns": value,
                "verdict": run.verdict.value,
                "status": marks.status(run.verdict, value),
                "shown": show.time(value),
                **marks.run_tooltip(run, point.fraction),
            } | {"verdict": run.verdict.value, "reason": show.sentences(run.reasons)}


def _curves(service: ServiceFinding, q: float | None) -> Iterator[Record]:
    for line in lines_of(service, q):
        for fraction, ns in zip(line.fraction, line.value_ns, strict=True):
            yield {"what": line.name, "fraction": fraction, "value_ns": ns, "reason": line.about}


def _layers(service: ServiceFinding, q: float | None, records: list[Record]) -> alt.LayerChart:
    label = show.quantile(q)
    axis = _axis(service, q, records)
    x = load_x(title=load_title(service), highest=max(point.fraction for point in service.points))
    y = axis.y("y", f"{label} sojourn time")
    estimates = [r for r in records if r["what"] == "estimate"]
    runs = [r for r in records if r["what"] == "run"]
    layers = [
        *_bands(service, axis),
        *_qos(service, q),
        *_drawn_lines(lines_of(service, q), x, y),
        *_intervals(estimates, axis, x, y),
        *_dots(estimates, runs, axis, x, y, label),
    ]
    return alt.layer(*layers).properties(width="container", height=HEIGHT)


def _axis(service: ServiceFinding, q: float | None, records: list[Record]) -> TimeAxis:
    """Room for what was measured and the bound; ideal curves that run off are cut."""
    measured = [r for r in records if r["what"] in {"estimate", "run"}]
    keys = ("value_ns", "lo_ns", "hi_ns", "restarts_lo_ns", "restarts_hi_ns")
    values = [number for r in measured for key in keys if isinstance(number := r.get(key), float)]
    bound = [service.qos.bound_ns] if service.qos and _is_bound(service, q) else []
    return time_axis([*values, *bound])


def _is_bound(service: ServiceFinding, q: float | None) -> bool:
    return service.qos is not None and q is not None and math.isclose(service.qos.q, q)


def _bands(service: ServiceFinding, axis: TimeAxis) -> list[alt.Chart]:
    """The max-load interval and the crossing of the smoothed curve, as bands over all times."""
    found = []
    if service.max_load is not None and service.max_load.fraction is not None:
        found.append(("max load within QoS", service.max_load.fraction, "band", [1, 0]))
    if service.crossing is not None:
        found.append(("smoothed curve crosses QoS", service.crossing, "crossing", [3, 3]))
    layers = []
    for name, interval, colour, dash in found:
        row = {
            "lo": interval.lo,
            "hi": interval.hi,
            "bottom": axis.lo,
            "top": axis.hi,
            "band": name,
            "shown": show.shares(interval),
        }
        layers.append(
            alt.Chart(alt.InlineData(values=[row]))
            .mark_rect(
                opacity=0.9,
                fill=role(colour),
                fillOpacity=0.14,
                stroke=role(colour),
                strokeWidth=1,
                strokeDash=dash,
            )
            .encode(
                x=alt.X("lo:Q"),
                x2="hi:Q",
                y=alt.Y("bottom:Q"),
                y2="top:Q",
                tooltip=marks.tooltip("band", "shown"),
            )
        )
    return layers


def _qos(service: ServiceFinding, q: float | None) -> list[alt.Chart]:
    """The bound as a labelled line; only where the figure shows the quantile it is about."""
    if service.qos is None or not _is_bound(service, q):
        return []
    row = {
        "bound": service.qos.bound_ns,
        "label": f"QoS: {show.quantile(service.qos.q)} ≤ {show.time(service.qos.bound_ns)}",
        "rule": service.qos.rule,
    }
    base = alt.Chart(alt.InlineData(values=[row])).encode(
        y=alt.Y("bound:Q"), tooltip=marks.tooltip("label", "rule")
    )
    return [
        base.mark_rule(color=role("qos"), strokeWidth=2),
        base.mark_text(
            color=role("qos"), align="left", baseline="bottom", dx=6, dy=-4, fontWeight="bold"
        ).encode(x=alt.value(0), text="label:N"),
    ]


def _drawn_lines(lines: list[Line], x: alt.X, y: alt.Y) -> list[alt.Chart]:
    rows = [
        {"fraction": f, "y": ns, "line": line.name, "about": line.about, "shown": show.time(ns)}
        for line in lines
        for f, ns in zip(line.fraction, line.value_ns, strict=True)
        if math.isfinite(ns) and ns > 0
    ]
    if not rows:
        return []
    names = [line.name for line in lines]
    is_smooth = ["lowess" in name.lower() for name in names]
    key = alt.Legend(title=None, symbolType="stroke", symbolStrokeWidth=2, symbolSize=300)
    return [
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(clip=True, strokeWidth=2)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "line:N",
                scale=alt.Scale(
                    domain=names,
                    range=[role("curve") if smooth else role("theory") for smooth in is_smooth],
                ),
                legend=key,
            ),
            strokeDash=alt.StrokeDash(
                "line:N",
                scale=alt.Scale(
                    domain=names, range=[[1, 0] if smooth else [6, 4] for smooth in is_smooth]
                ),
                legend=key,
            ),
            tooltip=marks.tooltip("line", "about"),
        )
    ]


def _intervals(estimates: list[Record], axis: TimeAxis, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Thin: within the run. Broad and pale: of the mean over restarts."""
    layers = []
    for lo, hi, width, opacity in (
        ("restarts_lo_ns", "restarts_hi_ns", 9, 0.25),
        ("lo_ns", "hi_ns", 2, 1.0),
    ):
        rows = [
            r | {"y": axis.place(_number(r[lo])), "end": axis.place(_number(r[hi]))}
            for r in estimates
            if r[lo] is not None and _is_finite(r[lo])
        ]
        if rows:
            layers.append(
                alt.Chart(alt.InlineData(values=_plain(rows)))
                .mark_rule(strokeWidth=width, opacity=opacity, color=role("ink"))
                .encode(
                    x=x,
                    y=y,
                    y2="end:Q",
                    tooltip=marks.tooltip("offered", "shown", "interval", "restarts"),
                )
            )
    return layers


def _dots(
    estimates: list[Record], runs: list[Record], axis: TimeAxis, x: alt.X, y: alt.Y, label: str
) -> list[alt.Chart]:
    """Every run a dot; the merged estimate a bar across; what has no number at the edge."""
    bars = [r | {"y": r["value_ns"]} for r in estimates if _is_finite(r["value_ns"])]
    edge = [r for r in estimates if r["status"] in {"refused", "never completed"}]
    dots = [r | {"y": axis.place(_number(r["value_ns"]))} for r in runs] or [
        r | {"y": axis.place(_number(r["value_ns"]))} for r in edge
    ]
    layers = []
    if bars:
        layers.append(
            alt.Chart(alt.InlineData(values=_plain(bars)))
            .mark_tick(orient="horizontal", size=18, thickness=2.5, color=role("ink"))
            .encode(x=x, y=y, tooltip=marks.tooltip("offered", "shown", "interval", "restarts"))
        )
    if dots:
        layers.append(
            alt.Chart(alt.InlineData(values=_plain(dots)))
            .mark_point(size=55, opacity=0.85, strokeWidth=1.8)
            .encode(
                x=x,
                y=y,
                tooltip=[alt.Tooltip("shown:N", title=label), *marks.tooltip(*marks.TOOLTIP)],
                **marks.encodings([str(r["status"]) for r in dots]),
            )
        )
    return layers


def _plain(rows: list[Record]) -> list[Record]:
    """Rows that JSON can hold: what is infinite has its place in `y` and its word in `shown`."""
    return [
        {k: v for k, v in row.items() if not isinstance(v, float) or math.isfinite(v)}
        for row in rows
    ]


def _number(cell: Cell) -> float | None:
    return float(cell) if isinstance(cell, float | int) else None


def _is_finite(cell: Cell) -> bool:
    return isinstance(cell, float | int) and math.isfinite(cell)


def _caption(service: ServiceFinding, q: float | None, label: str) -> str:
    lines = " ".join(f"{line.name}: {line.about}." for line in lines_of(service, q))
    return (
        f"Every dot is one run after a restart; the black bar is {label} over all valid runs of"
        " a load, the thin line its 95 % interval within the runs, the pale one that over"
        f" restarts. Crosses decide nothing. {lines}"
    ).strip()


def _alt(service: ServiceFinding, q: float | None, label: str) -> str:
    known = [
        (point.fraction, found)
        for point in service.points
        if (found := of_point(point, q)) is not None
        and found.value is not None
        and point.verdict is not Verdict.UNKNOWN
    ]
    unknown = sum(point.verdict is Verdict.UNKNOWN for point in service.points)
    if not known:
        return f"No load has a {label} that can be believed; {unknown} loads are unknown."
    (first, low), (last, high) = known[0], known[-1]
    return (
        f"{label} goes from {show.estimate(low)} at {show.share(first)} of max RPS to"
        f" {show.estimate(high)} at {show.share(last)}; {unknown} of {len(service.points)}"
        " loads are unknown."
    )
