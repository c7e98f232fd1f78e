"""Tail against load by factor: one by colour, small multiples by the levels of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.plan.setting import level_text
from sojourn.report import labels, show
from sojourn.report.draw import known, known_layers, marks
from sojourn.report.draw.axes import TimeAxis, load_x
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import HEIGHT, Figure, Kind, Sheet, Spec, finish
from sojourn.report.draw.lookup import is_bound, slug, tail_q
from sojourn.report.draw.palette import CURVES, curves, role
from sojourn.report.draw.table import Record, from_records
from sojourn.spec.levels import names

PANEL, PANEL_MIN = 220, 300  # height and least width of a small multiple, px
# fmt: off
COLUMNS = (
    "service", "combination", "fraction", "offered_rps", "known", "value_ns", "lo_ns", "hi_ns",
    "least_ns", "at_least_ns", "not_believed_ns", "verdict", "reason",
)
# fmt: on
TOOLTIP = ("called", "load", "shown", "interval", "verdict", "reason")


def draw(findings: Findings) -> list[Figure]:
    """One figure for each service that was measured under several levels."""
    labels = dict.fromkeys(s.label for s in findings.services if s.levels and s.points)
    return [
        _figure([s for s in findings.services if s.label == label and s.points]) for label in labels
    ]


def _figure(findings: Sequence[ServiceFinding]) -> Figure:
    label = findings[0].label
    factors = [key for key, _ in findings[0].levels]
    called = names(factors)
    coloured = _coloured(findings, factors)
    others = [_plain(called[key]) for key in factors if key != coloured]
    tail = show.quantile(tail_q(findings[0]))
    by = ", ".join(_plain(called[key]) for key in factors)
    title = f"{label}: {tail} against load, by {by}"
    names_of = labels.of_factors(findings)
    records = [r for service in findings for r in _records(service, coloured, called, names_of)]
    panels = list(dict.fromkeys(str(r["panel"]) for r in records))
    chart = _chart(findings, records, panels, _plain(called[coloured]), tail)
    return Figure(
        name=slug(f"{label}-by-factor"),
        title=title,
        caption=(
            f"{tail} over all valid runs of a load, with its 95 % interval; a colour is a level"
            f" of {_plain(called[coloured])}"
            + (f", a panel one of {' and '.join(others)}" if others else "")
            + ". Load is a share of max RPS, of each combination its own, beside a neighbour that"
            " of the service alone. Hollow marks are not valid and decide nothing."
        ),
        alt=_alt(findings, tail),
        table=from_records((*called.values(), *COLUMNS), records),
        chart=chart,
        facet_min=PANEL_MIN if len(panels) > 1 else 0,
        panels=len(panels),
        is_wide=len(panels) > 1,
    )


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _coloured(findings: Sequence[ServiceFinding], factors: Sequence[str]) -> str:
    """The factor with the most levels that colours can distinguish; the first of several."""
    counts = {
        key: len({level_text(level) for s in findings for k, level in s.levels if k == key})
        for key in factors
    }
    fitting = [key for key in factors if counts[key] <= CURVES] or list(factors)
    return max(fitting, key=lambda key: counts[key])


def _records(
    service: ServiceFinding,
    coloured: str,
    called: Mapping[str, str],
    names_of: Mapping[str, Mapping[str, str]],
) -> Iterator[Record]:
    q = tail_q(service)
    levels = {key: level_text(level) for key, level in service.levels}
    others = [names_of[key][text] for key, text in levels.items() if key != coloured]
    for point in sorted(service.points, key=lambda p: p.fraction):
        yield {
            **{called[key]: text for key, text in levels.items()},
            "service": service.label,
            "combination": service.service,
            "panel": ", ".join(others),
            "level": names_of[coloured][levels[coloured]],
            "called": labels.called(service),
            "fraction": point.fraction,
            "offered_rps": point.offered_rps,
            "verdict": marks.word(point),
            "load": f"{show.load(point.fraction)}, {show.count(point.offered_rps)} requests/s",
            **known.of_load(point, q).row,
        }


def _chart(
    findings: Sequence[ServiceFinding],
    records: list[Record],
    panels: Sequence[str],
    name: str,
    tail: str,
) -> Spec:
    sheet = Sheet()
    qos = findings[0].qos
    bound = [1.2 * qos.bound_ns] if qos and is_bound(findings[0], tail_q(findings[0])) else []
    axis = known_layers.axis(records, bound)
    levels = list(dict.fromkeys(str(r["level"]) for r in records))
    look = alt.Color(
        "level:N",
        scale=alt.Scale(domain=levels, range=curves(levels)),
        legend=alt.Legend(title=name, orient="top", direction="horizontal", labelLimit=320),
    )
    x = load_x(
        title=["offered load, % of max RPS", *known_layers.key(records)],
        highest=max(p.fraction for s in findings for p in s.points),
    )
    y = axis.y("y", f"{tail} sojourn time")
    layers = known_layers.layers(
        alt.Chart(), known_layers.Look(x=x, y=y, colour=look, tooltip=TOOLTIP)
    )
    if bound and qos:
        layers += _bound(qos.bound_ns, f"QoS: {tail} ≤ {show.time(qos.bound_ns)}")
    chart = alt.layer(*layers, data=sheet.data("rows", _rows(records, axis)))
    title = f"{tail} by {name}"
    if len(panels) < 2:
        return finish(chart.properties(width="container", height=HEIGHT), sheet, title=title)
    facets = chart.properties(width=PANEL_MIN, height=PANEL).facet(
        facet=alt.Facet("panel:N", sort=list(panels), title=None), columns=2
    )
    return finish(facets, sheet, title=title)


def _rows(records: list[Record], axis: TimeAxis) -> list[Record]:
    """Curve by curve, one for each combination."""
    names = dict.fromkeys(str(r["combination"]) for r in records)
    of = ([r for r in records if r["combination"] == name] for name in names)
    return [row for own in of for row in known_layers.rows(own, axis)]


def _bound(bound_ns: float, text: str) -> list[alt.Chart]:
    """The QoS bound as a labelled line in every panel."""
    once = alt.Chart().transform_aggregate(n="count()", groupby=["panel"])
    line = once.mark_rule(color=role("qos"), strokeWidth=1.5)
    word = once.mark_text(
        color=role("qos"), align="left", baseline="bottom", dx=6, dy=-4, fontWeight="bold"
    )
    y = alt.datum(bound_ns)
    return [line.encode(y=y), word.encode(x=alt.XValue(0), y=y, text=alt.TextValue(text))]


def _alt(findings: Sequence[ServiceFinding], tail: str) -> str:
    texts = []
    for service in findings:
        q = tail_q(service)
        every = [(point.fraction, known.of_load(point, q)) for point in service.points]
        sure = [(load, one) for load, one in every if one.sort in known.SURE]
        if sure:
            (low, first), (high, last) = sure[0], sure[-1]
            texts.append(
                f"{labels.called(service)}: {tail} from {first.shown} at {show.share(low)} to"
                f" {last.shown} at {show.share(high)}"
            )
        else:
            texts.append(f"{labels.called(service)}: no load has a {tail}")
    return "; ".join(texts) + "."


KIND = Kind(
    name="factors",
    about="tail against load by the levels of the study's factors, in small multiples (M16)",
    of_study=draw,
)
