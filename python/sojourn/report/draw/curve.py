"""A number of each load point against offered load: the lab's central picture (C7, L6).

Drawn by several kinds; they differ in the number alone (a quantile or the mean).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from sojourn.analysis.findings import ServiceFinding
from sojourn.report import show
from sojourn.report.draw import curve_layers, limits, marks, thin
from sojourn.report.draw.figure import Figure, Sheet, finish
from sojourn.report.draw.lookup import lines_of, of_point, of_run, slug
from sojourn.report.draw.table import Record, from_records, number

COLUMNS = (
    "what", "fraction", "offered_rps", "achieved_rps", "restart", "run", "value_ns", "lo_ns",
    "hi_ns", "restarts_lo_ns", "restarts_hi_ns", "requests", "effective", "verdict", "reason",
)  # fmt: skip


def draw(service: ServiceFinding, q: float | None) -> Figure:
    """The curve of quantile `q`, or of the mean if None."""
    label = show.quantile(q)
    title = f"{service.service}: {label} sojourn time against offered load"
    runs = list(_runs(service, q))
    estimates, curves = list(_estimates(service, q)), list(_curves(service, q))
    name = slug(f"{service.service}-{label}-against-load")
    table = from_records(COLUMNS, [*estimates, *runs, *curves])
    drawn = thin.thinned(
        runs,
        group=lambda r: (r["fraction"], r["status"]),
        extremes=[_height, lambda r: -(_height(r) or math.inf)],
    )
    if not service.points:
        return Figure(
            name=name, title=title, caption="", alt="", table=table,
            missing="No load was swept.",
        )  # fmt: skip
    sheet = Sheet()
    return Figure(
        name=name,
        title=title,
        caption=_caption(service, q, label) + thin.said(len(drawn), len(runs)),
        alt=_alt(service, q, label),
        table=table,
        chart=finish(
            curve_layers.draw(service, q, [*estimates, *drawn, *curves], sheet), sheet, title=title
        ),
    )


def _height(run: Record) -> float | None:
    value = number(run["value_ns"])
    return number(run["at_least_ns"]) if value is None else value


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
            "verdict": marks.word(point),
            "reason": show.sentences((refused, *point.reasons)),
            "status": marks.status(point, value),
            "at_least_ns": limits.of_load(point, q) if q and value is None else None,
            "offered": f"{show.load(point.fraction)} of max RPS,"
            f" {show.count(point.offered_rps)} requests/s",
            "shown": show.estimate(found),
            "interval": show.times(inner),
            "restarts": show.times(outer),
        }


def _runs(service: ServiceFinding, q: float | None) -> Iterator[Record]:
    for point in service.points:
        for run in point.runs:
            value = of_run(run, q)
            at_least = limits.of_run(run, q) if q and value is None else None
            yield {
                "what": "run",
                "fraction": point.fraction,
                "offered_rps": run.offered_rps,
                "achieved_rps": run.achieved_rps,
                "value_ns": value,
                "status": marks.status(run, value),
                "at_least_ns": at_least,
                "shown": show.time(value) if at_least is None else f"≥ {show.time(at_least)}",
                **marks.run_tooltip(run, point.fraction),
            } | {"verdict": marks.word(run), "reason": show.sentences(run.reasons)}


def _curves(service: ServiceFinding, q: float | None) -> Iterator[Record]:
    for line in lines_of(service, q):
        for fraction, ns in zip(line.fraction, line.value_ns, strict=True):
            yield {"what": line.name, "fraction": fraction, "value_ns": ns, "reason": line.about}


def _caption(service: ServiceFinding, q: float | None, label: str) -> str:
    lines = " ".join(f"{line.name}: {line.about}." for line in lines_of(service, q))
    return (
        f"Every dot is one run on a freshly started server. Left of the dots: the bar across is"
        f" {label} over all valid runs of the load, the thin line its 95 % interval within the"
        " runs, the broad pale one that over restarts. Runs marked × failed a self-check and"
        f" decide nothing; hollow ones are too short to decide alone. {lines}"
    ).strip()


def _alt(service: ServiceFinding, q: float | None, label: str) -> str:
    known = [
        (point.fraction, found)
        for point in service.points
        if (found := of_point(point, q)) is not None
        and found.value is not None
        and point.is_believed
    ]
    unknown = sum(not point.is_believed for point in service.points)
    if not known:
        return f"No load has a {label} that can be believed; {unknown} loads are unknown."
    (first, low), (last, high) = known[0], known[-1]
    return (
        f"{label} goes from {show.estimate(low)} at {show.share(first)} of max RPS to"
        f" {show.estimate(high)} at {show.share(last)}; {unknown} of {len(service.points)}"
        " loads are unknown."
    )
