"""A number of each load point against offered load: the lab's central picture (C7, L6).

Drawn by several kinds; they differ in the number alone (a quantile or the mean).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from sojourn.findings.findings import ServiceFinding
from sojourn.report import labels, show
from sojourn.report.draw import curve_layers, known, limits, marks, thin
from sojourn.report.draw.figure import Figure, Sheet, finish
from sojourn.report.draw.lookup import lines_of, of_point, slug
from sojourn.report.draw.table import Record, from_records, number

# fmt: off
COLUMNS = (
    "what", "fraction", "offered_rps", "achieved_rps", "restart", "run", "known", "value_ns",
    "lo_ns", "hi_ns", "restarts_lo_ns", "restarts_hi_ns", "least_ns", "at_least_ns",
    "not_believed_ns", "requests", "effective", "verdict", "reason",
)
# fmt: on


def draw(service: ServiceFinding, q: float | None) -> Figure:
    """The curve of quantile `q`, or of the mean if None."""
    label = show.quantile(q)
    title = f"{labels.called(service)}: {label} sojourn time against offered load"
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
            name=name,
            title=title,
            caption="",
            alt="",
            table=table,
            missing="No load was swept.",
        )
    sheet = Sheet()
    return Figure(
        name=name,
        title=title,
        caption=_caption(service, q, label) + thin.caption_sentence(len(drawn), len(runs)),
        alt=_alt(service, q, label),
        table=table,
        chart=finish(
            curve_layers.draw(service, q, [*estimates, *drawn, *curves], sheet), sheet, title=title
        ),
    )


def _height(run: Record) -> float | None:
    return number(run["mark_ns"])


def _estimates(service: ServiceFinding, q: float | None) -> Iterator[Record]:
    for point in service.points:
        estimate, own = of_point(point, q), known.of_load(point, q)
        outer = estimate.across_restarts if estimate else None
        yield {
            "what": "estimate",
            "fraction": point.fraction,
            "offered_rps": point.offered_rps,
            "achieved_rps": point.achieved_rps,
            "restarts_lo_ns": outer.lo if outer else None,
            "restarts_hi_ns": outer.hi if outer else None,
            "requests": estimate.requests if estimate else None,
            "effective": estimate.effective if estimate else None,
            "verdict": marks.word(point),
            "status": marks.status(point, own),
            "offered": f"{show.load(point.fraction)} of max RPS,"
            f" {show.count(point.offered_rps)} requests/s",
            "restarts": show.times(outer),
            **own.row,
        }


def _runs(service: ServiceFinding, q: float | None) -> Iterator[Record]:
    for point in service.points:
        for run in point.runs:
            own = known.of_one(run, q, point)
            yield {
                "what": "run",
                "fraction": point.fraction,
                "offered_rps": run.offered_rps,
                "achieved_rps": run.achieved_rps,
                "status": marks.status(run, own),
                **own.row,
                **marks.run_tooltip(run, point.fraction),
            }


def _curves(service: ServiceFinding, q: float | None) -> Iterator[Record]:
    for line in lines_of(service, q):
        for fraction, ns in zip(line.fraction, line.value_ns, strict=True):
            yield {"what": line.name, "fraction": fraction, "value_ns": ns, "reason": line.about}


def _caption(service: ServiceFinding, q: float | None, label: str) -> str:
    lines = " ".join(f"{line.name}: {line.about}." for line in lines_of(service, q))
    return (
        f"Every dot is one run on a freshly started server. Left of the dots: the bar across is"
        f" {label} over all valid runs of the load. The thin line is its 95 % interval within the"
        " runs, the broad pale one that over restarts. An arrow downwards: the number is an upper"
        f" bound. {limits.RULE} A hollow dot is a run that failed a self-check: it decides nothing,"
        f" and no curve goes through it. {lines}"
    ).strip()


def _alt(service: ServiceFinding, q: float | None, label: str) -> str:
    every = [(point.fraction, known.of_load(point, q)) for point in service.points]
    sure = [(load, one) for load, one in every if one.sort in known.SURE]
    doubted = sum(not point.is_believed for point in service.points)
    rest = f"{doubted} of {len(every)} loads are not valid"
    if not sure:
        return f"No load has a {label} that is valid; {rest}."
    (first, low), (last, high) = sure[0], sure[-1]
    return (
        f"{label} goes from {low.shown} at {show.share(first)} of max RPS to {high.shown} at"
        f" {show.share(last)}; {rest}."
    )
